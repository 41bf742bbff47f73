//! Variants in a release: which there are, which one runs, that each computes the same, and what its code is made of.

use crate::package::{Outcome, Package, doubles};
use std::process::Command;
use tenfold_tests::tools;

/// A function of each kind that schedules tell apart. Constants are there once for all variants.
const LIBRARY: &str = r#"//! Functions.
use tenfold::prelude::*;

/// Rows against constant panels, and what follows element by element.
#[tensor_fn(dims(B <= 64))]
pub fn dense(x: Tensor<f32, B, 32>) -> Tensor<f32, B, 200> {
    const W: Tensor<f32, 32, 200> = npy!("w.npy");
    relu(matmul(x, W) + 0.5)
}

/// A window over channels, one over each channel alone, then a pool.
#[tensor_fn]
pub fn image(x: Tensor<f32, 1, 8, 14, 14>) -> Tensor<f32, 1, 48, 6, 6> {
    const K: Tensor<f32, 48, 8, 3, 3> = npy!("k.npy");
    const D: Tensor<f32, 48, 1, 3, 3> = npy!("d.npy");
    let y = relu(conv(conv(x, K), D, pads = [1, 1, 1, 1], group = 48));
    max_pool(y, kernel_shape = [2, 2], strides = [2, 2])
}

/// Rows, and another order of axes.
#[tensor_fn(dims(N <= 64))]
pub fn rows(x: Tensor<f32, N, 37>) -> Tensor<f32, 37, N> {
    transpose(softmax(tanh(x), axis = 1), axes = [1, 0])
}

/// The same bits everywhere, also where a fused multiplication would round once.
#[tensor_fn(numerics = "strict")]
pub fn strict(x: Tensor<f32, 64>) -> Tensor<f32, 64> {
    x * x + x
}
"#;

/// Calls every function with every variant that the machine runs.
const PROGRAM: &str = r#"//! Prints the variants of a function and which of them ran and were right.
use e2e_variants::{dense, image, rows, strict};
use tenfold::{Cpu, DeviceTensor, Dyn, Error, Fixed, Tensor, variants, view};

fn wave(count: usize, step: f64) -> Vec<f32> {
    (0..count).map(|n| (n as f64 * step).sin() as f32).collect()
}

fn near(name: &str, found: &[f32], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len(), "{name}");
    for (n, (a, b)) in found.iter().zip(wanted).enumerate() {
        assert!((f64::from(*a) - b).abs() <= 2e-5 * b.abs().max(1.0), "{name} {n}: {a} and {b}");
    }
}

fn check_dense(count: usize) {
    let (x, w) = (wave(count * 32, 0.37), wave(32 * 200, 0.11));
    let term = |i: usize, j: usize, k: usize| f64::from(x[i * 32 + k]) * f64::from(w[k * 200 + j]);
    let sum = |i: usize, j: usize| -> f64 { (0..32).map(|k| term(i, j, k)).sum() };
    let wanted: Vec<f64> = (0..count * 200).map(|n| (sum(n / 200, n % 200) + 0.5).max(0.0)).collect();
    near("dense", dense(&view(&x, [count, 32]).unwrap()).unwrap().as_slice(), &wanted);
}

fn check_rows(count: usize) {
    let x = wave(count * 37, 0.71);
    let e: Vec<f64> = x.iter().map(|x| f64::from(*x).tanh().exp()).collect();
    let total = |i: usize| -> f64 { e[i * 37..][..37].iter().sum() };
    let wanted: Vec<f64> = (0..37 * count).map(|n| e[n % count * 37 + n / count] / total(n % count)).collect();
    near("rows", rows(&view(&x, [count, 37]).unwrap()).unwrap().as_slice(), &wanted);
}

fn check_image() {
    let (x, k, d) = (wave(8 * 196, 0.13), wave(48 * 72, 0.29), wave(48 * 9, 0.53));
    let f = f64::from;
    let first = |c: usize, y: usize, z: usize| -> f64 {
        let term = |n: usize| f(x[n / 9 * 196 + (y + n % 9 / 3) * 14 + z + n % 3]) * f(k[c * 72 + n]);
        (0..72).map(term).sum()
    };
    let inner: Vec<f64> = (0..48 * 144).map(|n| first(n / 144, n % 144 / 12, n % 12)).collect();
    let second = |c: usize, y: usize, z: usize| -> f64 {
        let term = |n: usize| {
            let (y, z) = ((y + n / 3).wrapping_sub(1), (z + n % 3).wrapping_sub(1));
            if y < 12 && z < 12 { inner[c * 144 + y * 12 + z] * f(d[c * 9 + n]) } else { 0.0 }
        };
        (0..9).map(term).sum::<f64>().max(0.0)
    };
    let pooled = |n: usize| {
        let (c, y, z) = (n / 36, n % 36 / 6 * 2, n % 6 * 2);
        (0..4).map(|n| second(c, y + n / 2, z + n % 2)).fold(0.0, f64::max)
    };
    let wanted: Vec<f64> = (0..48 * 36).map(pooled).collect();
    let mut input = Tensor::<f32, (Fixed<1>, Fixed<8>, Fixed<14>, Fixed<14>)>::zeros([1, 8, 14, 14]).unwrap();
    input.as_mut_slice().copy_from_slice(&x);
    near("image", image(&input).as_slice(), &wanted);
}

