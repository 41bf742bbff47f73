//! The program as a user meets it.

use std::path::Path;
use std::process::{Command, Output};

fn digits(args: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_digits"));
    program.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn accuracy_and_reference_hold() {
    let output = digits(&["--check"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 2);
}

#[test]
fn the_report_shows_digits_confusion_and_figures() {
    let output = digits(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let text = text(&output.stdout);
    for part in ["the cnn sees 0", "██", "confusion of the mlp", "confusion of the cnn", "µs per image", "of workspace"]
    {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

#[test]
fn predicts_one_class_per_row() {
    let output = digits(&["--predict", "data/test_images.npy"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let labels = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("data/test_labels.npy")).expect("labels");
    let labels = &labels[128..]; // NumPy pads its header so that the data begins here
    let classes: Vec<u8> = text(&output.stdout).lines().map(|line| line.parse().expect("a digit")).collect();
    assert_eq!(classes.len(), labels.len());
    let right = classes.iter().zip(labels).filter(|(class, label)| class == label).count();
    assert!(right * 100 >= 98 * labels.len(), "{right} of {}", labels.len());
}

#[test]
fn a_bad_file_is_one_clear_error() {
    let cases = [
        ("data/absent.npy", "cannot read `data/absent.npy`"),
        ("Cargo.toml", "found a file that is no npy file"),
        ("data/test_labels.npy", "expected float32 of shape [N, 64], found `|u1` of shape [364]"),
        ("data/mlp_reference.npy", "expected float32 of shape [N, 64], found `<f4` of shape [364, 10]"),
    ];
    for (file, expected) in cases {
        let output = digits(&["--predict", file]);
        assert_eq!(output.status.code(), Some(2), "{file}");
        let error = text(&output.stderr);
        assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
        assert!(output.stdout.is_empty(), "{file}");
    }
}

#[test]
fn an_unknown_argument_gets_the_usage() {
    let output = digits(&["--frobnicate"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("usage: digits"));
    assert_eq!(digits(&["--help"]).status.code(), Some(0));
}

/// Nothing of the compiler is linked, LLVM least of all.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn links_nothing_but_the_c_library() {
    let output = Command::new("ldd").arg(env!("CARGO_BIN_EXE_digits")).output().expect("starts ldd");
    for line in text(&output.stdout).lines() {
        let library = line.split_whitespace().next().unwrap_or_default();
        let allowed = ["linux-vdso", "libc.", "libm.", "libgcc_s.", "/lib"];
        assert!(allowed.iter().any(|name| library.starts_with(name)), "links {library}");
    }
}
