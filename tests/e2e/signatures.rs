//! Every kind of parameter and result, through the attribute, the compiler and the call.

use crate::package::{Package, checkout, manifest};

#[test]
fn every_kind_of_parameter_and_result() {
    let package = Package::new("e2e-signatures", include_str!("signatures/lib.rs"));
    package.cargo(&["test", "--lib"]).ok();
}

#[test]
fn without_a_heap() {
    let package = Package::bare("e2e-no-heap");
    let root = checkout();
    let text = manifest("e2e-no-heap", "2021").replace(
        &format!("path = \"{}/runtime\", features = [\"std\"]", root.display()),
        &format!("path = \"{}/runtime\", default-features = false", root.display()),
    );
    package.write("Cargo.toml", &text);
    package.write("build.rs", crate::package::BUILD_SCRIPT);
    package.write(
        "src/lib.rs",
        "//! No heap.\n#![no_std]\n#![forbid(unsafe_code)]\n#![deny(warnings, missing_docs)]\nuse tenfold::prelude::*;\n\
         /// Doubles.\n#[tensor_fn]\npub fn twice(x: Tensor<f32, 4>) -> Tensor<f32, 4> {\n    x * 2.0\n}\n\
         /// Adds rows.\n#[tensor_fn(dims(B <= 8))]\npub fn rows(x: Tensor<f32, B, 4>) -> Tensor<f32, B> {\n    sum(x * x, axis = 1)\n}\n\
         /// Works.\npub fn works() -> Result<[f32; 2], tenfold::Error> {\n    \
         let mut y = [[0.0; 4]; 2];\n    twice::into(&[1.0, 2.0, 3.0, 4.0], &mut y[0], &mut twice::Workspace::new());\n    \
         let mut r = [0.0; 2];\n    rows::into(&y, &mut r, &mut rows::Workspace::new())?;\n    Ok(r)\n}\n\
         #[cfg(test)]\nmod tests {\n    #[test]\n    fn works() {\n        assert_eq!(super::works(), Ok([120.0, 0.0]));\n    }\n}\n",
    );
    package.cargo(&["test", "--lib"]).ok();
}
