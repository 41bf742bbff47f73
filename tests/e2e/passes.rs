//! Passes that a build script chooses and adds.

use crate::package::{Package, doubles};

/// A build script with these calls on the builder. It prints before it compiles, as scripts do.
fn script(calls: &str) -> String {
    format!(
        "use tenfold_build::{{Build, PassPhase, ir}};\n\
         fn main() {{\n    println!(\"cargo::rerun-if-changed=build.rs\");\n    Build::new(){calls}.compile();\n}}\n"
    )
}

/// A pass that makes every literal a number.
fn literals(number: &str) -> String {
    format!(
        ".add_pass(PassPhase::Import, \"Literals\", |module, _| {{
            for function in module.functions.values_mut() {{
                let ir::Function::Relax(f) = function else {{ continue }};
                for binding in f.blocks.iter_mut().flat_map(|b| &mut b.bindings) {{
                    if let ir::relax::Op::Scalar(value) = &mut binding.op {{
                        *value = ir::Scalar::float(value.dtype, {number});
                    }}
                }}
            }}
            Ok(())
        }})"
    )
}

fn package(name: &str, calls: &str) -> Package {
    let package = Package::new(name, &format!("//! One.\nuse tenfold::prelude::*;\n{}", doubles("times")));
    package.write("build.rs", &script(calls));
    package
}

/// The loops behind the last pass.
fn dumped(package: &Package, folder: &str) -> String {
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let entries = std::fs::read_dir(package.directory.join(folder)).into_iter().flatten().flatten();
    entries.map(|e| e.path()).filter(|p| p.to_string_lossy().ends_with("LowerMath.txt")).map(read).collect()
}

#[test]
fn a_pass_of_the_build_script_runs_and_its_change_compiles_anew() {
    let package = package("e2e-passes-own", &literals("7.0"));
    let dump = package.directory.join("dump").display().to_string();
    let package = package.env("TENFOLD_DUMP", &dump);
    package.cargo(&["build"]).ok();
    assert!(dumped(&package, "dump").contains("7.0f32"), "{}", dumped(&package, "dump"));
    package.cargo(&["build"]).ok();
    package.edit("build.rs", "7.0", "9.0");
    package.cargo(&["build"]).ok();
    assert_eq!(package.report().compiled, 1, "another closure is another pass");
    assert!(dumped(&package, "dump").contains("9.0f32"), "{}", dumped(&package, "dump"));
}

#[test]
fn what_a_pass_refuses_stands_at_the_function() {
    let calls = ".add_pass(PassPhase::Fusion, \"Never\", |_, _| Err(\"not today\".into()))";
    let package = package("e2e-passes-refuse", calls);
    let outcome = package.cargo(&["build"]).err();
    assert_eq!(
        outcome.errors("[T0809] the pass `Never` of the build script refuses: not today"),
        1,
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("src/lib.rs:5"), "{}", outcome.stderr);
}

#[test]
fn settings_that_are_wrong_are_one_error() {
    let cases = [
        (".disable(\"PadCon\")", "`disable(PadCon)` in the build script: there is no pass `PadCon`"),
        (".opt_level(7)", "`opt_level(7)` in the build script: expected a level from 0 to 3"),
        (
            ".config(\"UnrollLoop.max_stepp\", 16)",
            "`config(UnrollLoop.max_stepp=16)` in the build script: no pass has a setting `UnrollLoop.max_stepp`",
        ),
    ];
    let package = package("e2e-passes-wrong", "");
    for (calls, text) in cases {
        package.write("build.rs", &script(calls));
        let outcome = package.cargo(&["build"]).err();
        assert_eq!(outcome.errors(&format!("[T0809] {text}")), 1, "{}", outcome.stderr);
    }
}

#[test]
fn the_environment_has_the_last_word_and_compiles_anew() {
    let package = package("e2e-passes-env", ".opt_level(1)");
    package.cargo(&["build"]).ok();
    let package = package.env("TENFOLD_OPT_LEVEL", "3").env("TENFOLD_TIMING", "1");
    let outcome = package.cargo(&["build", "-vv"]).ok();
    assert_eq!(package.report().compiled, 1);
    assert!(outcome.stderr.contains("all passes"), "{}", outcome.stderr);
    let package = package.env("TENFOLD_OPT_LEVEL", "9");
    let outcome = package.cargo(&["build"]).err();
    assert_eq!(outcome.errors("[T0809] `TENFOLD_OPT_LEVEL=9`: expected a level from 0 to 3"), 1, "{}", outcome.stderr);
}
