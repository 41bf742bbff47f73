//! The program as a user meets it.

use std::process::{Command, Output};

fn vision(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vision")).args(args).output().expect("starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn the_processor_is_right() {
    let output = vision(&["--check"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let seen = "the first four are horizontal, vertical, rising, falling; 32 of 32 are right\n";
    assert!(text(&output.stdout).starts_with(seen), "{}", text(&output.stdout));
}

#[test]
fn a_gpu_agrees_or_is_said_to_be_absent() {
    let output = vision(&["--device", "vulkan", "--check"]);
    let must = std::env::var_os("TENFOLD_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    match output.status.code() {
        Some(2) if !must => {
            println!("skipped: {}", text(&output.stderr));
            assert!(text(&output.stderr).starts_with("vulkan: "), "{}", text(&output.stderr));
        }
        code => assert_eq!(code, Some(0), "{}{}", text(&output.stdout), text(&output.stderr)),
    }
}

#[test]
fn what_is_not_there_is_one_clear_error() {
    let cases = [
        (&["--device", "cuda"][..], "this build has no code for `cuda`; the devices are `cpu` and `vulkan`\n"),
        (&["--device", "tpu"], "there is no device `tpu`; the devices are `cpu` and `vulkan`\n"),
    ];
    for (args, expected) in cases {
        let output = vision(args);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), expected));
    }
    let output = vision(&["--device"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("Says which way"), "{}", text(&output.stderr));
}
