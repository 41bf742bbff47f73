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
    let must = std::env::var_os("TENFOLD_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    // No machine of the tests has a GPU of NVIDIA's; lavapipe is a device of Vulkan's.
    for (device, must) in [("vulkan", must), ("cuda", false)] {
        let output = vision(&["--device", device, "--check"]);
        let said = text(&output.stderr);
        match output.status.code() {
            Some(2) if !must => {
                println!("skipped: {said}");
                assert!(said.starts_with(&format!("{device}: ")) && said.lines().count() == 1, "{said}");
            }
            code => assert_eq!(code, Some(0), "{}{said}", text(&output.stdout)),
        }
    }
}

#[test]
fn what_is_not_there_is_one_clear_error() {
    let output = vision(&["--device", "tpu"]);
    let expected = "there is no device `tpu`; the devices are `cpu`, `cuda` and `vulkan`\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), expected));
    let output = vision(&["--device"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("Says which way"), "{}", text(&output.stderr));
}
