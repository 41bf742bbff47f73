//! Models of one operator, and what TFLite's reference kernels make of them: `tests/tflite/generate.py` writes both.

use std::path::{Path, PathBuf};

use tenfold_ir::DType;
use tenfold_ir::eval::Value;
use tenfold_ir::relax::{Callees, Inputs, eval_with, verify};
use tenfold_ir::{Function, tir};
use tenfold_onnx::{Import, Options, Port};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tflite/cases")
}

/// What the interpreter makes of inputs.
fn called(imported: &Import, values: Vec<Value>) -> Result<Vec<Value>, String> {
    let module = &imported.module;
    let prim = |name: &str, syms: &[i64], args: &[Value], results: &[(Value, Option<usize>)]| {
        tir::eval_values(module, name, syms, args, results)
    };
    let external = |name: &str, _: &[Value], _: &[Value]| Err(format!("`{name}` is outside"));
    let entry = module.relax(&module.entry).ok_or("no entry")?;
    let inputs = Inputs { values, ..Inputs::default() };
    Ok(eval_with(module, entry, &inputs, Callees { prim: &prim, external: &external })?.results)
}

/// The next elements of a file as a port has them.
fn next(port: &Port, rest: &mut &[u8]) -> Value {
    let shape: Vec<usize> = port.shape.iter().map(|n| n.as_const().expect("a number") as usize).collect();
    let dtype = port.elem.storage().expect("a type of the language");
    let (own, behind) = rest.split_at(shape.iter().product::<usize>() * dtype.size_bytes());
    *rest = behind;
    Value::from_bytes(dtype, &shape, own).expect("as many bytes")
}

/// Whether floats are near, and integers equal.
fn same(found: &Value, expected: &Value) -> bool {
    if expected.dtype != DType::F32 {
        return found.to_bytes() == expected.to_bytes();
    }
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * b.abs().max(1.0);
    found.to_f64().iter().zip(&expected.to_f64()).all(near)
}

fn check(path: &Path) -> Result<usize, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let data = std::fs::read(path.with_extension("bin")).map_err(|e| e.to_string())?;
    let imported = tenfold_tflite::import(&bytes, &Options::default()).map_err(|e| e.to_string())?;
    for function in imported.module.functions.values() {
        if let Function::Relax(graph) = function {
            let broken = verify(&imported.module, graph);
            assert!(broken.is_empty(), "{broken:?}");
        }
    }
    let (mut rest, mut runs) = (data.as_slice(), 0);
    while !rest.is_empty() {
        let inputs: Vec<Value> = imported.inputs.iter().map(|port| next(port, &mut rest)).collect();
        let found = called(&imported, inputs.clone())?;
        for (port, found) in imported.outputs.iter().zip(&found) {
            let expected = next(port, &mut rest);
            if !same(found, &expected) {
                let all = found.to_f64().into_iter().zip(expected.to_f64()).enumerate();
                let first: Vec<_> = all.filter(|(_, (a, b))| a != b).take(8).collect();
                return Err(format!("run {runs}: {first:?}"));
            }
        }
        runs += 1;
    }
    Ok(runs)
}

#[test]
fn operators_do_what_the_reference_does() {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder()).expect("the folder").map(|e| e.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "tflite"));
    paths.sort();
    assert!(paths.len() >= 100, "there are {}", paths.len());
    let mut wrong = Vec::new();
    for path in &paths {
        match check(path) {
            Ok(runs) => assert_eq!(runs, 6, "{}", path.display()),
            Err(why) => wrong.push(format!("{}: {why}", path.file_stem().unwrap_or_default().display())),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), paths.len(), wrong.join("\n"));
}

/// Constants have the names of the file's tensors, and those that are computed the operator's: reports are read by them.
#[test]
fn constants_have_names() {
    let bytes = std::fs::read(folder().join("../models/kws.tflite")).expect("the model");
    let imported = tenfold_tflite::import(&bytes, &Options::default()).expect("it is a model");
    let names: Vec<&str> = imported.module.constants.iter().map(|data| data.name.as_str()).collect();
    let has = |part: &str| assert!(names.iter().any(|name| name.contains(part)), "no `{part}` in {names:#?}");
    has("functional_1/conv2d/Conv2D");
    has("functional_1/dense/MatMul");
    has("DEPTHWISE_CONV_2D 1");
    assert!(names.iter().all(|name| !name.is_empty() && *name != "constant"), "{names:#?}");
}
