//! A build script that makes a library for programs in C.

use crate::package::{Package, doubles};

const BUILD_SCRIPT: &str = r#"//! Writes down where the library is.
fn main() {
    let made = tenfold_build::Build::new().system_lib();
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
    package.write("build.rs", BUILD_SCRIPT);
    package.cargo(&["check"]).ok();
    let header = || std::fs::read_to_string(package.directory.join("header.txt")).expect("the build script writes it");
    assert!(header().contains("int32_t e2e_system_double(const float *TENFOLD_RESTRICT x, "), "{}", header());
    // What C cannot have is a warning; the crate is built as ever.
    let twice = format!("mod inner {{\n    use tenfold::prelude::*;\n{}}}\n", doubles("double"));
    package.write("src/lib.rs", &format!("//! Functions.\nuse tenfold::prelude::*;\n\n{}\n{twice}", doubles("double")));
    package
        .cargo(&["check"])
        .ok()
        .says("there is no library for C: `crate::double` and `crate::inner::double` would both be");
    assert_eq!(header(), "");
}
