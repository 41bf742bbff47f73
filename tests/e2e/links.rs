//! Every way to link: targets, profiles, two crates with equal names, a crate with every lint.

use crate::package::{BUILD_SCRIPT, Package, checkout, doubles, manifest};
use tenfold_tests::elf;

/// Asserts that a function doubles.
fn check(path: &str) -> String {
    format!("assert_eq!({path}(&[1.0, 2.0, 3.0, 4.0]), [2.0, 4.0, 6.0, 8.0]);")
}

#[test]
fn every_target_of_a_package_links() {
    let package = Package::new(
        "e2e-targets",
        &format!(
            "//! A library.\n//! ```\n//! use tenfold::prelude::*;\n//! #[tensor_fn]\n\
             //! fn documented(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{ x * 2.0 }}\n//! {}\n//! ```\n\
             use tenfold::prelude::*;\n{}\n#[cfg(test)]\nmod tests {{\n    use super::*;\n    {}\n    \
             #[test]\n    fn works() {{ {} {} }}\n}}\n",
            check("documented"),
            doubles("in_library"),
            doubles("in_unit_test"),
            check("in_library"),
            check("in_unit_test")
        ),
    );
    let program = |name: &str| {
        format!(
            "use tenfold::prelude::*;\n{}\n{}\nfn main() {{ {} {} }}\n",
            doubles(name),
            // the same text in every binary and in the library
            doubles("in_library"),
            check(name),
            check("in_library")
        )
    };
    package.write("src/main.rs", &program("in_main"));
    package.write("src/bin/other.rs", &program("in_other"));
    package.write("examples/shown.rs", &program("in_example"));
    package.write(
        "tests/it.rs",
        &format!(
            "use tenfold::prelude::*;\n{}\n#[test]\nfn works() {{ {} {} }}\n",
            doubles("in_test"),
            check("in_test"),
            check("e2e_targets::in_library")
        ),
    );
    package.cargo(&["test", "--all-targets"]).ok();
    package.cargo(&["test", "--doc"]).ok();
    package.cargo(&["run", "--bin", "e2e-targets"]).ok();
    package.cargo(&["run", "--bin", "other"]).ok();
    package.cargo(&["run", "--example", "shown"]).ok();
}

/// The same numbers in a section that the program names, and where they lie without that.
#[test]
fn weights_lie_where_the_function_says() {
    let function = |name: &str, argument: &str| {
        format!(
            "/// Adds.\n#[tensor_fn{argument}]\npub fn {name}(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n    \
             const W: Tensor<f32, 4> = [1.25, 2.5, 3.75, 5.0];\n    x + W\n}}\n"
        )
    };
    let check = |name: &str| format!("assert_eq!({name}(&[1.0; 4]), [2.25, 3.5, 4.75, 6.0]);");
    let package = Package::new("e2e-section", "");
    let (placed, plain) = (function("placed", "(weights(section = \".qspi\"))"), function("plain", ""));
    let program =
        format!("use tenfold::prelude::*;\n{placed}{plain}fn main() {{ {} {} }}\n", check("placed"), check("plain"));
    package.write("src/main.rs", &program);
    let weights: Vec<u8> = [1.25f32, 2.5, 3.75, 5.0].iter().flat_map(|w| w.to_le_bytes()).collect();
    let lie_there = |profile: &str| {
        if !cfg!(all(target_os = "linux", target_pointer_width = "64")) {
            return;
        }
        let program = std::fs::read(package.program()).expect("the program");
        let sections = elf::sections(&program).expect("an ELF file");
        let (_, bytes) = sections.iter().find(|(name, _)| name == ".qspi").expect("the section is there");
        assert_eq!(bytes, &weights, "{profile}");
        let (_, others) = sections.iter().find(|(name, _)| name == ".rodata").expect("the usual section");
        assert!(others.windows(weights.len()).any(|part| part == weights), "{profile}");
    };
    package.cargo(&["run"]).ok();
    lie_there("debug");
    package.release("run", &[]).ok();
    lie_there("release");
}

/// A program that calls a function of its library and one of its own.
fn program(name: &str) -> Package {
    let library = format!("//! A library.\nuse tenfold::prelude::*;\n{}", doubles("of_library"));
    let package = Package::new(name, &library);
    let krate = name.replace('-', "_");
    package.write(
        "src/main.rs",
        &format!(
            "use tenfold::prelude::*;\n{}\nfn main() {{ {} {} }}\n",
            doubles("of_program"),
            check("of_program"),
            check(&format!("{krate}::of_library"))
        ),
    );
    package
}

