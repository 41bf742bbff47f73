//! Commands over ONNX models. They compile for this machine, through LLVM and a C compiler.

use crate::package::Package;
use std::path::Path;
use std::process::Command;

#[path = "../../../../compiler/onnx/tests/support/mod.rs"]
#[allow(dead_code, reason = "the importer's tests use more of it")]
mod support;

/// Whether a program can be linked here; a line says so if not.
fn has_cc() -> bool {
    let found = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into())).arg("--version").output().is_ok();
    assert!(found || std::env::var_os("TENFOLD_REQUIRE_TOOLS").is_none(), "there is no C compiler");
    if !found {
        println!("skipped: there is no C compiler");
    }
    found
}

fn case(folder: &Path, name: &str, model: &[u8], input: &str, output: &str) {
    let set = folder.join(name).join("test_data_set_0");
    std::fs::create_dir_all(&set).expect("a folder");
    std::fs::write(folder.join(name).join("model.onnx"), model).expect("a file");
    std::fs::write(set.join("input_0.pb"), support::tensor(input).0).expect("a file");
    std::fs::write(set.join("output_0.pb"), support::tensor(output).0).expect("a file");
}

const DOUBLE: &str = "input x: float[N, 2]\ny = Add(x, x)\noutput y";

#[test]
fn cases_pass_and_fail_by_themselves() {
    if !has_cc() {
        return;
    }
    let package = Package::bare("onnx-check");
    let folder = package.path("cases");
    let double = support::model(DOUBLE);
    case(&folder, "a/right", &double, "x: float[2, 2] = 1, 2, 3, 4", "y: float[2, 2] = 2, 4, 6, 8");
    case(&folder, "a/wrong", &double, "x: float[1, 2] = 1, 2", "y: float[1, 2] = 2, 5");
    case(&folder, "a/shape", &double, "x: float[1, 2] = 1, 2", "y: float[2] = 2, 4");
    case(
        &folder,
        "b/unknown",
        &support::model("input x: float[1]\ny = Foo(x)\noutput y"),
        "x: float[1] = 1",
        "y: float[1] = 1",
    );
    case(&folder, "b/damaged", &double[..20], "x: float[1] = 1", "y: float[1] = 1");
    let loose = package.path("cases/a/loose");
    case(&folder, "a/loose", &double, "x: float[1, 2] = 1, 2", "y: float[1, 2] = 2, 4.1");
    std::fs::write(loose.join("tolerance"), "rtol=0.1 atol=0\n").expect("a file");
    std::fs::create_dir_all(package.path("cases/empty")).expect("a folder");
    std::fs::write(package.path("cases/empty/model.onnx"), &double).expect("a file");
    let outcome = package.run("check-onnx cases --by-op --jobs 2");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    for expected in [
        "failed  a/shape: output `y` is float[1, 2] where float[2] is expected",
        "failed  a/wrong: output `y`: element 1 is 4 where 5 is expected (1 elements differ)",
        "failed  b/damaged: it is no ONNX model: it ends within a field",
        "failed  b/unknown: node Foo that gives `y`: the operator Foo is not supported",
        "skipped empty: it has no data",
    ] {
        assert!(lines.contains(&expected), "{expected}\n{outcome:?}");
    }
    let add = lines.iter().find(|line| line.starts_with("Add ")).expect("a row of the table");
    assert_eq!(add.split_whitespace().collect::<Vec<_>>(), ["Add", "2", "2", "1"]);
    assert_eq!(lines.last(), Some(&"2 passed, 4 failed, 1 skipped"));
    let filtered = package.run("check-onnx cases --filter right");
    assert_eq!((filtered.code, filtered.stdout.as_str()), (Some(0), "1 passed, 0 failed, 0 skipped\n"));
    assert_eq!(package.run("check-onnx nowhere").code, Some(1));
}

/// A `.npy` file of floats.
fn npy(shape: &str, values: &[f32]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    bytes
}

#[test]
fn a_model_is_called_on_arrays() {
    if !has_cc() {
        return;
    }
    let package = Package::bare("onnx-run");
    std::fs::write(package.path("double.onnx"), support::model(DOUBLE)).expect("a file");
    std::fs::write(package.path("x.npy"), npy("(3, 2)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).expect("a file");
    let outcome = package.run("run double.onnx --input x=x.npy --output y.npy");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let written = std::fs::read(package.path("y.npy")).expect("the output");
    let floats = &npy("(3, 2)", &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    assert!(written.ends_with(&floats[floats.len() - 24..]), "{written:?}");
    let missing = package.run("run double.onnx --output y.npy --dim N=1");
    assert_eq!(missing.stderr, "error: the input `x` is missing: `--input x=FILE.npy`\n");
    let bench = package.run("bench double.onnx --dim N=64 --seconds 0.01 --json");
    assert_eq!(bench.code, Some(0), "{bench:?}");
    let object: serde_json::Value = serde_json::from_str(&bench.stdout).expect("an object");
    assert!(object["median_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{bench:?}");
}

#[test]
fn a_signature_is_one_to_paste() {
    let package = Package::bare("onnx-signature");
    let text = "input input.1: float[batch, 3, ?]\nconst w: float[3] = 1, 2, 3\ny = Shape(input.1)\nz = ReduceSum(input.1) {keepdims = 0}\noutput y\noutput z";
    std::fs::write(package.path("My-net.onnx"), support::model(text)).expect("a file");
    let free = package.run("signature My-net.onnx");
    let expected = "#[tensor_fn(onnx = \"My-net.onnx\")]\n\
                    pub fn my_net(input_1: Tensor<f32, D_batch, 3, D0_2>) -> (Tensor<i64, 3>, Tensor<f32>);\n";
    assert_eq!((free.code, free.stdout.as_str()), (Some(0), expected), "{free:?}");
    let bound = package.run("signature My-net.onnx --dim batch=4");
    assert!(bound.stdout.contains("Tensor<f32, 4, 3, D0_2>"), "{bound:?}");
    assert_eq!(package.run("signature none.onnx").code, Some(1));
}
