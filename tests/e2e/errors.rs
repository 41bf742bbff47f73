//! What is said when there is nothing to link.

use crate::package::{BUILD_SCRIPT, Package, doubles, manifest};
use std::fmt::Write as _;

const HEAD: &str = "//! Errors.\nuse tenfold::prelude::*;\n";

#[test]
fn without_a_build_script() {
    let package = Package::bare("e2e-no-script");
    package.write("Cargo.toml", &manifest("e2e-no-script", "2024"));
    package.write("src/lib.rs", &format!("{HEAD}{}", doubles("f")));
    let outcome = package.cargo(&["check"]).err();
    assert_eq!(outcome.errors("[T0801] `f` was not compiled: this package has no build script"), 1);
    let outcome = outcome.says("create `build.rs` with `fn main() { tenfold_build::compile() }`");
    assert_eq!(outcome.errors(""), 2, "ours, and the summary\n{}", outcome.stderr);
}

#[test]
fn a_build_script_that_does_not_call() {
    let package = Package::new("e2e-no-call", &format!("{HEAD}{}", doubles("f")));
    package.write("build.rs", "fn main() {}\n");
    package.cargo(&["check"]).err().says("[T0801] `f` was not compiled");
}

#[test]
fn inside_macro_rules() {
    let package = Package::new(
        "e2e-macro-rules",
        &format!(
            "{HEAD}macro_rules! make {{\n    ($name:ident, $by:expr) => {{\n        /// Made.\n        #[tensor_fn]\n        \
             pub fn $name(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n            x * $by\n        }}\n    }};\n}}\nmake!(made, 2.0);\n"
        ),
    );
    let outcome = package.cargo(&["check"]).err();
    assert_eq!(
        outcome.errors("[T0802] `made` was not compiled: a `macro_rules!` makes it, near src/lib.rs:7"),
        1,
        "{}",
        outcome.stderr
    );
    assert_eq!(outcome.errors(""), 2, "{}", outcome.stderr);
}

#[test]
fn what_the_build_script_does_not_see() {
    let package = Package::new(
        "e2e-not-seen",
        &format!(
            "{HEAD}#[cfg(debug_assertions)]\nmod on;\n{}\n#[cfg(not(unix))]\n{}\n",
            // a renamed attribute
            "use tenfold::tensor_fn as kernel;\n#[kernel]\nfn renamed(x: Tensor<f32, 4>) -> Tensor<f32, 4> {\n    x\n}\n",
            doubles("off")
        ),
    );
    package.write("src/on.rs", &format!("{HEAD}{}", doubles("on").replace("pub ", "")));
    let outcome = package.cargo(&["check"]).err();
    assert_eq!(outcome.errors("[T0802] `renamed` was not compiled"), 1, "{}", outcome.stderr);
    assert_eq!(outcome.errors(""), 2, "{}", outcome.stderr);
}

#[test]
fn the_first_function_of_a_test() {
    let package = Package::new("e2e-first", &format!("{HEAD}{}", doubles("f")));
    package.write("tests/it.rs", "#[test]\nfn nothing() {}\n");
    package.cargo(&["test", "--no-run"]).ok();
    let text = format!("use tenfold::prelude::*;\n{}\n#[test]\nfn it() {{ let _ = g(&[1.0; 4]); }}\n", doubles("g"));
    package.write("tests/it.rs", &text);
    package
        .cargo(&["test", "--no-run"])
        .err()
        .says("[T0803] `g` is the first tensor function of `tests/it.rs`")
        .says("run `touch build.rs` once");
    package.write("build.rs", BUILD_SCRIPT);
    package.cargo(&["test", "--no-run"]).ok();
}

#[test]
fn an_older_time_stamp() {
    let package = Package::new("e2e-stale", &format!("{HEAD}mod k;\n"));
    package.write("src/k.rs", &format!("use tenfold::prelude::*;\n{}", doubles("f")));
    package.cargo(&["check"]).ok();
    package.edit("src/k.rs", "2.0", "3.0");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
    let file = std::fs::File::options().write(true).open(package.directory.join("src/k.rs")).unwrap();
    file.set_modified(old).unwrap();
    // rustc runs again for another file, the build script does not
    package.cargo(&["check", "--profile", "test"]).err().says("[T0803] `f` changed after the build script ran");
}

/// Twenty functions in one file.
fn twenty(name: &str) -> Package {
    let mut library = String::from(HEAD);
    for n in 0..20 {
        let _ = writeln!(library, "{}", doubles(&format!("f{n}")).replace("2.0", &format!("{n}.5")));
    }
    Package::new(name, &library)
}

