//! Passes that are opted into: results stay where their settings say.

use tenfold_ir::eval::{self, Bounded, Value};
use tenfold_ir::op::{ElementOp, UnaryOp};
use tenfold_ir::{DType, Scalar, relax};

use super::{Random, context, module_of, refuted, run, values};
use crate::pass::{find, run_pass};

const NORMS: &str = r#"relax @norms phase normalised {
  param v0: DTYPE[3, 4] = input 0 "x"
  param v1: DTYPE[4] = input 1 "scale"
  param v2: DTYPE[4] = input 2 "bias"
  dataflow {
    v3: DTYPE[3, 4] = layer_normalization(v0, v1, v2, axis = 1, epsilon = 1e-3)
    v4: DTYPE[3, 4] = softmax(v0, axis = 0)
    v5: DTYPE[3, 4] = log_softmax(v0, axis = 1)
  }
  return v3, v4, v5
}
"#;

#[test]
fn what_is_taken_apart_stays_within_the_bound() {
    let mut context = context();
    context.set("SimplifyInference.layer_normalization", true).expect("a setting");
    context.set("SimplifyInference.softmax", true).expect("a setting");
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let text = NORMS.replace("DTYPE", dtype.name());
        let before = module_of(relax::parse_function(&text).expect("a function"));
        let mut after = before.clone();
        run_pass(find("SimplifyInference").expect("a pass"), &mut after, &context).expect("the pass runs");
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let shapes: [&[usize]; 3] = [&[3, 4], &[4], &[4]];
            let inputs: Vec<Value> = shapes.iter().map(|s| values(&mut random, dtype, s)).collect();
            let (old, new) = (run(&before, &inputs).expect("runs"), run(&after, &inputs).expect("runs"));
            assert_eq!(refuted(&old, &new), None, "{dtype}, seed {seed}");
        }
    }
}

const NORM: &str = r#"relax @norm phase normalised {
  param v0: DTYPE[2, 3, 2] = input 0 "x"
  param v1: DTYPE[3] = input 1 "scale"
  param v2: DTYPE[3] = input 2 "bias"
  param v3: DTYPE[3] = input 3 "mean"
  param v4: DTYPE[3] = input 4 "variance"
  dataflow {
    v5: DTYPE[2, 3, 2] = batch_normalization(v0, v1, v2, v3, v4, axis = 1, epsilon = 1e-3)
  }
  return v5
}
"#;

#[test]
fn a_batch_norm_taken_apart_is_the_same() {
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let text = NORM.replace("DTYPE", dtype.name());
        let before = module_of(relax::parse_function(&text).expect("a function"));
        let mut after = before.clone();
        run_pass(find("SimplifyInference").expect("a pass"), &mut after, &context()).expect("the pass runs");
        assert!(super::entry(&after).bindings().all(|b| relax::op_name(&b.op) != "batch_normalization"));
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let shapes: [&[usize]; 5] = [&[2, 3, 2], &[3], &[3], &[3], &[3]];
            let inputs: Vec<Value> = shapes.iter().map(|s| values(&mut random, dtype, s)).collect();
            let (old, new) = (run(&before, &inputs).expect("runs"), run(&after, &inputs).expect("runs"));
            assert_eq!(refuted(&old, &new), None, "{dtype}, seed {seed}");
        }
    }
}

/// The reference's error function.
fn erf(x: f64) -> f64 {
    let x = Bounded::exact(Scalar::float(DType::F64, x));
    eval::element(ElementOp::Unary(UnaryOp::Erf), &[x]).get()
}

/// The bound of `FastMath` over all of the line, at its ends and beyond.
#[test]
fn approximations_keep_their_bounds() {
    type Row = (&'static str, f64, fn(f64) -> f64);
    let functions: [Row; 3] =
        [("tanh", 2e-6, f64::tanh), ("sigmoid", 2e-6, |x| 1.0 / (1.0 + (-x).exp())), ("erf", 1e-5, erf)];
    let mut points: Vec<f64> = (-40_000..=40_000).map(|i| f64::from(i) * 5e-4).collect();
    points.extend([1e-30, -1e-30, 1e30, -1e30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-42]);
    let input = Value::of(DType::F32, &[points.len()], &points);
    for (name, bound, exact) in functions {
        let text = format!(
            "relax @f phase normalised {{\n  param v0: f32[{n}] = input 0 \"x\"\n  dataflow {{\n    v1: f32[{n}] = {name}(v0)\n  }}\n  return v1\n}}\n",
            n = points.len()
        );
        let mut module = module_of(relax::parse_function(&text).expect("a function"));
        let mut context = context();
        context.set("FastMath.approximate", true).expect("a setting");
        run_pass(find("FastMath").expect("a pass"), &mut module, &context).expect("the pass runs");
        let found = run(&module, std::slice::from_ref(&input)).expect("runs");
        for (x, y) in input.to_f64().into_iter().zip(&found.results[0].data) {
            let wanted = exact(x);
            let far = (wanted - y.get()).abs() + y.error;
            assert!(far <= bound || (wanted.is_nan() && y.get().is_nan()), "{name}({x}): {wanted} became {y:?}");
        }
    }
}

const MIXED: &str = r#"relax @mixed phase normalised {
  param v0: f32[3, 4] = input 0 "x"
  param v1: f32[4, 5] = input 1 "w"
  dataflow {
    v2: f32[3, 5] = matmul(v0, v1)
    v3: f32[3, 5] = relu(v2)
    v4: f32[5, 3] = transpose(v3, perm = [1, 0])
  }
  return v4
}
"#;

