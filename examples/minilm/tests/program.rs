//! The program as a user meets it.

use std::process::Command;

#[test]
fn both_encoders_give_the_same_vectors() {
    let output = Command::new(env!("CARGO_BIN_EXE_minilm")).arg("--check").output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
