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
    let seen = "the first eight are 0 1 7 3 4 8 9 7; 63 of 64 are right\n";
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

/// With the driver's files hidden, and where the system's loader finds libraries, none that is one.
#[test]
fn no_driver_is_one_clear_line() {
    let empty = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-driver");
    std::fs::create_dir_all(&empty).expect("a folder");
    for library in ["libcuda.so", "libcuda.so.1"] {
        std::fs::write(empty.join(library), "").expect("a file");
    }
    for device in ["vulkan", "cuda"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vision"));
        command.args(["--device", device]).env("LD_LIBRARY_PATH", &empty);
        command.env("VK_DRIVER_FILES", empty.join("none.json")).env("VK_ICD_FILENAMES", empty.join("none.json"));
        let output = command.output().expect("starts");
        let (said, shown) = (text(&output.stderr), text(&output.stdout));
        assert_eq!(output.status.code(), Some(2), "{said}{shown}");
        assert!(said.starts_with(&format!("{device}: ")) && said.lines().count() == 1 && shown.is_empty(), "{said}");
    }
    // The processor's way needs neither.
    let mut command = Command::new(env!("CARGO_BIN_EXE_vision"));
    command.env("LD_LIBRARY_PATH", &empty).env("VK_DRIVER_FILES", empty.join("none.json"));
    assert_eq!(command.output().expect("starts").status.code(), Some(0));
}

#[test]
fn what_is_not_there_is_one_clear_error() {
    let output = vision(&["--device", "tpu"]);
    let expected = "there is no device `tpu`; the devices are `cpu`, `cuda` and `vulkan`\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), expected));
    let output = vision(&["--device"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("Reads handwritten digits"), "{}", text(&output.stderr));
}
