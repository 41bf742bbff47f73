//! A build script that makes a library for programs in C.

use crate::package::{Package, doubles};

const BUILD_SCRIPT: &str = r#"//! Writes down where the library is.
fn main() {
    let made = tenfold_build::Build::new().target("TARGET").system_lib();
    let text = made.map(|library| {
        assert!(library.archive.ends_with("libe2e_system.a") && library.archive.is_file());
        std::fs::read_to_string(library.header).expect("the header can be read")
    });
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets this");
    std::fs::write(format!("{folder}/header.txt"), text.unwrap_or_default()).expect("the folder can be written to");
}
"#;

#[test]
fn beside_the_functions_of_the_crate() {
    let package =
        Package::new("e2e-system", &format!("//! Functions.\nuse tenfold::prelude::*;\n\n{}", doubles("double")));
    let is_off = std::env::var("TENFOLD_LLVM").is_ok_and(|choice| choice == "none");
    let (target, named) =
        if is_off { ("c", "") } else { ("st/nucleo-l4r5zi", "thumbv7em-none-eabihf -mcpu=cortex-m4") };
    package.write("build.rs", &BUILD_SCRIPT.replace("TARGET", target));
    // The crate itself is compiled for this machine.
    package.cargo(&["check"]).ok();
    let header = || std::fs::read_to_string(package.directory.join("header.txt")).expect("the build script writes it");
    assert!(header().contains("int32_t e2e_system_double(const float *TENFOLD_RESTRICT x, "), "{}", header());
    assert!(header().starts_with(&format!("/* e2e_system 0.1.0 for {named}")), "{}", header());
    // What C cannot have is a warning; the crate is built as ever.
    let twice = format!("mod inner {{\n    use tenfold::prelude::*;\n{}}}\n", doubles("double"));
    package.write("src/lib.rs", &format!("//! Functions.\nuse tenfold::prelude::*;\n\n{}\n{twice}", doubles("double")));
    package
        .cargo(&["check"])
        .ok()
        .says("there is no library for C: `crate::double` and `crate::inner::double` would both be");
    assert_eq!(header(), "");
    package.write("build.rs", &BUILD_SCRIPT.replace("TARGET", "llvm -mcpu=cortex-m44"));
    let text = "`double` was not compiled: `target(\"llvm -mcpu=cortex-m44\")` in the build script: there is no processor \
                `cortex-m44`; a similar name is `cortex-m4`";
    package.cargo(&["check"]).err().says(text);
}
