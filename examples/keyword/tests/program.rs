//! The program as a user meets it.

use std::process::Command;

#[test]
fn words_are_heard_and_spectra_are_right() {
    let output = Command::new(env!("CARGO_BIN_EXE_keyword")).arg("--check").output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