/// Operands and results are rounded once each, so results are off by three roundings of all magnitudes at most.
#[test]
fn halves_are_off_by_their_roundings() {
    for (name, unit) in [("f16", 1.0 / 2048.0), ("bf16", 1.0 / 256.0)] {
        let before = module_of(relax::parse_function(MIXED).expect("a function"));
        let mut after = before.clone();
        let mut context = context();
        context.set("ToMixedPrecision.dtype", name).expect("a setting");
        run_pass(find("ToMixedPrecision").expect("a pass"), &mut after, &context).expect("the pass runs");
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let mut tame = |shape: &[usize]| {
                let count = shape.iter().product();
                let data: Vec<f64> = (0..count).map(|_| random.below(2001) as f64 / 1000.0 - 1.0).collect();
                Value::of(DType::F32, shape, &data)
            };
            let inputs = [tame(&[3, 4]), tame(&[4, 5])];
            let (old, new) = (run(&before, &inputs).expect("runs"), run(&after, &inputs).expect("runs"));
            for (a, b) in old.results[0].to_f64().into_iter().zip(new.results[0].to_f64()) {
                assert!((a - b).abs() <= 4.0 * 3.5 * unit, "{name}, seed {seed}: {a} became {b}");
            }
            assert_ne!(old.results[0].to_f64(), new.results[0].to_f64(), "{name}, seed {seed}");
        }
    }
}

/// Only factors are rounded, each by at most 2^-8 of itself, also where they are large.
#[test]
fn factors_are_off_by_their_roundings() {
    let before = module_of(relax::parse_function(MIXED).expect("a function"));
    let mut after = before.clone();
    let mut context = context();
    context.set("ToMixedPrecision.dtype", "bf16").expect("a setting");
    context.set("ToMixedPrecision.out_dtype", "f32").expect("a setting");
    run_pass(find("ToMixedPrecision").expect("a pass"), &mut after, &context).expect("the pass runs");
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let mut large = |shape: &[usize]| {
            let count = shape.iter().product();
            let data: Vec<f64> = (0..count).map(|_| random.below(2001) as f64 * 37.0).collect();
            Value::of(DType::F32, shape, &data)
        };
        let inputs = [large(&[3, 4]), large(&[4, 5])];
        let (old, new) = (run(&before, &inputs).expect("runs"), run(&after, &inputs).expect("runs"));
        let unit = 1.0 / 256.0;
        for (a, b) in old.results[0].to_f64().into_iter().zip(new.results[0].to_f64()) {
            assert!((a - b).abs() <= a * (2.0 * unit + unit * unit) + a * 1e-6, "seed {seed}: {a} became {b}");
        }
        assert_ne!(old.results[0].to_f64(), new.results[0].to_f64(), "seed {seed}");
    }
}

/// Factors of floats that move round elsewhere, and nowhere else.
#[test]
fn factors_of_floats_move_when_asked() {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/filetests/relax/FoldScaleAxis/leaves_floats_alone.relax"
    ))
    .expect("the file can be read");
    let body: String = text.lines().filter(|l| !l.starts_with(';')).map(|l| format!("{l}\n")).collect();
    let mut module = module_of(relax::parse_function(&body).expect("a function"));
    for (shape, data) in [(vec![2, 2], [1.0f32, 2.0, 3.0, 4.0].to_vec()), (vec![2], [10.0f32, 100.0].to_vec())] {
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        module.constants.push(tenfold_ir::ConstData {
            hash: format!("{shape:?}"),
            name: "w".into(),
            dtype: DType::F32,
            shape,
            bytes: tenfold_ir::ConstBytes::Inline(bytes.into()),
        });
    }
    let mut after = module.clone();
    let mut context = context();
    context.set("FoldScaleAxis.fast_math", true).expect("a setting");
    run_pass(find("FoldScaleAxis").expect("a pass"), &mut after, &context).expect("the pass runs");
    let muls = super::entry(&after).bindings().filter(|b| relax::op_name(&b.op) == "matmul").count();
    let inputs = [Value::of(DType::F32, &[3, 2], &[1.0, 2.0, 3.0, -1.0, 0.5, 0.25])];
    let (old, new) = (run(&module, &inputs).expect("runs"), run(&after, &inputs).expect("runs"));
    // Whole numbers and halves do not round at all.
    assert_eq!((muls, old.results[0].to_f64()), (1, new.results[0].to_f64()));
}
