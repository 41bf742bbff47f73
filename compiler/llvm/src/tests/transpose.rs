//! Loops that go from rows to columns, in registers.

use tenfold_core::{CodegenOptions, Stage, Target};
use tenfold_ir::Module;

use super::llvm;
use crate::{backend, machine::Machine};

/// `y[i, ..] = x[.., i]`, so many columns of so many elements at a time, of one dtype.
fn module(dtype: &str, (turns, lanes): (u32, u32), (read, written): (&str, &str), stride: &str) -> Module {
    let text = format!(
        "entry @f\nsource \"transpose\"\nprim @f(in x: {dtype}[4096], n: index, out y: {dtype}[4096]) phase target exported at 0:0 {{\n\
         fact n >= 0\nfact n <= 40\n\
         for i in 0 +: {turns} serial {{\ny[ramp({written}, 1, {lanes})] = x[ramp({read}, {stride}, {lanes})]\n}}\n}}\n"
    );
    tenfold_ir::parse_module(&text, &[]).unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

fn wide() -> Target {
    Target::from_triple("x86_64-unknown-linux-gnu", &["avx512f", "avx512bw", "avx2", "avx", "fma"])
}

/// Whether a module reads its rows 16 bytes at a time, which LLVM has as this type; nothing without LLVM.
fn reads_rows(module: &Module, target: &Target, row: &str) -> Option<bool> {
    let machine = Machine::of(target).expect("the target is in the table");
    let options = CodegenOptions { texts: vec![Stage::Llvm], ..CodegenOptions::default() };
    let artefact = backend::build(llvm()?, &machine, module, target, &options);
    let text = artefact.unwrap_or_else(|error| panic!("{error}")).texts[&Stage::Llvm].clone();
    Some(text.contains(&format!("load {row}")) && text.contains("shufflevector"))
}

#[test]
fn columns_are_made_of_rows_of_every_size() {
    let size = ("i", "mul(i, 64)");
    for (dtype, turns, lanes, row) in [
        ("f32", 16, 16, "<4 x float>"),
        ("f32", 4, 4, "<4 x float>"),
        ("f64", 2, 8, "<2 x double>"),
        ("i16", 8, 32, "<8 x i16>"),
        ("u8", 16, 16, "<16 x i8>"),
        ("u8", 32, 64, "<16 x i8>"),
    ] {
        let Some(is) = reads_rows(&module(dtype, (turns, lanes), size, "64"), &wide(), row) else { return };
        assert!(is, "{dtype}, {turns} turns of {lanes}");
    }
    let unknown = module("f32", (8, 8), ("add(i, 3)", "mul(i, 40)"), "n");
    assert_eq!(reads_rows(&unknown, &wide(), "<4 x float>"), Some(true), "rows that are apart by what is passed");
    let neon = Target::from_triple("aarch64-unknown-linux-gnu", &[]);
    assert_eq!(reads_rows(&module("f32", (8, 8), size, "64"), &neon, "<4 x float>"), Some(true), "another processor");
}

#[test]
fn other_loops_stay_as_they_are() {
    let Some(_) = llvm() else { return };
    let not = |module: Module, target: &Target, what: &str| {
        assert_eq!(reads_rows(&module, target, "<4 x float>"), Some(false), "{what}");
    };
    let size = ("i", "mul(i, 64)");
    not(module("f32", (6, 8), size, "64"), &wide(), "turns that are no multiple of 16 bytes");
    not(module("f32", (8, 6), size, "64"), &wide(), "lanes that are none");
    not(module("f32", (8, 12), size, "64"), &wide(), "three parts");
    not(module("f32", (8, 8), ("mul(i, 2)", "mul(i, 64)"), "64"), &wide(), "turns that read no neighbours");
    not(module("f32", (8, 8), size, "add(i, 64)"), &wide(), "rows that are not equally far apart");
    let riscv = Target::from_triple("riscv64gc-unknown-linux-gnu", &["v"]);
    not(module("f32", (8, 8), size, "64"), &riscv, "vectors of no fixed length");
}
