//! What stands around a build: other code in the build script, documentation, packaging, read-only sources, other
//! directories.

use crate::package::{Package, doubles, manifest, set_read_only};

const HEAD: &str = "//! Surroundings.\nuse tenfold::prelude::*;\n";

#[test]
fn other_code_of_the_build_script_runs_once() {
    let package = Package::new("e2e-once", &format!("{HEAD}{}{}", doubles("f"), doubles("g")));
    package.write(
        "build.rs",
        "use std::io::Write;\nfn main() {\n    \
         let log = std::path::Path::new(&std::env::var_os(\"OUT_DIR\").unwrap()).join(\"log\");\n    \
         let mut log = std::fs::File::options().create(true).append(true).open(log).unwrap();\n    \
         writeln!(log, \"once\").unwrap();\n    println!(\"noise on standard output\");\n    \
         tenfold_build::compile();\n}\n",
    );
    package.cargo(&["build"]).ok();
    assert_eq!(package.report().compiled, 2);
    let log = std::fs::read_to_string(package.out_dir().join("log")).unwrap();
    assert_eq!(log, "once\n");
}

#[test]
fn documentation() {
    let package = Package::new(
        "e2e-doc",
        &format!("{HEAD}/// See [`f()`] and [`f::into`].\npub fn see() {{}}\n{}", doubles("f")),
    )
    .env("DOCS_RS", "1")
    .env("RUSTDOCFLAGS", "-D warnings");
    package.cargo(&["doc", "--no-deps"]).ok();
}

#[test]
fn a_package_can_be_packaged() {
    let package = Package::new("e2e-packaged", &format!("{HEAD}{}", doubles("f")));
    package.write("LICENSE", "");
    let text = manifest("e2e-packaged", "2024")
        .replace("publish = false\n", "license-file = \"LICENSE\"\ndescription = \"x\"\n");
    // what is packaged must name versions
    let text = text.replace("{ path", "{ version = \"0.1.0\", path");
    package.write("Cargo.toml", &text);
    package.cargo(&["package", "--list", "--allow-dirty"]).ok();
}

#[test]
fn sources_that_cannot_be_written() {
    let package = Package::new("e2e-read-only", &format!("{HEAD}{}", doubles("f")));
    // It adds the package to the lock file, and leaves the versions in it.
    package.cargo(&["update", "--workspace", "--offline"]).ok();
    for part in ["src", ""] {
        set_read_only(&package.directory.join(part), true);
    }
    let outcome = package.cargo(&["build", "--locked"]);
    for part in ["", "src"] {
        set_read_only(&package.directory.join(part), false);
    }
    outcome.ok();
    let mut names: Vec<_> = std::fs::read_dir(&package.directory)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["Cargo.lock", "Cargo.toml", "build.rs", "src"], "only `OUT_DIR` is written");
}

/// The second directory's target folder is that of all these tests under another name, so that the compiler is built
/// once; what is built there for each directory lies apart, since cargo tells packages by their directories.
#[test]
fn two_directories_and_orders_give_equal_bytes() {
    let base = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e");
    let (shared, far) = (base.join("target"), base.join("e2e-bytes-target/far/away from here"));
    std::fs::create_dir_all(far.parent().unwrap()).unwrap();
    std::fs::create_dir_all(&shared).unwrap();
    // A folder or a link: of links it removes the link alone.
    let _ = std::fs::remove_dir_all(&far);
    std::os::unix::fs::symlink(&shared, &far).unwrap();
    let mut all = Vec::new();
    let places = [("far/away from here", &far, "-j2", ["c", "a", "b"]), ("here", &shared, "-j1", ["a", "b", "c"])];
    for (place, target, jobs, modules) in places {
        let directory = base.join("e2e-bytes").join(place);
        let package = Package::at(&directory, "e2e-bytes").target(target);
        let package = if place == "here" { package } else { package.env("TENFOLD_UNRELATED", "1") };
        package.write("Cargo.toml", &manifest("e2e-bytes", "2024"));
        package.write("build.rs", crate::package::BUILD_SCRIPT);
        let text: String = modules.iter().map(|m| format!("/// M.\npub mod {m};\n")).collect();
        package.write("src/lib.rs", &format!("//! Bytes.\n{text}"));
        for (n, module) in ["a", "b", "c"].iter().enumerate() {
            let text = doubles(&format!("f_{module}")).replace("2.0", &format!("{n}.5"));
            package.write(&format!("src/{module}.rs"), &format!("{HEAD}{text}"));
        }
        package.cargo(&["build", jobs]).ok();
        assert_eq!(package.report().compiled, 3, "{place}: nothing is left of another run");
        all.push(package.archives());
    }
    assert_eq!(all[0].len(), 3);
    assert_eq!(all[0], all[1]);
}

#[test]
fn weights_are_read_by_their_users_alone() {
    let package = Package::new(
        "e2e-weights",
        &format!("{HEAD}{}{}{}", doubles("without"), reads("one", "a.npy"), reads("two", "b.npy")),
    );
    for (file, value) in [("a.npy", 1.0_f32), ("b.npy", 2.0)] {
        write_npy(&package, file, value);
    }
    package.cargo(&["build"]).ok();
    assert_eq!(package.report().compiled, 3);
    package.cargo(&["build"]).ok();
    write_npy(&package, "a.npy", 3.0);
    package.cargo(&["build"]).ok();
    let report = package.report();
    assert_eq!((report.compiled, report.cached), (1, 2));
}

/// A function that adds a constant from a file.
fn reads(name: &str, file: &str) -> String {
    format!(
        "/// Reads.\n#[tensor_fn]\npub fn {name}(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n    \
         const W: Tensor<f32, 4> = npy!(\"weights/{file}\");\n    x + W\n}}\n"
    )
}

/// Four equal floats.
fn write_npy(package: &Package, file: &str, value: f32) {
    let mut header = String::from("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    for _ in 0..4 {
        bytes.extend(value.to_le_bytes());
    }
    let path = package.directory.join("weights");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join(file), bytes).unwrap();
}
