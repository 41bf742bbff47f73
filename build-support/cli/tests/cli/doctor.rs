//! `cargo tenfold doctor`.

use crate::package::{DOUBLE, Outcome, Package};

fn line<'a>(outcome: &'a Outcome, topic: &str) -> &'a str {
    let is_it = |line: &&str| line.get(9..).is_some_and(|rest| rest.starts_with(&format!("{topic}: ")));
    outcome.stdout.lines().find(is_it).unwrap_or_else(|| panic!("no `{topic}` in {outcome:?}"))
}

#[test]
fn a_machine_without_a_package() {
    let package = Package::bare("doctor-machine");
    // cargo looks for a manifest above, and there is the checkout's
    package.write("Cargo.toml", "[workspace]\n");
    let outcome = package.run("doctor");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for topic in ["rustc", "sysroot", "host", "target", "TENFOLD_LLVM", "llvm", "c compiler", "linker", "a function"] {
        assert!(line(&outcome, topic).starts_with("ok "), "{topic}: {outcome:?}");
    }
    assert!(line(&outcome, "a function").contains("compiled for `"), "{outcome:?}");
    assert!(outcome.stdout.ends_with("\nA function can be compiled here.\n"), "{outcome:?}");
}

#[test]
fn a_package_as_it_should_be() {
    let package = Package::new("doctor-good", DOUBLE);
    let outcome = package.run("doctor");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(line(&outcome, "package"), "ok       package: `doctor-good` 0.3.0");
    assert_eq!(line(&outcome, "build script"), "ok       build script: `build.rs` calls `tenfold_build`");
    // nothing was built, so there is no lock file, and doctor writes none
    assert_eq!(line(&outcome, "versions"), "warn     versions: not known before the package was built once");
}

#[test]
fn the_versions_of_a_package_that_was_built() {
    let package = Package::bare("doctor-versions");
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/saxpy/Cargo.toml");
    let outcome = package.run(&format!("doctor --manifest-path {manifest}"));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(line(&outcome, "package"), format!("ok       package: `saxpy` {}", env!("CARGO_PKG_VERSION")));
    assert_eq!(line(&outcome, "versions"), "ok       versions: they agree");
    for part in ["tenfold", "tenfold-build", "tenfold-macros"] {
        let detail = format!("\n         {part} {}, ABI 6\n", env!("CARGO_PKG_VERSION"));
        assert!(outcome.stdout.contains(&detail), "{outcome:?}");
    }
}

#[test]
fn a_package_whose_functions_no_build_compiles() {
    let package = Package::new("doctor-script", DOUBLE);
    package.write("build.rs", "// tenfold_build::compile();\nfn main() {}\n");
    let outcome = package.run("doctor");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let expected = "problem  build script: `build.rs` does not call `tenfold_build::compile`\n         \
                    next: write `fn main() { tenfold_build::compile(); }`\n";
    assert!(outcome.stdout.contains(expected), "{outcome:?}");
    package.remove("build.rs");
    let outcome = package.run("doctor");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let expected = "problem  build script: the package has none, so a build compiles no function of it";
    assert_eq!(line(&outcome, "build script"), expected);
}

#[test]
fn neither_llvm_nor_c() {
    let package =
        Package::new("doctor-nothing", DOUBLE).env("TENFOLD_LLVM", "/nowhere/libLLVM.so").env("CC", "/nowhere/cc");
    let outcome = package.run("doctor");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let llvm = "warn     llvm: none was found; functions are compiled through C\n         \
                not taken: `/nowhere/libLLVM.so` cannot be read: No such file or directory (os error 2)\n         next: ";
    assert!(outcome.stdout.contains(llvm), "{outcome:?}");
    assert!(line(&outcome, "c compiler").starts_with("problem "), "{outcome:?}");
    assert!(line(&outcome, "a function").starts_with("problem "), "{outcome:?}");
}

#[test]
fn an_llvm_that_is_none() {
    let package = Package::new("doctor-fake", DOUBLE);
    package.write("libLLVM.so.22.1", &"not LLVM ".repeat(200_000));
    let package = package.env("TENFOLD_LLVM", "libLLVM.so.22.1");
    let outcome = package.run("doctor");
    assert!(
        line(&outcome, "llvm").starts_with("ok       llvm: the one that `TENFOLD_LLVM` names, 22.1"),
        "{outcome:?}"
    );
    assert!(line(&outcome, "llvm works").starts_with("warn     llvm works: no: cannot load"), "{outcome:?}");
    // a build goes on through C
    assert!(line(&outcome, "a function").contains("compiled for"), "{outcome:?}");
}

#[test]
fn a_target_that_rustc_does_not_know() {
    let package = Package::new("doctor-target", DOUBLE);
    let outcome = package.run("doctor --target pdp11-dec-unix");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!(line(&outcome, "target"), "problem  target: rustc does not know `pdp11-dec-unix`");
}

/// A library for C is made for it all the same.
#[test]
fn a_target_whose_standard_library_is_not_there() {
    let package = Package::new("doctor-core", DOUBLE);
    // which rustup has no library for
    let outcome = package.run("doctor --target armv6k-nintendo-3ds");
    let text = "warn     target: armv6k-nintendo-3ds; its standard library is not there, which only `cargo tenfold lib` does \
                without\n         next: run `rustup target add armv6k-nintendo-3ds`\n";
    assert!(outcome.stdout.contains(text), "{outcome:?}");
}

#[test]
fn no_rustc() {
    let package = Package::new("doctor-rustc", DOUBLE).env("RUSTC", "/nowhere/rustc");
    let outcome = package.run("doctor");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(line(&outcome, "rustc").starts_with("problem  rustc: `/nowhere/rustc` does not start: "), "{outcome:?}");
}
