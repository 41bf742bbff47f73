//! Expanded math functions against the library's, over samples of every magnitude: the worst error of each in units in
//! the last place, which must stay under what `tenfold_ir::eval::ulps` states. Of halves every operand is a sample; of
//! `f32` each so many in the order of their bits, as `TENFOLD_F32_STRIDE` says: 1 is all of them, which takes an hour
//! with `cargo test --release`.

use std::path::PathBuf;

use tenfold_core::pass::{self, PassContext};
use tenfold_core::{Backend, PIPELINE, Target};
use tenfold_ir::eval::{Bounded, binary_ulps, largest, scalar_ops, ulp, ulps};
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::{Access, BufUse, Builder, IterKind, PrimFunc, Stmt};
use tenfold_ir::{DType, Function, Module, Scalar};

use crate::data::{Random, magnitudes};
use crate::element::math;
use crate::interpret::{Actual, Prepared};
use crate::native;
use crate::native::runnable::{Level, Levels};

const SAMPLES: usize = 60_000;

/// A function to measure.
#[derive(Clone, Copy, Debug)]
enum Math {
    Unary(UnaryOp),
    Binary(BinaryOp),
}

impl Math {
    fn operands(self) -> usize {
        match self {
            Math::Unary(_) => 1,
            Math::Binary(_) => 2,
        }
    }
}

/// `y[i] = f(x[i])` or `f(x[i], z[i])`, expanded.
fn compiled(name: &str, f: Math, dtype: DType, n: usize, target: &Target) -> Module {
    let mut b = Builder::new(name);
    let extent = vec![(n as i64).into()];
    let x = b.buffer_param("x", dtype, extent.clone(), BufUse::In);
    let second = (f.operands() == 2).then(|| b.buffer_param("z", dtype, extent.clone(), BufUse::In));
    let y = b.buffer_param("y", dtype, extent, BufUse::Out);
    let (i, count) = (b.index_var("i"), b.index(n as i64));
    let at = b.read(i);
    let a = b.load(x, vec![at], Access::Proven);
    let value = match (f, second) {
        (Math::Binary(op), Some(z)) => {
            let z = b.load(z, vec![at], Access::Proven);
            b.binary(op, a, z)
        }
        (Math::Unary(op), _) => b.unary(op, a),
        (Math::Binary(_), None) => a,
    };
    let body = Stmt::Store { buf: y, index: vec![at], value, access: Access::Proven };
    b.nest("map", &[(i, count, IterKind::Spatial)], None, body);
    let func = PrimFunc { exported: true, ..b.finish() };
    let mut module = Module { entry: name.to_string(), sources: vec![name.to_string()], ..Module::default() };
    module.functions.insert(name.to_string(), Function::Prim(func));
    let from = PIPELINE.iter().position(|p| p.info.name == "VerifyBounds").unwrap_or(0);
    let context = PassContext::new(target.clone());
    pass::run(&PIPELINE[from..], &mut module, &context).expect("the passes run");
    module
}

/// Special values, every magnitude, and the range where functions change most; of halves all, in some order.
fn samples(dtype: DType, seed: u64) -> Vec<Scalar> {
    let mut random = Random::new(seed);
    if dtype.is_half() {
        let mut all: Vec<Scalar> = (0..1 << 16).map(|bits| Scalar { dtype, bits }).collect();
        (1..all.len()).rev().for_each(|at| all.swap(at, random.below(at + 1)));
        return all;
    }
    magnitudes(dtype, SAMPLES, &mut random)
}

