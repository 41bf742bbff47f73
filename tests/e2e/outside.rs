//! Functions outside: what rustc says of wrong ones, where they link, and tables of patterns in a build script.

use crate::package::{Package, checkout, manifest};

const HEAD: &str = "//! Calls outside.\nuse tenfold::prelude::*;\n";

/// Functions that are not as they are called, one per line from the third on, with what rustc says of each.
const WRONG: [(&str, &str, &str); 8] = [
    ("pub fn a(_: &[f64], _: &mut [f32]) {}", "crate::a, x", "the function takes `&[f64]`"),
    ("pub fn b(_: &[f32]) {}", "crate::b, x", "this function takes 1 argument but 2 arguments were supplied"),
    ("pub fn c(_: &[f32], _: &mut [f32]) -> bool { true }", "self::c, x", "expected `()`, found `bool`"),
    ("pub fn d(_: &[f32], _: i32, _: &mut [f32]) {}", "d, x, 3", "expected `i32`, found `i64`"),
    ("pub fn e(_: &[f32; 4], _: &mut [f32]) {}", "crate::e, x", "the function takes `&[f32; 4]`"),
    ("pub fn f(_: &[f32], _: &[f32]) {}", "crate::f, x", "to be written, and the function takes `&[f32]`"),
    ("pub fn g(_: &'static [f32], _: &mut [f32]) {}", "crate::g, x", "borrow lasts for `'static`"),
    ("pub fn h(_: &[f32], _: &mut [f32]) {}", "crate::nobody, x", "cannot find function `nobody`"),
];

#[test]
fn a_wrong_signature_is_an_error_of_rustc_at_the_path() {
    let mut library = HEAD.to_string();
    for (function, call, _) in WRONG {
        let name = call.split([',', ':']).find(|part| !part.is_empty() && *part != "crate" && *part != "self");
        let name = format!("calls_{}", name.unwrap_or_default());
        library += &format!("{function}\n#[tensor_fn] pub fn {name}(x: Tensor<f32, N>) -> Tensor<f32, N> {{\n    ");
        library += &format!("extern_call!({call})\n}}\n");
    }
    let package = Package::new("e2e-outside-wrong", &library);
    let outcome = package.cargo(&["build"]).err();
    for (number, (_, call, text)) in WRONG.iter().enumerate() {
        assert!(outcome.stderr.contains(text), "`{text}` is not in\n{}", outcome.stderr);
        // the line of the call is shown, with the caret below the path
        let line = 5 + 4 * number;
        let shown = format!("{line} |     extern_call!({call})");
        let place = outcome.stderr.find(&shown).unwrap_or_else(|| panic!("`{shown}` is not in\n{}", outcome.stderr));
        let below = outcome.stderr[place..].lines().nth(1).unwrap_or_default();
        assert!(below.contains('^') || below.contains('-'), "nothing is underlined: {below}");
    }
}

/// Text of a library whose functions call outside, in any edition and under every lint.
fn calls(edition_2018: bool) -> String {
    let krate =
        if edition_2018 { "#![forbid(unsafe_code)]\n#![deny(warnings)]\n" } else { "#![forbid(unsafe_code)]\n" };
    format!(
        "{krate}{HEAD}mod inner {{\n    pub fn twice(x: &[f32], y: &mut [f32; 4]) {{\n        \
         for (y, x) in y.iter_mut().zip(x) {{ *y = 2.0 * x; }}\n    }}\n}}\n\
         /// Doubles.\n#[tensor_fn]\npub fn doubled(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n    \
         extern_call!(self::inner::twice, x)\n}}\n\
         /// Doubles twice.\n#[tensor_fn]\npub fn again(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n    \
         self::doubled(self::doubled(x))\n}}\n"
    )
}

