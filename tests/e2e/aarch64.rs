//! One release for AArch64: each processor, simulated, takes the code that it has instructions for, and every code gives
//! what plain loops give.

use crate::package::Package;
use std::process::Command;
use tenfold_tests::tools;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const SETUP: &str = "run tests/aarch64.sh";

/// Products of bytes of each kind, whose sums are exact, and one of floats.
const LIBRARY: &str = r#"//! Functions.
use tenfold::prelude::*;

/// Bytes without signs by bytes with signs.
#[tensor_fn]
pub fn mixed(x: Tensor<u8, 5, 64>) -> Tensor<i32, 5, 40> {
    const W: Tensor<i8, 64, 40> = npy!("w.npy");
    matmul(x as i32, W as i32)
}

/// Bytes with signs.
#[tensor_fn]
pub fn signed(x: Tensor<i8, 5, 64>) -> Tensor<i32, 5, 40> {
    const W: Tensor<i8, 64, 40> = npy!("w.npy");
    matmul(x as i32, W as i32)
}

/// Floats.
#[tensor_fn]
pub fn floats(x: Tensor<f32, 64>) -> f32 {
    sum(x * x)
}
"#;

const PROGRAM: &str = r#"//! Prints the variants of the functions and which of them ran and were right.
use e2e_aarch64::{floats, mixed, signed};
use tenfold::{Error, Variant, variants};

fn byte(n: usize) -> i32 {
    (n * 37 % 256) as i32 - 128
}

fn products(x: impl Fn(usize) -> i32) -> Vec<i32> {
    let sum = |i: usize, j: usize| (0..64).map(|k| x(i * 64 + k) * byte(k * 40 + j)).sum();
    (0..5 * 40).map(|n| sum(n / 40, n % 40)).collect()
}

fn check() {
    let bytes: [[u8; 64]; 5] = std::array::from_fn(|i| std::array::from_fn(|k| (i * 64 + k) as u8));
    assert_eq!(mixed(&bytes).as_slice(), products(|n| n as u8 as i32));
    let bytes: [[i8; 64]; 5] = std::array::from_fn(|i| std::array::from_fn(|k| (i * 64 + k) as i8));
    assert_eq!(signed(&bytes).as_slice(), products(|n| n as i8 as i32));
    assert_eq!(floats(&[0.5; 64]), 16.0);
}

fn main() {
    let names = |all: &[Variant]| all.iter().map(|variant| variant.name).collect::<Vec<_>>().join(" ");
    println!("mixed {}", names(&mixed::variants()));
    println!("signed {}", names(&signed::variants()));
    println!("floats {}", names(&floats::variants()));
    println!("takes {}", variants::current());
    check();
    for variant in mixed::variants() {
        match variants::force(variant.name, || (check(), variants::current()).1) {
            Ok(took) => println!("ran {took}"),
            Err(Error::UnsupportedVariant { variant, feature }) => println!("cannot run {variant}: {feature}"),
            Err(error) => panic!("{error}"),
        }
    }
}
"#;

/// The bytes of `w.npy`, as the program's `byte` has them.
fn weights() -> Vec<u8> {
    let header = "{'descr': '|i1', 'fortran_order': False, 'shape': (64, 40), }";
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend((0..64 * 40).map(|n| (n * 37 % 256 - 128) as i8 as u8));
    bytes
}

/// Whether rustc has the standard library of the target.
fn has_std() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
    let folder = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    folder.is_ok_and(|folder| std::path::Path::new(&folder).is_dir())
}

#[test]
fn each_processor_takes_its_own() {
    if std::env::var_os("TENFOLD_LLVM").is_some_and(|value| value == "none") {
        return println!("skipped: through C there are no variants");
    }
    let tools = ["aarch64-linux-gnu-gcc", "qemu-aarch64"];
    if let Some(tool) = tools.into_iter().find(|tool| !tools::has(tool)) {
        return tools::skip(tool, SETUP);
    }
    if !has_std() {
        return tools::skip("the standard library for AArch64", SETUP);
    }
    let package = Package::new("e2e-aarch64", LIBRARY);
    package.write("src/main.rs", PROGRAM);
    std::fs::write(package.directory.join("w.npy"), weights()).expect("the array can be written");
    let package = package.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
    package.release("build", &["--target", TARGET]).ok();
    let program = package.program_for(TARGET);
    // Processors before Armv8.2 have neither, the first with `dotprod` have no `i8mm`.
    let (dot, mixed) = ("aarch64-dotprod", "aarch64-i8mm");
    for (processor, takes) in [("cortex-a53", "baseline"), ("neoverse-n1", dot), ("max", mixed)] {
        let mut qemu = Command::new("qemu-aarch64");
        qemu.args(["-cpu", processor, "-L", "/usr/aarch64-linux-gnu"]).arg(&program).env_remove("TENFOLD_VARIANT");
        let output = qemu.output().expect("the simulator starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{processor}: {errors}");
        let lacks = |level: &str, feature: &str| format!("cannot run {level}: {feature}");
        let ran = |level: &str| format!("ran {level}");
        let of_all = match takes {
            "baseline" => [lacks(mixed, "dotprod"), lacks(dot, "dotprod")],
            name if name == dot => [lacks(mixed, "i8mm"), ran(dot)],
            _ => [ran(mixed), ran(dot)],
        };
        let said = [
            format!("mixed {mixed} {dot} baseline"),
            format!("signed {dot} baseline"),
            "floats baseline".to_string(),
            format!("takes {takes}"),
        ];
        let said = said.into_iter().chain(of_all).chain([ran("baseline")]).collect::<Vec<_>>();
        let found: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect();
        assert_eq!((found, &*errors), (said, ""), "{processor}");
    }
}