/// The error of `found` in ulps of the exact `real`.
fn error(dtype: DType, real: f64, found: f64) -> f64 {
    let rounded = Scalar::float(dtype, real).to_f64();
    if real.is_nan() || found.is_nan() {
        return if real.is_nan() && found.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if rounded == found {
        return if dtype == DType::F64 || rounded.is_infinite() {
            0.0
        } else {
            (found - real).abs() / ulp(dtype, real)
        };
    }
    // Infinity is the number behind the largest.
    let most = largest(dtype);
    let found = if found.is_infinite() && real.is_finite() { (most + ulp(dtype, most)).copysign(found) } else { found };
    (found - real).abs() / ulp(dtype, real)
}

fn reference(f: Math, dtype: DType, args: &[Scalar]) -> f64 {
    let wide: Vec<Scalar> = args.iter().map(|a| Scalar::float(DType::F64, a.to_f64())).collect();
    let _ = dtype;
    match f {
        Math::Unary(op) => scalar_ops::unary(op, wide[0]).to_f64(),
        Math::Binary(op) => scalar_ops::binary(op, wide[0], wide[1]).to_f64(),
    }
}

/// What the table allows, the reference's own rounding included.
fn allowed(f: Math, dtype: DType) -> f64 {
    let own = if dtype == DType::F64 { 1.0 } else { 0.0 };
    match f {
        Math::Unary(op) => ulps(op) + own,
        Math::Binary(op) => binary_ulps(op) + own,
    }
}

struct Worst {
    ulps: f64,
    beyond: usize,
    at: String,
}

impl Worst {
    /// What is wrong with a code, if anything is.
    fn beyond(&self, code: &str) -> Option<String> {
        (self.beyond > 0).then(|| format!("{code}: {} beyond, worst {:.3} at {}", self.beyond, self.ulps, self.at))
    }
}

fn measure(f: Math, dtype: DType, inputs: &[Vec<Scalar>], found: &[Scalar]) -> Worst {
    let mut worst = Worst { ulps: 0.0, beyond: 0, at: String::new() };
    for (n, got) in found.iter().enumerate() {
        let args: Vec<Scalar> = inputs.iter().map(|i| i[n]).collect();
        let real = reference(f, dtype, &args);
        let off = error(dtype, real, got.to_f64());
        worst.beyond += usize::from(off > allowed(f, dtype));
        if off > worst.ulps {
            let shown: Vec<f64> = args.iter().map(|a| a.to_f64()).collect();
            worst.ulps = off;
            worst.at = format!("{shown:?}: {:?}, not {real:?}", got.to_f64());
        }
    }
    worst
}

#[test]
fn expansions_stay_in_their_bounds() {
    let (levels, backends) = (Levels::here(), native::backends());
    let binary = BinaryOp::ALL.iter().copied().filter(|op| binary_ulps(*op) > 0.5);
    let functions: Vec<Math> = math().into_iter().map(Math::Unary).chain(binary.map(Math::Binary)).collect();
    let mut errors = Vec::new();
    for (turn, dtype) in [DType::F16, DType::BF16, DType::F32, DType::F64].into_iter().enumerate() {
        let inputs: Vec<Vec<Vec<Scalar>>> = functions
            .iter()
            .enumerate()
            .map(|(n, f)| (0..f.operands()).map(|k| samples(dtype, (10 * n + k) as u64)).collect())
            .collect();
        for level in levels.of_case(turn) {
            for backend in backends.iter().filter(|backend| level.is_baseline() || backend.name() == "llvm") {
                errors.extend(beyond(&functions, &inputs, dtype, level, &**backend));
            }
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// Which functions are beyond their bounds in the code for a level.
fn beyond(
    functions: &[Math],
    inputs: &[Vec<Vec<Scalar>>],
    dtype: DType,
    level: &Level,
    backend: &dyn Backend,
) -> Vec<String> {
    let of = functions.iter().zip(inputs).enumerate();
    let of = of.map(|(n, (f, inputs))| prepared(&format!("math_{n}_{dtype}"), *f, dtype, inputs, &level.target));
    let (cases, code) = (of.collect::<Vec<_>>(), format!("{} {} {dtype}", backend.name(), level.name));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("math").join(code.replace(' ', "-"));
    let all = native::outputs(&cases, backend, &level.target, &folder).expect("the functions can be built");
    let mut errors = Vec::new();
    for ((f, inputs), bytes) in functions.iter().zip(inputs).zip(all) {
        let found = bytes.chunks_exact(dtype.size_bytes()).map(|b| Scalar::from_le_bytes(dtype, b));
        let worst = measure(*f, dtype, inputs, &found.collect::<Vec<_>>());
        println!("{code} {f:?}: {:.3} ulp at {}", worst.ulps, worst.at);
        errors.extend(worst.beyond(&format!("{code} {f:?}")));
    }
    errors
}

/// A prime, so that samples share no pattern of bits.
const STRIDE: usize = 50_021;

/// Each so many of all `f32`, through the last back end that there is; functions take the levels in turn.
#[test]
fn f32s_stay_in_their_bounds() {
    let stride = std::env::var("TENFOLD_F32_STRIDE").ok().and_then(|n| n.parse().ok()).unwrap_or(STRIDE).max(1);
    let (levels, backends) = (Levels::here(), native::backends());
    let backend = backends.last().expect("a back end");
    let functions = math().into_iter().map(Math::Unary);
    let mut errors = Vec::new();
    for (turn, f) in (0..).zip(functions) {
        let level = levels.in_turn(turn);
        let (mut worst, mut count) = (Worst { ulps: 0.0, beyond: 0, at: String::new() }, 0);
        for (chunk, first) in (0..1_u64 << 32).step_by(stride << 20).enumerate() {
            let bits = (first..1 << 32).step_by(stride).take(1 << 20);
            let inputs = vec![bits.map(|bits| Scalar { dtype: DType::F32, bits }).collect::<Vec<_>>()];
            count += inputs[0].len();
            let case = prepared("f32", f, DType::F32, &inputs, &level.target);
            let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("f32").join(format!("{f:?}{chunk}"));
            let all = native::outputs(&[case], &**backend, &level.target, &folder).expect("the function can be built");
            let found = all[0].chunks_exact(4).map(|b| Scalar::from_le_bytes(DType::F32, b)).collect::<Vec<_>>();
            let part = measure(f, DType::F32, &inputs, &found);
            worst.beyond += part.beyond;
            if part.ulps > worst.ulps {
                (worst.ulps, worst.at) = (part.ulps, part.at);
            }
            let _ = std::fs::remove_dir_all(&folder);
        }
        println!("{} {f:?}: {:.3} ulp of {count} at {}", level.name, worst.ulps, worst.at);
        errors.extend(worst.beyond(&format!("{} {f:?}", level.name)));
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

fn prepared(name: &str, f: Math, dtype: DType, inputs: &[Vec<Scalar>], target: &Target) -> Prepared {
    let count = inputs[0].len();
    let buffer = |cells: Vec<Option<Scalar>>, usage| Actual::Buffer { dtype, cells, usage };
    let mut actual: Vec<Actual> =
        inputs.iter().map(|i| buffer(i.iter().map(|c| Some(*c)).collect(), BufUse::In)).collect();
    actual.push(buffer(vec![None; count], BufUse::Out));
    let expected = [(actual.len() - 1, vec![None::<Bounded>; count])].into_iter().collect();
    let module = compiled(name, f, dtype, count, target);
    Prepared { name: name.to_string(), module, actual, expected, definition: Default::default() }
}
