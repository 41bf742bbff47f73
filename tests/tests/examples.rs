//! Scripts of examples: what they say where a tool is missing. `.ci/run` runs them where none is. And an example as cargo
//! builds a release unless it is told otherwise.

use std::env;
use std::process::Command;
use tenfold_tests::tools;

/// A script, and the tool that it asks for first.
const SCRIPTS: [(&str, &str); 3] =
    [("cortex-m/run.sh", "qemu-system-arm"), ("cortex-m-c/run.sh", "arm-none-eabi-gcc"), ("wasm/run.sh", "rustc")];

#[test]
fn a_missing_tool_is_one_clear_error() {
    for (script, tool) in SCRIPTS {
        let mut shell = Command::new("/bin/sh");
        shell.arg(tools::root().join("examples").join(script)).env("PATH", "/nowhere");
        let output = shell.output().expect("there is a shell");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{script}: {error}");
        assert!(error.contains(&format!("expected {tool}")) && error.lines().count() == 1, "{script}: {error}");
    }
}

/// Whatever this test's own cargo says of its package is not meant for another one.
fn is_of_this_package(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || matches!(name, "CARGO_MANIFEST_DIR" | "CARGO_MANIFEST_PATH" | "OUT_DIR")
}

/// In the folder of the workspace, where the next example finds the compiler.
#[test]
fn a_release_runs() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--release", "--quiet", "--package", "saxpy"]).current_dir(tools::root());
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_this_package(&name.to_string_lossy())) {
        cargo.env_remove(name);
    }
    let output = cargo.output().expect("cargo starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the example fails:\n{error}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("24.0").count(), 1);
}
