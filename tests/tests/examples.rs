//! Scripts of examples: what they say where a tool is missing. `.ci/run` runs them where none is.

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
