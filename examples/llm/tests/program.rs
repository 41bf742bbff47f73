//! The program as a user meets it.

use std::process::{Command, Output};

fn llm(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_llm")).args(args).output().expect("starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn scores_are_those_of_numpy() {
    let output = llm(&["--check"]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn a_certain_writer_knows_its_verses() {
    // more than the cache holds, so half of it is forgotten on the way
    let output = llm(&["The sun was shining", "0"]);
    let text = text(&output.stdout);
    assert!(text.starts_with("The sun was shining on the sea,\nShining with all his might:\n"), "{text}");
}

#[test]
fn wrong_weights_are_refused() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/reference.safetensors");
    let output = llm(&["--weights", file, "text"]);
    assert_eq!(text(&output.stderr), "llm: no file holds a tensor `embedding`\n");
    assert!(!output.status.success());
}