/// The same bits for every number of threads, so large that loops are split.
fn bits() -> Vec<u32> {
    let x = wave(64 * 32, 0.37);
    dense(&view(&x, [64, 32]).unwrap()).unwrap().as_slice().iter().map(|y| y.to_bits()).collect()
}

/// The bits of `dense` on the device with a variant.
fn bits_on(name: &str) -> Result<Vec<u32>, Error> {
    let mut x = Tensor::<f32, (Dyn, Fixed<32>)>::zeros([64, 32])?;
    x.as_mut_slice().copy_from_slice(&wave(64 * 32, 0.37));
    let x = DeviceTensor::upload(&Cpu, x.view())?;
    let mut y = DeviceTensor::upload(&Cpu, Tensor::<f32, (Dyn, Fixed<200>)>::zeros([64, 200])?.view())?;
    dense::on(&Cpu).variant(name)?.call(&x, &mut y)?;
    Ok(y.download(&Cpu)?.as_slice().iter().map(|y| y.to_bits()).collect())
}

/// What is asked for is what runs: with fused multiplications a sum rounds otherwise.
fn chosen() {
    let baseline = variants::force("baseline", bits).unwrap();
    assert_eq!(bits_on("baseline").unwrap(), baseline);
    if let Ok(third) = variants::force("x86-64-v3", bits) {
        assert_ne!(third, baseline);
        assert_eq!(bits_on("x86-64-v3").unwrap(), third);
        assert_eq!(variants::force("baseline", || bits_on("x86-64-v3")).unwrap().unwrap(), third);
    }
    assert!(matches!(bits_on("x86-64-v9"), Err(Error::NoVariant)));
}

fn all() {
    [1, 7, 64].into_iter().for_each(check_dense);
    [1, 5, 64].into_iter().for_each(check_rows);
    check_image();
    let x: [f32; 64] = wave(64, 0.2).try_into().unwrap();
    let plain: Vec<f32> = x.iter().map(|x| x * x + x).collect();
    assert_eq!(strict(&x).as_slice(), plain);
    assert_eq!(tenfold::threads::limit(1, bits), bits());
}

fn main() {
    let names: Vec<&str> = dense::variants().iter().map(|variant| variant.name).collect();
    println!("variants {}", names.join(" "));
    println!("takes {}", variants::current());
    for variant in dense::variants() {
        match variants::force(variant.name, || (all(), variants::current()).1) {
            Ok(took) => println!("ran {took}"),
            Err(Error::UnsupportedVariant { variant, .. }) => println!("cannot run {variant}"),
            Err(error) => panic!("{error}"),
        }
    }
    chosen();
    println!("done");
}
"#;

/// An array of NumPy's with the sines of multiples of a step.
pub(crate) fn npy(shape: &str, count: usize, step: f64) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend((0..count).flat_map(|n| ((n as f64 * step).sin() as f32).to_le_bytes()));
    bytes
}

fn package() -> Package {
    let package = Package::new("e2e-variants", LIBRARY);
    package.write("src/main.rs", PROGRAM);
    let arrays = [
        ("w.npy", npy("32, 200", 32 * 200, 0.11)),
        ("k.npy", npy("48, 8, 3, 3", 48 * 72, 0.29)),
        ("d.npy", npy("48, 1, 3, 3", 48 * 9, 0.53)),
    ];
    for (name, bytes) in arrays {
        std::fs::write(package.directory.join(name), bytes).expect("the array can be written");
    }
    package
}

