//! The functions whose speed is measured, at sizes that interpreters take: the kernels are those that are measured, but for
//! numbers, and what they give is what their definition by f64 gives.

use tenfold_core::pass;
use tenfold_core::{Device, device_pipeline, program};
use tenfold_ir::Module;
use tenfold_ir::tir::FuncKind;
use tenfold_llvm::LlvmBackend;

use crate::case::Case;
use crate::functions::{FUNCTIONS, Function};
use crate::interpret::{self, Prepared};
use crate::small::{context, small};

/// What each kernel does: how many threads run it, and its instructions in their order but for those that compute with
/// integers, which are numbers and places.
fn instructions(module: &Module, device: Device, backend: &LlvmBackend) -> Vec<Vec<String>> {
    let told = |line: &str| {
        let line = line.trim_start();
        if line.starts_with(".reqntid") || line.starts_with(".minnctapersm") {
            return Some(line.to_string());
        }
        let line = if line.starts_with('@') { line.split_once(' ')?.1 } else { line };
        let opcode = line.split([' ', ';', '\t']).next()?;
        (opcode.starts_with(|c: char| c.is_ascii_lowercase()) && !is_of_places(opcode)).then(|| opcode.to_string())
    };
    let of = |text: &str| text.lines().filter_map(told).collect();
    let kernels = module.prims().filter(|func| func.kind == FuncKind::Device);
    kernels.map(|func| of(&program::kernel(module, func, device, backend).expect("PTX").1)).collect()
}

/// Whether an instruction computes with integers, moves a register or goes from the end of one block to another.
fn is_of_places(opcode: &str) -> bool {
    const NAMES: [&str; 17] = [
        "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "mov", "cvta", "cvt", "bfe", "setp", "selp",
        "prmt", "not",
    ];
    let (name, types) = opcode.split_once('.').unwrap_or((opcode, ""));
    opcode == "bra.uni" || (NAMES.contains(&name) && !["f32", "f16", "bf16"].iter().any(|float| types.contains(float)))
}

/// That what was scheduled gives what the definition does.
fn is_the_definition(function: &Function, case: &Case, found: &Prepared) {
    let inputs: Vec<Vec<f64>> = case.given.iter().map(|of| of.cells.iter().map(|x| x.to_f64()).collect()).collect();
    let result = found.expected.values().next_back().expect("a result");
    assert_eq!(result.len(), function.result(function.small), "{}", function.name);
    let width = function.width(function.small);
    let expected =
        (0..result.len() / width).flat_map(|row| (function.reference)(&inputs, function.small, row, 0..width));
    let found = result.iter().map(|cell| cell.expect("it is written").value.to_f64());
    let pairs: Vec<(f64, f64)> = found.zip(expected).collect();
    assert_eq!(pairs.len(), result.len(), "{}", function.name);
    let most = pairs.iter().fold(0.0_f64, |most, (_, expected)| most.max(expected.abs()));
    for (at, (found, expected)) in pairs.into_iter().enumerate() {
        let far = (found - expected).abs();
        assert!(far <= function.tolerance * most, "{}: {found} at {at}, and by f64 {expected}", function.name);
    }
}

/// The interpreter of tir runs the kernels as they were scheduled: tiles, orders in shared memory, copies on their way,
/// phases and races. Each function is taken for one of the chips, products of halves for that whose warpgroups have them;
/// `TENFOLD_ALL=1` takes both.
#[test]
fn measured_kernels_give_what_their_definition_does() {
    let (backend, all) = (crate::backend(), std::env::var_os("TENFOLD_ALL").is_some());
    for (n, function) in FUNCTIONS.iter().enumerate() {
        let own = crate::CHIPS[n % 2];
        for device in crate::CHIPS.into_iter().filter(|device| all || *device == own) {
            let case = small(function);
            let found = interpret::scheduled(case.clone(), &context(function, device, true));
            let found = found.unwrap_or_else(|why| panic!("{} for {device}: {why}", function.name));
            is_the_definition(function, &case, &found);
            let Some(backend) = &backend else { continue };
            let mut large = function.module(function.large);
            pass::run(&device_pipeline(), &mut large, &context(function, device, false)).expect("it is compiled");
            let [small, large] = [&found.module, &large].map(|module| instructions(module, device, backend));
            assert!(!large.is_empty() && large.iter().all(|kernel| kernel.len() > 8), "{large:#?}");
            assert!(small == large, "{} for {device}: {small:#?}\nand as it is measured {large:#?}", function.name);
        }
    }
}
