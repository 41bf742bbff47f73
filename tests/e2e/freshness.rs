//! What is compiled again, and what is not.

use crate::package::{BUILD_SCRIPT, Package, doubles};
use std::fmt::Write as _;
use std::fs;
use std::time::SystemTime;

/// Twenty functions in twenty files, of which the second calls the first.
fn twenty(name: &str) -> Package {
    let mut library = String::from("//! Twenty.\n/// Nothing of ours.\npub mod plain;\n");
    for n in 0..20 {
        let _ = write!(library, "/// One.\npub mod m{n};\n");
    }
    let package = Package::new(name, &library);
    package.write("src/plain.rs", "/// Plain.\npub fn plain() -> u32 { 1 }\n");
    for n in 0..20 {
        let head = "//! One.\nuse tenfold::prelude::*;\n";
        let text = match n {
            1 => doubles("f1").replace("x * 2.0", "crate::m0::f0(x) + 1.0"),
            n => doubles(&format!("f{n}")).replace("2.0", &format!("{n}.5")),
        };
        package.write(&format!("src/m{n}.rs"), &format!("{head}{text}"));
    }
    package
}

#[test]
fn only_what_changed_is_compiled() {
    let package = twenty("e2e-twenty");
    package.cargo(&["build"]).ok();
    assert_eq!(package.report().compiled, 20);

    let index = package.out_dir().join("tenfold/index");
    let time = || fs::metadata(&index).unwrap().modified().unwrap();
    let before = time();
    // the best of a few, as other tests run at the same time
    let mut best = f64::MAX;
    for n in 1..6 {
        package.edit("src/plain.rs", &format!("{{ {n} }}"), &format!("{{ {} }}", n + 1));
        package.cargo(&["build"]).ok();
        let report = package.report();
        assert_eq!((report.compiled, report.cached), (0, 20));
        best = best.min(report.total_ms);
    }
    assert!(best < 100.0, "a run without work takes {best} ms");
    assert_eq!(time(), before, "the index is left alone");

    package.edit("src/m7.rs", "7.5", "7.25");
    package.cargo(&["build"]).ok();
    assert_eq!(package.report().compiled, 1);

    package.edit("src/m0.rs", "0.5", "0.25");
    package.cargo(&["build"]).ok();
    assert_eq!(package.report().compiled, 2, "the function and its caller");

    package.edit("src/m3.rs", "    x * 3.5", "\n      ( x   * (3.5) ) // the same\n");
    package.cargo(&["build"]).ok();
    assert_eq!(package.report().compiled, 0, "formatting is no change");
}

#[test]
fn records_of_tuned_schedules_are_a_part_of_the_source() {
    let package = Package::new("e2e-records", &format!("//! One.\nuse tenfold::prelude::*;\n{}", doubles("double")));
    package.cargo(&["build"]).ok();
    assert_eq!(package.report().compiled, 1);
    // As `cargo tenfold tune` does it: a file that was not there is not watched.
    package.write("tenfold-tune.txt", "# Nothing yet.\n");
    package.edit("Cargo.toml", "0.1.0", "0.1.0");
    package.cargo(&["build"]).ok();
    assert_eq!(package.report().compiled, 1);
    package.write("tenfold-tune.txt", "# Nothing at all.\nkernel 12\n");
    let said = package.cargo(&["build"]).ok();
    said.says("`tenfold-tune.txt`: line 2: expected 32 hexadecimal digits, found `12`");
    assert_eq!(package.report().compiled, 1);
    package.edit("src/lib.rs", "//! One.", "//! The one.");
    let said = package.cargo(&["build"]).ok();
    said.says("`tenfold-tune.txt`: line 2: expected 32 hexadecimal digits, found `12`");
    assert_eq!((package.report().compiled, package.report().cached), (0, 1));
}

/// Four numbers as NumPy writes them.
fn npy() -> Vec<u8> {
    let header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header);
    bytes.resize(bytes.len() + 16, 0);
    bytes
}

/// Each file is refused, and mended by one that is older than the build: cargo sees no newer time.
#[test]
fn files_that_were_refused_are_looked_at_again() {
    let package = Package::new("e2e-refused-files", "");
    package.write("build.rs", &BUILD_SCRIPT.replace("    tenfold", "    made();\n    tenfold"));
    let copy = "fn made() {\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
                let _ = std::fs::copy(\"made.npy\", out + \"/made.npy\");\n}\n";
    package.write("build.rs", &(package.read("build.rs") + copy));
    let path = |name: &str| package.directory.join(name);
    let elsewhere = package.directory.with_extension("npy");
    fs::write(&elsewhere, npy()).expect("a file beside the package");
    fs::create_dir(path("folder.npy")).expect("a folder");
    fs::write(path("damaged.npy"), "no array").expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&elsewhere, path("linked.npy")).expect("a link");
    let cases = [
        ("missing.npy", "[T0502] there is no file"),
        ("linked.npy", "[T0501] `linked.npy` leads out of the package through a link"),
        ("folder.npy", "[T0503] `folder.npy` cannot be read: it is not a file"),
        ("damaged.npy", "[T0503] `damaged.npy` cannot be read: it is no npy file"),
        ("$OUT_DIR/made.npy", "[T0502] there is no file"),
    ];
    for (name, error) in cases.into_iter().filter(|(name, _)| cfg!(unix) || *name != "linked.npy") {
        package.write(
            "src/lib.rs",
            &format!(
                "//! One.\nuse tenfold::prelude::*;\n/// Adds.\n#[tensor_fn]\n\
                 pub fn add(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n    \
                 const W: Tensor<f32, 4> = npy!(\"{name}\");\n    x + W\n}}\n"
            ),
        );
        let refused = package.cargo(&["check"]).err();
        assert_eq!(refused.errors(error), 1, "{name}: {}", refused.stderr);
        let place = path(name.trim_start_matches("$OUT_DIR/"));
        let _ = fs::remove_file(&place).or_else(|_| fs::remove_dir(&place));
        fs::write(&place, npy()).expect("the file is mended");
        let file = fs::File::options().write(true).open(&place).expect("the file is there");
        file.set_modified(SystemTime::UNIX_EPOCH).expect("it has a time");
        package.cargo(&["check"]).ok();
    }
}
