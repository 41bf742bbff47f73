//! The program as a user meets it.

use std::process::Command;

#[test]
fn the_model_computes_what_plain_loops_do() {
    let output = Command::new(env!("CARGO_BIN_EXE_mobilenet")).arg("--check").output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
