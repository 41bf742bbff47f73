//! `precision = "bf16"` from the attribute to results: every variant that the machine runs rounds factors and nothing else.

use crate::package::Package;
use crate::variants::npy;

/// A product with a constant, of rows that a call says and of so many that matrices pay, one without, and a convolution.
const LIBRARY: &str = r#"//! Functions.
use tenfold::prelude::*;

/// Rows and a constant, and what follows.
#[tensor_fn(precision = "bf16", dims(B <= 64))]
pub fn dense(x: Tensor<f32, B, 192>) -> Tensor<f32, B, 80> {
    const W: Tensor<f32, 192, 80> = npy!("w.npy");
    matmul(x, W) + 0.3
}

/// As many rows as registers that are matrices have.
#[tensor_fn(precision = "bf16")]
pub fn matrix(x: Tensor<f32, 32, 192>) -> Tensor<f32, 32, 80> {
    const W: Tensor<f32, 192, 80> = npy!("w.npy");
    matmul(x, W)
}

/// No operand is constant.
#[tensor_fn(precision = "bf16")]
pub fn product(x: Tensor<f32, 9, 192>, w: Tensor<f32, 192, 80>) -> Tensor<f32, 9, 80> {
    matmul(x, w)
}

/// Windows over as many channels as a vector has words.
#[tensor_fn(precision = "bf16")]
pub fn image(x: Tensor<f32, 1, 32, 9, 9>) -> Tensor<f32, 1, 48, 7, 7> {
    const K: Tensor<f32, 48, 32, 3, 3> = npy!("k.npy");
    conv(x, K)
}
"#;

/// Compares each function with sums in `f64`, by every variant.
const PROGRAM: &str = r#"//! Prints which variants there are and which ran and were right.
use e2e_precision::{dense, image, matrix, product};
use tenfold::{Error, Fixed, Tensor, variants, view};

fn wave(count: usize, step: f64) -> Vec<f32> {
    (0..count).map(|n| (n as f64 * step).sin() as f32).collect()
}

/// To the nearest `bf16`, of two the even one.
fn rounded(x: f32) -> f64 {
    let bits = x.to_bits();
    f64::from(f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000))
}

/// A result is the sum of the products of rounded factors but for what its own additions round, and no farther from that
/// of the factors themselves than `precision.md` says.
fn check(name: &str, found: f32, factors: &[(f32, f32)], bias: f64) {
    let sum = |of: &dyn Fn(f32, f32) -> f64| -> f64 { factors.iter().map(|(x, w)| of(*x, *w)).sum::<f64>() };
    let all = sum(&|x, w| (f64::from(x) * f64::from(w)).abs());
    let of_rounded = sum(&|x, w| rounded(x) * rounded(w));
    let exact = sum(&|x, w| f64::from(x) * f64::from(w));
    let additions = (factors.len() + 1) as f64 * f64::powi(2.0, -24) * (1.01 * all + bias.abs());
    let (off, off_exact) = (f64::from(found) - bias - of_rounded, f64::from(found) - bias - exact);
    assert!(off.abs() <= additions, "{name}: {found}, {of_rounded} of rounded factors");
    let stated = (f64::powi(2.0, -7) + f64::powi(2.0, -16)) * all;
    assert!(off_exact.abs() <= stated + additions, "{name}: {found}, exactly {exact}");
}

fn check_rows(name: &str, found: &[f32], (x, w): (&[f32], &[f32]), bias: f64) {
    assert_eq!(found.len(), x.len() / 192 * 80, "{name}");
    for (n, y) in found.iter().enumerate() {
        let factors: Vec<(f32, f32)> = (0..192).map(|k| (x[n / 80 * 192 + k], w[k * 80 + n % 80])).collect();
        check(name, *y, &factors, bias);
    }
}

fn check_image() {
    let (x, k) = (wave(32 * 81, 0.13), wave(48 * 288, 0.29));
    let mut input = Tensor::<f32, (Fixed<1>, Fixed<32>, Fixed<9>, Fixed<9>)>::zeros([1, 32, 9, 9]).unwrap();
    input.as_mut_slice().copy_from_slice(&x);
    for (n, y) in image(&input).as_slice().iter().enumerate() {
        let (channel, row, column) = (n / 49, n % 49 / 7, n % 7);
        let term = |t: usize| (x[t / 9 * 81 + (row + t % 9 / 3) * 9 + column + t % 3], k[channel * 288 + t]);
        check("image", *y, &(0..288).map(term).collect::<Vec<_>>(), 0.0);
    }
}

fn all() -> &'static str {
    let w = wave(192 * 80, 0.11);
    for rows in [1, 5, 37] {
        let x = wave(rows * 192, 0.37);
        check_rows("dense", dense(&view(&x, [rows, 192]).unwrap()).unwrap().as_slice(), (&x, &w), f64::from(0.3f32));
    }
    let x = wave(32 * 192, 0.37);
    let mut rows = Tensor::<f32, (Fixed<32>, Fixed<192>)>::zeros([32, 192]).unwrap();
    rows.as_mut_slice().copy_from_slice(&x);
    check_rows("matrix", matrix(&rows).as_slice(), (&x, &w), 0.0);
    let x = wave(9 * 192, 0.37);
    let mut rows = Tensor::<f32, (Fixed<9>, Fixed<192>)>::zeros([9, 192]).unwrap();
    rows.as_mut_slice().copy_from_slice(&x);
    let mut columns = Tensor::<f32, (Fixed<192>, Fixed<80>)>::zeros([192, 80]).unwrap();
    columns.as_mut_slice().copy_from_slice(&w);
    check_rows("product", product(&rows, &columns).as_slice(), (&x, &w), 0.0);
    check_image();
    variants::current()
}

fn main() {
    let names: Vec<&str> = matrix::variants().iter().map(|variant| variant.name).collect();
    println!("variants {}", names.join(" "));
    for name in names {
        match variants::force(name, all) {
            Ok(took) => println!("ran {took}"),
            Err(Error::UnsupportedVariant { variant, .. }) => println!("cannot run {variant}"),
            Err(error) => panic!("{error}"),
        }
    }
}
"#;

#[test]
fn every_variant_rounds_factors_and_nothing_else() {
    let package = Package::new("e2e-precision", LIBRARY);
    package.write("src/main.rs", PROGRAM);
    // A debug build has the baseline alone unless it is asked for more.
    package.write("build.rs", "fn main() {\n    tenfold_build::Build::new().variants(\"all\").compile();\n}\n");
    for (name, bytes) in [("w.npy", npy("192, 80", 192 * 80, 0.11)), ("k.npy", npy("48, 32, 3, 3", 48 * 288, 0.29))] {
        std::fs::write(package.directory.join(name), bytes).expect("the array can be written");
    }
    let outcome = package.cargo(&["run"]).ok();
    let said: Vec<&str> = outcome.stdout.lines().collect();
    let [names, ran @ ..] = &said[..] else { panic!("{}", outcome.stdout) };
    let wanted = "variants x86-64-v4-amx x86-64-v4-bf16 x86-64-v4 x86-64-v3 x86-64-v2 baseline";
    if cfg!(target_arch = "x86_64") && std::env::var_os("TENFOLD_LLVM").is_none_or(|value| value != "none") {
        assert_eq!(*names, wanted);
    }
    assert!(ran.contains(&"ran baseline"), "{}", outcome.stdout);
    assert_eq!(ran.len() + 1, names.split(' ').count(), "{}", outcome.stdout);
}