/// What the program says with a variable set, and what it complains about.
fn run(package: &Package, variant: &str) -> Outcome {
    let output = Command::new(package.program()).env("TENFOLD_VARIANT", variant).output();
    let output = output.expect("the program starts");
    Outcome {
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The disassembly of each object of an archive, by the end of the object's name.
fn disassembled(archive: &std::path::Path) -> Option<Vec<(String, String)>> {
    let tool = ["objdump", "llvm-objdump"].into_iter().find(|tool| tools::has(tool))?;
    let output = Command::new(tool).arg("-d").arg(archive).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut all: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.split_once("file format"), all.last_mut()) {
            (Some((name, _)), _) => all.push((name.trim_end_matches([' ', ':', ')', '\t']).into(), String::new())),
            (None, Some((_, code))) => *code += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    Some(all)
}

const LEVELS: [&str; 3] = ["x86-64-v4", "x86-64-v3", "x86-64-v2"];

#[test]
fn a_release_has_all_levels_and_each_is_right() {
    if !cfg!(target_arch = "x86_64") || std::env::var_os("TENFOLD_LLVM").is_some_and(|value| value == "none") {
        println!("skipped: no LLVM, or no levels of this family");
        return;
    }
    let package = package();
    package.release("build", &[]).ok();
    let outcome = run(&package, "").ok();
    let said: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(said[0], "variants x86-64-v4 x86-64-v3 x86-64-v2 baseline", "{}", outcome.stdout);
    let ran = said.iter().filter(|line| line.starts_with("ran ")).count();
    let cannot = said.iter().filter(|line| line.starts_with("cannot run ")).count();
    assert!(said.contains(&"ran baseline") && ran + cannot == 4, "{}", outcome.stdout);
    // A level that only products of bytes or of `bf16` have is the one below for others.
    let (takes, ran) = (said[1].trim_start_matches("takes "), said[2 + cannot].trim_start_matches("ran "));
    assert_eq!(
        (takes.trim_end_matches("-amx").trim_end_matches("-bf16").trim_end_matches("-vnni"), outcome.stderr.as_str()),
        (ran, "")
    );

    // The variable caps what a program takes; what it cannot be is told once, and then it is as if it were not set.
    let capped = run(&package, "baseline").ok();
    assert!(capped.stdout.contains("takes baseline"), "{}", capped.stdout);
    let wrong = run(&package, "fastest").ok();
    let text = "tenfold: `TENFOLD_VARIANT` takes `baseline`, `x86-64-v2`, `x86-64-v3`, `x86-64-v4`, \
        `x86-64-v4-vnni`, `x86-64-v4-bf16`, `x86-64-v4-amx`, not `fastest`; ";
    assert!(wrong.stderr.starts_with(text) && wrong.stderr.lines().count() == 1, "{}", wrong.stderr);
    assert!(wrong.stdout.contains(said[1]), "{}", wrong.stdout);

    registers(&package);
}

/// Each function's archive has an object per variant, whose code has the level's registers and no wider ones.
fn registers(package: &Package) {
    let archives = package.archives();
    let directory = package.out_dir().join("tenfold");
    let mut seen = 0;
    for name in archives.keys().filter(|name| !name.starts_with("libtenfold_w_")) {
        let Some(objects) = disassembled(&directory.join(name)) else {
            return tools::skip("objdump", "`apt-get install binutils` installs it");
        };
        assert_eq!(objects.len(), 4, "{name}");
        for (object, code) in &objects {
            let level = LEVELS.iter().find(|level| object.contains(*level));
            let [ymm, zmm] = ["%ymm", "%zmm"].map(|register| code.contains(register));
            let wanted = match level {
                Some(&"x86-64-v4") => zmm,
                Some(&"x86-64-v3") => ymm && !zmm,
                _ => !ymm && !zmm && code.contains("%xmm"),
            };
            assert!(wanted, "{object}: ymm {ymm}, zmm {zmm}");
            seen += usize::from(level.is_some());
        }
    }
    assert_eq!(seen, 12, "four functions of three levels");
    let weights: usize =
        archives.iter().filter(|(name, _)| name.starts_with("libtenfold_w_")).map(|(_, b)| b.len()).sum();
    let elements = 32 * 208 + 48 * 72 + 48 * 9;
    assert!((elements * 4..elements * 5).contains(&weights), "constants are there once: {weights} bytes");
}

#[test]
fn a_build_that_does_not_optimise_has_one_code_unless_it_is_asked_for_more() {
    let library = format!("//! One.\nuse tenfold::prelude::*;\n{}", doubles("twice"));
    let package = Package::new("e2e-variants-debug", &library);
    let program =
        "fn main() {\n    e2e_variants_debug::twice::variants().iter().for_each(|v| println!(\"{}\", v.name));\n}\n";
    package.write("src/main.rs", program);
    package.cargo(&["build"]).ok();
    assert_eq!(run(&package, "").ok().stdout, "baseline\n");
    package.write("build.rs", "fn main() {\n    tenfold_build::Build::new().variants(\"x86-64-v3\").compile();\n}\n");
    package.cargo(&["build"]).ok();
    let llvm = std::env::var_os("TENFOLD_LLVM").is_none_or(|value| value != "none");
    let both = if cfg!(target_arch = "x86_64") && llvm { "x86-64-v3\nbaseline\n" } else { "baseline\n" };
    assert_eq!(run(&package, "").ok().stdout, both);
    let package = package.env("TENFOLD_VARIANTS", "v3");
    let outcome = package.cargo(&["build"]).err();
    let error = "[T0809] `TENFOLD_VARIANTS=v3`: there is no variant `v3`";
    assert_eq!(outcome.errors(error), 1, "{}", outcome.stderr);
}