#[test]
fn every_profile_and_target_links() {
    let package = Package::new("e2e-outside-links", &calls(false));
    // the same text in the library and in the program that links it, and a function's own items
    let program = format!(
        "{}fn main() {{\n    assert_eq!(again(&[1.0; 4]), [4.0; 4]);\n    \
         assert_eq!(e2e_outside_links::again(&[1.0; 4]), [4.0; 4]);\n    \
         fn half(x: &[f32], y: &mut [f32]) {{ for (y, x) in y.iter_mut().zip(x) {{ *y = x / 2.0; }} }}\n    \
         #[tensor_fn]\n    fn local(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{ extern_call!(half, x) }}\n    \
         assert_eq!(local(&[1.0; 4]), [0.5; 4]);\n}}\n",
        calls(false)
    );
    package.write("src/main.rs", &program);
    package.write("tests/it.rs", "#[test]\nfn it() { assert_eq!(e2e_outside_links::again(&[1.0; 4]), [4.0; 4]); }\n");
    package.cargo(&["run"]).ok();
    package.cargo(&["test"]).ok();
    package.release("run", &[]).ok();
}

#[test]
fn an_old_edition_that_forbids_unsafe_code() {
    let package = Package::new("e2e-outside-2018", &calls(true));
    package.write("Cargo.toml", &manifest("e2e-outside-2018", "2018"));
    package.write("src/main.rs", "fn main() { assert_eq!(e2e_outside_2018::again(&[1.0; 4]), [4.0; 4]); }\n");
    package.cargo(&["run"]).ok();
}

/// A library without the standard library and without a heap, and a program that counts allocations.
#[test]
fn without_a_heap() {
    let library = format!(
        "#![no_std]\n{HEAD}/// Adds one to each element.\npub fn bump(s: &mut [f32], by: f32) {{\n    \
         for s in s {{ *s += by; }}\n}}\n\
         /// Steps.\n#[tensor_fn]\npub fn step(x: Tensor<f32, N>, s: &mut Tensor<f32, N>) -> Tensor<f32, N> {{\n    \
         extern_call!(crate::bump, &mut s, 1.0);\n    x + s\n}}\n"
    );
    let package = Package::new("e2e-outside-bare", &library);
    let root = checkout();
    let root = root.display();
    let text = manifest("e2e-outside-bare", "2024").replace(
        &format!("tenfold = {{ path = \"{root}/runtime\", features = [\"std\"] }}"),
        &format!("tenfold = {{ path = \"{root}/runtime\", default-features = false }}"),
    );
    package.write("Cargo.toml", &text);
    package.write(
        "src/main.rs",
        "use std::alloc::{GlobalAlloc, Layout, System};\nuse std::sync::atomic::{AtomicUsize, Ordering};\n\
         struct Counts;\nstatic COUNT: AtomicUsize = AtomicUsize::new(0);\n\
         unsafe impl GlobalAlloc for Counts {\n    \
         unsafe fn alloc(&self, l: Layout) -> *mut u8 { COUNT.fetch_add(1, Ordering::SeqCst); unsafe { System.alloc(l) } }\n    \
         unsafe fn dealloc(&self, p: *mut u8, l: Layout) { unsafe { System.dealloc(p, l) } }\n}\n\
         #[global_allocator]\nstatic A: Counts = Counts;\n\
         fn main() {\n    let (mut s, mut y) = ([1.0f32, 2.0], [0.0f32; 2]);\n    \
         let mut ws = vec![std::mem::MaybeUninit::uninit(); 4096];\n    let before = COUNT.load(Ordering::SeqCst);\n    \
         e2e_outside_bare::step::into(&[10.0, 20.0], &mut s, &mut y, &mut ws[..]).unwrap();\n    \
         assert_eq!(COUNT.load(Ordering::SeqCst), before);\n    \
         assert_eq!((s, y), ([2.0, 3.0], [12.0, 23.0]));\n}\n",
    );
    package.cargo(&["run"]).ok();
}

const MLP: &str = "/// Counts its calls.\npub static CALLS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);\n\
    pub mod fast {\n    use tenfold::{Dyn, TensorRef};\n    \
    pub fn dense(x: TensorRef<'_, f32, (Dyn, Dyn)>, w: TensorRef<'_, f32, (Dyn, Dyn)>, b: &[f32], y: &mut [f32]) {\n        \
    crate::CALLS.fetch_add(1, std::sync::atomic::Ordering::SeqCst);\n        \
    let ([m, k], n) = (x.shape(), b.len());\n        \
    for i in 0..m { for j in 0..n {\n            \
    let sum: f32 = (0..k).map(|t| x[[i, t]] * w[[t, j]]).sum();\n            \
    y[i * n + j] = (sum + b[j]).max(0.0);\n        } }\n    }\n}\n\
    /// Two layers.\n#[tensor_fn]\n\
    pub fn mlp(x: Tensor<f32, M, 3>, a: Tensor<f32, 3, 2>, b: Tensor<f32, 2>, c: Tensor<f32, 2, 2>) -> Tensor<f32, M, 2> {\n    \
    let hidden = relu(matmul(x, a) + b);\n    relu(matmul(hidden, c) + b)\n}\n";