#[test]
fn a_code_generator_that_aborts() {
    let package = twenty("e2e-abort").env("TENFOLD_FAULT", "abort:f7");
    let outcome = package.cargo(&["build", "-j1"]).err();
    assert_eq!(outcome.errors("[T0902] the code generator died on this function"), 1, "{}", outcome.stderr);
    assert_eq!(outcome.errors(""), 2, "one error and the summary\n{}", outcome.stderr);
    let outcome = outcome.says("LLVM ERROR: Cannot select").says("pub fn f7(");
    assert!(outcome.stderr.contains("^^"), "the name is underlined\n{}", outcome.stderr);
    assert_eq!(package.archives().len(), 19, "the others are compiled");
    let report = package.report();
    assert_eq!(report.workers, 1, "with `-j1` one at a time");
}

#[test]
fn a_compiler_that_panics_or_hangs() {
    let package = twenty("e2e-panic").env("TENFOLD_FAULT", "panic:f3");
    let outcome = package.cargo(&["build"]).err();
    assert_eq!(outcome.errors("[T0901] the compiler panicked: a fault that was asked for"), 1, "{}", outcome.stderr);
    let package = package.env("TENFOLD_FAULT", "hang:f3").env("TENFOLD_TIME_LIMIT", "8");
    let outcome = package.cargo(&["build"]).err();
    assert_eq!(outcome.errors("[T0903] compiling this function took more than 8 s"), 1, "{}", outcome.stderr);
    assert_eq!(outcome.errors(""), 2, "{}", outcome.stderr);
}

#[test]
fn callers_of_a_function_with_errors_have_none() {
    let package = Package::new(
        "e2e-cascade",
        &format!(
            "{HEAD}/// Bad.\n#[tensor_fn]\npub fn bad(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n    \
             match x {{ _ => x }}\n}}\n/// Calls.\n#[tensor_fn]\npub fn caller(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n    \
             crate::bad(x)\n}}\n/// Uses.\npub fn uses() -> [f32; 4] {{\n    bad(&caller(&[1.0; 4])).into()\n}}\n"
        ),
    );
    let outcome = package.cargo(&["check"]).err();
    assert_eq!(outcome.errors(""), 2, "{}", outcome.stderr);
}

#[test]
fn recursion() {
    let package = Package::new(
        "e2e-recursion",
        &format!(
            "{HEAD}/// F.\n#[tensor_fn]\npub fn f(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n    self::g(x)\n}}\n\
             /// G.\n#[tensor_fn]\npub fn g(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n    crate::f(x)\n}}\n"
        ),
    );
    let outcome = package.cargo(&["check"]).err();
    assert_eq!(outcome.errors("[T0804]"), 2, "{}", outcome.stderr);
}

#[test]
fn a_callee_that_depends_on_a_cfg() {
    let twin = |cfg: &str, by: &str| format!("#[cfg({cfg})]\n{}", doubles("twin").replace("2.0", by));
    let package = Package::new(
        "e2e-undetermined",
        &format!(
            "{HEAD}{}{}/// Calls.\n#[tensor_fn]\npub fn caller(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n    self::twin(x)\n}}\n",
            twin("debug_assertions", "2.0"),
            twin("not(debug_assertions)", "3.0")
        ),
    );
    let outcome = package.cargo(&["check"]).err();
    assert_eq!(outcome.errors("[T0805] which function `self::twin` is depends on a `cfg`"), 1, "{}", outcome.stderr);
    assert_eq!(outcome.errors(""), 2, "{}", outcome.stderr);
}

/// What other versions, other machines and damaged files would leave. The index is among rustc's inputs, so that
/// rustc, and not the build script, runs again.
#[test]
fn an_index_that_does_not_fit() {
    let package = Package::new("e2e-index", &format!("{HEAD}{}", doubles("f")));
    package.cargo(&["check"]).ok();
    let path = package.out_dir().join("tenfold/index");
    let good = std::fs::read_to_string(&path).unwrap();
    let entry = &good[good.find("fn f").unwrap()..good.find("\nend").unwrap()];
    let twin = entry.replace("symbol __tenfold_e2e", "symbol __tenfold_other");
    for (text, says) in [
        (good.replace("abi 6\n", "abi 99\n"), "[T0806] `f` was compiled by `tenfold-build`"),
        (good.replace("tenfold-index 6\n", "tenfold-index 99\n"), "[T0806] `f` was compiled by"),
        (good.replace("\nend\n", ""), "[T0803] `f` was not compiled: the build script's index is damaged"),
        (
            good.replace("fn f\n", "fault no compiler at all\nfn f\n"),
            "[T0807] `f` was not compiled: no compiler at all",
        ),
        (good.replace("\nend\n", &format!("\n{twin}\nend\n")), "[T0808] two functions `f` of the same text"),
    ] {
        assert_ne!(text, good);
        std::fs::write(&path, text).unwrap();
        let outcome = package.cargo(&["check"]).err();
        assert_eq!(outcome.errors(says), 1, "{says}\n{}", outcome.stderr);
        assert_eq!(outcome.errors(""), 2, "{}", outcome.stderr);
    }
    std::fs::write(&path, good).unwrap();
    package.cargo(&["check"]).ok();
}
