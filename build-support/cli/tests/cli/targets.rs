//! Targets of the environment: devices and keys.

use crate::package::{DOUBLE, Package};

/// A product that groups of threads share, and that a processor has tiles for.
const PRODUCT: &str = "#[tensor_fn]\npub fn product(x: Tensor<f32, 64, 64>, y: Tensor<f32, 64, 64>) -> Tensor<f32, 64, 64> {\n    \
                       matmul(x, y)\n}\n";

#[test]
fn keys_choose_the_rules_of_default_schedules() {
    let package = Package::new("targets-keys", PRODUCT);
    let shown = |target: &str, what: &str| {
        let outcome = package.command(&format!("show {what} product")).env("TENFOLD_TARGET", target).output();
        let outcome = outcome.expect("the program starts");
        assert!(outcome.status.success(), "{target}: {}", String::from_utf8_lossy(&outcome.stderr));
        String::from_utf8_lossy(&outcome.stdout).into_owned()
    };
    let shaders = |target: &str| shown(target, "--stage spirv").contains("OpControlBarrier");
    assert_eq!([shaders("spirv"), shaders("spirv -keys=gpu"), shaders("spirv -keys=generic")], [true, true, false]);
    let remarks = |target: &str| shown(target, "--remarks").contains("rule `contraction`");
    assert_eq!([remarks("llvm"), remarks("llvm -keys=cpu"), remarks("llvm -keys=generic")], [true, true, false]);
    // both chips that are named, and no other
    let chips = shown("nvptx:sm_80; nvptx:sm_90a -keys=generic", "--stage ptx");
    assert_eq!(chips.matches(".target sm_80").count(), 1, "{chips}");
    assert!(chips.contains(".target sm_90a"), "{chips}");
}

#[test]
fn a_key_that_there_is_not_is_told() {
    let package = Package::new("targets-told", PRODUCT).env("TENFOLD_TARGET", "llvm -keys=gpu");
    let outcome = package.run("show product");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let text = "error: `TENFOLD_TARGET=llvm -keys=gpu`: `";
    assert!(
        outcome.stderr.starts_with(text) && outcome.stderr.contains("has no rules of the key `gpu`; its keys are"),
        "{outcome:?}"
    );
    let package = package.env("TENFOLD_TARGET", "llvm -keys=x86");
    let text = "error: `TENFOLD_TARGET=llvm -keys=x86`: there is no key `x86`; the keys are `generic`, `cpu`, `dsp`, `gpu`, \
                `cuda`, `tensorcore`\n";
    let outcome = package.run("list");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), text));
}

#[test]
fn what_is_for_processors_alone_takes_no_devices() {
    let package = Package::new("targets-refused", DOUBLE).env("TENFOLD_TARGET", "llvm; spirv; nvptx:sm_80");
    for line in
        ["tune double", "explain double", "lib -o c", "bench m.onnx", "run m.onnx", "explain m.onnx", "check-onnx m"]
    {
        let outcome = package.run(line);
        let command = line.split(' ').next().unwrap_or_default();
        let text = format!(
            "error: `TENFOLD_TARGET=llvm; spirv; nvptx:sm_80`: `{command}` is for processors alone; leave `spirv` and \
             `nvptx -mcpu=sm_80` out\n"
        );
        assert_eq!((outcome.code, outcome.stderr), (Some(1), text), "{line}");
    }
    assert_eq!(package.run("tune --help").code, Some(0));
    assert_eq!(package.run("explain double --device spirv").code, Some(0));
    assert_eq!(package.run("list").code, Some(0));
}