#[test]
fn profiles() {
    let package = program("e2e-profiles");
    package.cargo(&["run"]).ok();
    package.release("run", &[]).ok();
    package.release("run", &["--config", "profile.dev.panic=\"abort\""]).ok();
}

#[test]
fn two_versions_of_a_crate_and_its_namesake() {
    let directory = |part: &str| {
        let base = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
        base.join("e2e/e2e-versions").join(part)
    };
    for (part, name, version, factor) in [
        ("one", "e2e-kernels", "1.0.0", "2.0"),
        ("two", "e2e-kernels", "2.0.0", "3.0"),
        ("three", "e2e-other-kernels", "1.0.0", "4.0"),
    ] {
        let package = Package::at(&directory(part), name);
        let text = manifest(name, "2021").replace("0.1.0\"\nedition", &format!("{version}\"\nedition"));
        package.write("Cargo.toml", &text);
        package.write("build.rs", BUILD_SCRIPT);
        let library = format!("//! Kernels.\nuse tenfold::prelude::*;\n{}", doubles("scale").replace("2.0", factor));
        package.write("src/lib.rs", &library);
    }
    let package = Package::at(&directory("app"), "e2e-versions");
    let dependencies = "[dependencies]\n\
        one = { path = \"../one\", package = \"e2e-kernels\" }\n\
        two = { path = \"../two\", package = \"e2e-kernels\" }\n\
        three = { path = \"../three\", package = \"e2e-other-kernels\" }\n";
    let text = manifest("e2e-versions", "2021").replace("[dependencies]\n", dependencies);
    package.write("Cargo.toml", &text);
    package.write(
        "src/main.rs",
        "fn main() {\n    let x = [1.0, 2.0, 3.0, 4.0];\n    \
         assert_eq!(one::scale(&x), [2.0, 4.0, 6.0, 8.0]);\n    \
         assert_eq!(two::scale(&x), [3.0, 6.0, 9.0, 12.0]);\n    \
         assert_eq!(three::scale(&x), [4.0, 8.0, 12.0, 16.0]);\n}\n",
    );
    package.cargo(&["run"]).ok();
}

#[test]
fn every_lint_and_a_renamed_dependency() {
    let root = checkout();
    let root = root.display();
    for edition in ["2018", "2021", "2024"] {
        let name = format!("e2e-lints-{edition}");
        let package = Package::new(
            &name,
            "//! Strict.\n\
             #![forbid(unsafe_code)]\n\
             #![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, unused_qualifications, rust_2018_idioms)]\n\
             #![warn(clippy::pedantic, clippy::nursery)]\n\
             use tf::prelude::*;\n\
             /// Doubles.\n#[tf::tensor_fn(crate = tf)]\n\
             pub fn twice(x: Tensor<f32, 4>) -> Tensor<f32, 4> {\n    x * 2.0\n}\n\
             /// Adds.\n///\n/// # Errors\n///\n/// The lengths differ.\n#[tensor_fn(crate = tf)]\n\
             pub fn plus(x: Tensor<f32, N>, result: Tensor<f32, N>, r0: f32) -> Tensor<f32, N> {\n    x + result * r0\n}\n\
             /// Calls.\n///\n/// # Errors\n///\n/// Never.\n\
             pub fn calls() -> Result<f32, tf::Error> {\n    \
             let y = twice(&[1.0; 4]);\n    let z = plus(&y, &[1.0; 4][..], 2.0)?;\n    Ok(z.as_slice()[0])\n}\n\
             mod inner {\n    use tf::prelude::*;\n    #[tensor_fn(crate = tf)]\n    \
             pub(super) fn r#type(r#fn: Tensor<f32, 2>) -> Tensor<f32, 2> {\n        r#fn + 1.0\n    }\n}\n\
             /// Local.\n#[must_use]\npub fn local() -> f32 {\n    #[tensor_fn(crate = tf)]\n    \
             fn inside(x: Tensor<f32, 2>) -> Tensor<f32, 2> {\n        x - 1.0\n    }\n    \
             inside(&inner::r#type(&[1.0, 2.0])).as_slice()[0]\n}\n",
        );
        package.write(
            "Cargo.toml",
            &manifest(&name, edition).replace(
                &format!("tenfold = {{ path = \"{root}/runtime\""),
                &format!("tf = {{ package = \"tenfold\", path = \"{root}/runtime\""),
            ),
        );
        package.cargo(&["build"]).ok();
        let clippy = package.cargo(&["clippy"]).ok();
        // the checkout's own warnings are another test's
        assert!(!clippy.stderr.contains("--> src/"), "{edition}\n{}", clippy.stderr);
    }
}
