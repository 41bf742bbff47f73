//! The reference interpreter against values worked out by hand or by NumPy: `tests/filetests/relax/eval.txt`.
//!
//! A line is an op in the text format with tensors in place of operands, `=>`, and the result. A tensor is a dtype,
//! a shape and its elements: `f32[2, 2]{1 2 3 4}`; an element of a float result may be off by what its bound says,
//! and the bound must be below a thousandth of the magnitudes in the line.

use std::path::PathBuf;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::eval::Value;
use tenfold_ir::relax::{self, Inputs, TensorType, Type, eval, parse_function, parse_type, type_text};
use tenfold_ir::text::{bracketed, split, split_once};
use tenfold_ir::{Module, Scalar};

fn value(text: &str) -> Value {
    let open = text.find('{').unwrap_or_else(|| panic!("{text}"));
    let Type::Tensor(ty) = parse_type(text[..open].trim()).unwrap() else { panic!("{text}") };
    let shape: Vec<usize> = ty.shape.iter().map(|dim| dim.as_const().unwrap() as usize).collect();
    let (inner, _) = bracketed(&text[open..], '{', '}').unwrap();
    let data = inner.split_whitespace().map(|word| {
        if ty.dtype.is_float() {
            Scalar::float(ty.dtype, word.parse().unwrap())
        } else {
            Scalar::int(ty.dtype, word.parse().unwrap())
        }
    });
    let bytes: Vec<u8> = data.flat_map(Scalar::to_le_bytes).collect();
    Value::from_bytes(ty.dtype, &shape, &bytes).unwrap_or_else(|| panic!("wrong count: {text}"))
}

fn ty(value: &Value) -> String {
    let shape = value.shape.iter().map(|n| IntExpr::constant(*n as i64)).collect();
    type_text(&Type::Tensor(TensorType { dtype: value.dtype, shape }))
}

/// Wraps the op into a function, checks it, and runs it.
fn run(call: &str, result: &str) -> Result<(Vec<Value>, Value), String> {
    let open = call.find('(').unwrap();
    let (items, _) = bracketed(&call[open..], '(', ')').unwrap();
    let (mut params, mut names, mut inputs, mut attrs) = (String::new(), Vec::new(), Vec::new(), Vec::new());
    for item in split(items, ',') {
        if split_once(item, " = ").is_some() {
            attrs.push(item.to_string());
        } else {
            let input = value(item);
            params += &format!("  param v{}: {} = input {}\n", inputs.len(), ty(&input), inputs.len());
            names.push(format!("v{}", inputs.len()));
            inputs.push(input);
        }
    }
    let out = inputs.len();
    names.extend(attrs);
    let body = format!("    v{out}: {result} = {}({})\n", &call[..open], names.join(", "));
    let text = format!("relax @f phase imported {{\n{params}  dataflow {{\n{body}  }}\n  return v{out}\n}}\n");
    let func = parse_function(&text).map_err(|error| format!("{error}\n{text}"))?;
    let module = Module::default();
    let broken = relax::verify(&module, &func);
    if !broken.is_empty() {
        return Err(broken.join("; "));
    }
    let outputs = eval(&module, &func, &Inputs { values: inputs.clone(), ..Inputs::default() })?;
    Ok((inputs, outputs.results[0].clone()))
}

/// Magnitude of the finite elements.
fn size(values: &[&Value]) -> f64 {
    values.iter().flat_map(|v| v.to_f64()).filter(|x| x.is_finite()).map(f64::abs).fold(1e-30, f64::max)
}

#[test]
fn results_are_as_worked_out() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/relax/eval.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let mut failures = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some((call, expected)) = line.split_once(" => ").filter(|_| !line.starts_with('#')) else { continue };
        let expected = value(expected);
        match run(call, &ty(&expected)) {
            Err(error) => failures.push(format!("{}: {line}\n    {error}", number + 1)),
            Ok((inputs, found)) => {
                let all: Vec<&Value> = inputs.iter().chain([&expected]).collect();
                let limit = size(&all) * 1e-3 * if expected.dtype.is_half() { 100.0 } else { 1.0 };
                if let Err(error) = found.check(&expected.to_bytes()) {
                    failures.push(format!("{}: {line}\n    {error}", number + 1));
                } else if found.data.iter().any(|num| num.error > limit) {
                    failures.push(format!("{}: {line}\n    a bound is wide: {:?}", number + 1, found.data));
                }
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn state_symbols_and_checks() {
    let text = "relax @f phase imported {
  sym N: dim 0 0
  sym k: index 1 unsigned
  sym m: bound v4
  fact k < N \"k is too large\"
  param v0: f32[N] = input 0
  param v1: f32[2] = state 2
  param v2: i32 = scalar 3
  dataflow {
    v3: f32 = index_value(expr = N + k)
    v4: i32 = bind_index(v2, sym = m)
    v5: f32[m] = full(v3, shape = [m])
    v6: f32[2] = add(v1, v3)
  }
  effect {
    v7: () = store_state(v6, param = 1)
  }
  return v5
}";
    let func = parse_function(text).unwrap();
    let module = Module::default();
    let mut inputs = Inputs {
        values: vec![value("f32[3]{1 2 3}"), value("f32[2]{10 20}"), value("i32{4}")],
        indices: [(tenfold_ir::arith::Sym::new("k"), 2)].into(),
    };
    let outputs = eval(&module, &func, &inputs).unwrap();
    assert_eq!(outputs.results[0].to_f64(), [5.0; 4]);
    assert_eq!(outputs.states[&1].to_f64(), [15.0, 25.0]);
    inputs.indices.insert(tenfold_ir::arith::Sym::new("k"), 3);
    assert_eq!(eval(&module, &func, &inputs).unwrap_err(), "does not hold: k is too large");
    inputs.values[1] = value("f32[3]{1 2 3}");
    assert_eq!(eval(&module, &func, &inputs).unwrap_err(), "parameter 1: expected f32[2], found f32[3]");
}