/// A table of the build script: with the back end's own kernels and with the crate's, the same numbers.
#[test]
fn a_pattern_of_the_build_script_goes_to_a_function_of_the_crate() {
    let package = Package::new("e2e-outside-pattern", &format!("{HEAD}{MLP}"));
    let script = |path: &str| {
        format!(
            "use tenfold_build::{{Build, ExternPattern, ir::relax::Linkage}};\nfn main() {{\n    \
             Build::new().extern_patterns(vec![ExternPattern {{\n        \
             pattern: \"relu(add(matmul(x, w):once, b):once)\".into(),\n        path: \"{path}\".into(),\n        \
             linkage: Linkage::Rust,\n        extents: false,\n        accepts: None,\n    }}]).compile();\n}}\n"
        )
    };
    let program = |calls: usize| {
        format!(
            "use e2e_outside_pattern::{{CALLS, mlp}};\nfn main() {{\n    \
             let y = mlp(&[[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], &[[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]], &[0.5, 0.25], \
             &[[1.0, 2.0], [3.0, 4.0]]).unwrap();\n    assert_eq!(y, [[5.0, 9.25], [3.5, 6.25]]);\n    \
             assert_eq!(CALLS.load(std::sync::atomic::Ordering::SeqCst), {calls});\n}}\n"
        )
    };
    package.write("src/main.rs", &program(0));
    package.cargo(&["run"]).ok();
    package.write("build.rs", &script("crate::fast::dense"));
    package.write("src/main.rs", &program(2));
    package.cargo(&["run"]).ok();
    package.write("build.rs", &script("crate::slow::dense"));
    let outcome = package.cargo(&["build"]).err();
    assert!(outcome.stderr.contains("error[E0433]"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("`slow`"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("pub fn mlp("), "it stands at the function\n{}", outcome.stderr);
}

/// The same with a function of C, which is told the extents.
#[test]
fn a_pattern_of_the_build_script_goes_to_a_function_of_c() {
    let package = Package::new("e2e-outside-c", &format!("{HEAD}{MLP}"));
    package.write("outside.c", include_str!("../programs/csrc/outside.c"));
    package.write(
        "build.rs",
        "use std::process::Command;\nuse tenfold_build::{Build, ExternPattern, ir::relax::Linkage};\n\
         fn main() {\n    Build::new().extern_patterns(vec![ExternPattern {\n        \
         pattern: \"relu(add(matmul(x, w):once, b):once)\".into(),\n        path: \"outside_dense\".into(),\n        \
         linkage: Linkage::C,\n        extents: true,\n        \
         accepts: Some(|types, _| types.iter().all(|ty| ty.dtype == tenfold_build::ir::DType::F32)),\n    \
         }]).compile();\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
         let run = |c: &mut Command| assert!(c.status().unwrap().success());\n    \
         run(Command::new(\"cc\").args([\"-c\", \"-fPIC\", \"outside.c\", \"-o\"]).arg(format!(\"{out}/outside.o\")));\n    \
         run(Command::new(\"ar\").arg(\"crs\").args([format!(\"{out}/liboutside.a\"), format!(\"{out}/outside.o\")]));\n    \
         println!(\"cargo::rustc-link-lib=static=outside\");\n    println!(\"cargo::rustc-link-search={out}\");\n}\n",
    );
    package.write(
        "src/main.rs",
        "fn main() {\n    let y = e2e_outside_c::mlp(&[[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], \
         &[[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]], &[0.5, 0.25], &[[1.0, 2.0], [3.0, 4.0]]).unwrap();\n    \
         assert_eq!(y, [[5.0, 9.25], [3.5, 6.25]]);\n}\n",
    );
    package.cargo(&["run"]).ok();
}
