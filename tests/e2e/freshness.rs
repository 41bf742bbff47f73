//! What is compiled again, and what is not.

use crate::package::{Package, doubles};
use std::fmt::Write as _;

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

    let index = package.out_dir("debug").join("tenfold/index");
    let time = || std::fs::metadata(&index).unwrap().modified().unwrap();
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
