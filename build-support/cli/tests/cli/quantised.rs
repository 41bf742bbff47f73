//! Int8 versions of models, made by ONNX Runtime's quantiser, against an integer reference.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use tenfold_tests::tools;

use crate::onnx::has_cc;

/// The Python of `TENFOLD_PYTHON`, or `python3`, if it has what the reference needs; a line says so if not.
fn python() -> Option<OsString> {
    let python = std::env::var_os("TENFOLD_PYTHON").unwrap_or_else(|| "python3".into());
    let needs = "import numpy, onnx, onnxruntime.quantization";
    let has = Command::new(&python).args(["-c", needs]).output().is_ok_and(|out| out.status.success());
    if !has {
        let installed_by = format!("tests/onnxruntime.sh makes one for `TENFOLD_PYTHON`; {python:?} cannot `{needs}`");
        tools::skip("a Python with ONNX Runtime", &installed_by);
    }
    has.then_some(python)
}

/// An encoder layer and a small convolution net. `compiler/docs/testing.md` says how models of real sizes are checked.
#[test]
fn quantised_models_do_what_integers_say() {
    let Some(python) = python().filter(|_| has_cc()) else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = format!("'{}' tenfold run", env!("CARGO_BIN_EXE_cargo-tenfold"));
    let mut command = Command::new(python);
    command
        .arg(root.join("tests/models/quantised.py"))
        .args(["--small", "--inputs", "5", "--steps", "3", "--run", &run]);
    let out = command.output().expect("it starts");
    let (said, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    println!("{said}");
    assert!(out.status.success(), "{said}{errors}");
    for model in ["encoder", "pictures"] {
        assert!(said.contains(&format!("{model}: steps: ")), "{said}{errors}");
    }
}
