//! What is said before anything is looked at.

use crate::package::Package;

#[test]
fn help_and_version() {
    let package = Package::bare("usage-help");
    for line in ["--help", "doctor --help", "list -h", "show --help", "explain --help"] {
        let outcome = package.run(line);
        assert_eq!(outcome.code, Some(0), "{line}: {outcome:?}");
        assert!(outcome.stdout.contains("\nUsage: cargo tenfold "), "{line}: {outcome:?}");
        assert!(outcome.stdout.lines().all(|line| line.len() <= 100), "{line}: {outcome:?}");
    }
    let version = package.run("--version");
    assert_eq!(version.stdout, format!("cargo-tenfold {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_command_line_is_code_2() {
    let package = Package::bare("usage-wrong");
    for line in ["", "tensor", "list --stage c", "show", "show --stage hir f", "doctor --json"] {
        let outcome = package.run(line);
        assert_eq!(outcome.code, Some(2), "{line}: {outcome:?}");
        assert!(outcome.stderr.starts_with("error: "), "{line}: {outcome:?}");
        assert!(outcome.stderr.contains("--help`"), "{line}: {outcome:?}");
        assert!(outcome.stdout.is_empty(), "{line}: {outcome:?}");
    }
}
