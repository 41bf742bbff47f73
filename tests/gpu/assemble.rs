//! What ptxas says of the kernels of functions.

use tenfold_core::{Device, device_pipeline, kernel, pass, program};
use tenfold_ir::Module;
use tenfold_ir::tir::{FuncKind, PrimFunc, Scope};
use tenfold_llvm::LlvmBackend;
use tenfold_tests::ptxas;

use crate::functions;

/// How many elements an array of one thread may have, so that it is kept in registers.
const IN_REGISTERS: u32 = 16;

/// What was assembled, and what is wrong with it.
#[derive(Debug, Default)]
struct Told {
    kernels: usize,
    /// Kernels in which warps multiply matrices.
    products: usize,
    /// Kernels whose graph the host would have to run.
    refused: Vec<String>,
    wrong: Vec<String>,
}

/// Assembles each kernel of a module of relax for a chip.
fn assemble(name: &str, mut module: Module, device: Device, backend: &LlvmBackend, told: &mut Told) {
    let wrong = |what: String| format!("{name} for {device}: {what}");
    if let Err(error) = pass::run(&device_pipeline(), &mut module, &crate::context(device)) {
        return told.refused.push(wrong(error.message));
    }
    for func in module.prims().filter(|func| func.kind == FuncKind::Device) {
        let made = program::kernel(&module, func, device, backend).map_err(|error| error.message);
        told.products += usize::from(made.as_ref().is_ok_and(|(_, text)| text.contains("mma.")));
        let said = made.and_then(|(_, text)| judged(func, &text, &device.target().cpu));
        told.kernels += 1;
        told.wrong.extend(said.err().map(|what| wrong(format!("`{}`: {what}", func.name))));
    }
}

/// That the assembler takes a kernel, and keeps in registers what belongs there.
fn judged(func: &PrimFunc, text: &str, chip: &str) -> Result<(), String> {
    let usage = ptxas::assemble(text, chip)?;
    println!("{chip}: `{}`: {usage:?}", func.name);
    let own = kernel::allocations(func).into_iter().filter(|buf| func.buffers[buf.0 as usize].scope == Scope::Local);
    let longest = own.filter_map(|buf| kernel::elements(func, buf)).max().unwrap_or_default();
    // A division of integers of 64 bits and a remainder of floats are functions, which have a frame.
    let calls = text.contains("call.uni") || text.contains(".func");
    let in_registers = longest <= IN_REGISTERS;
    let local = text.contains(".local") && in_registers;
    let frame = usage.frame > 0 && in_registers && !calls;
    if usage.spills > 0 || local || frame { Err(format!("{usage:?}, arrays of {longest}")) } else { Ok(()) }
}

/// That a kernel keeps in registers what is each thread's own. Where there is no assembler, the text alone says so.
pub(crate) fn in_registers(name: &str, device: Device, text: &str) {
    assert!(!text.contains(".local"), "{name} for {device}: an array in memory\n{text}");
    if ptxas::path().is_some() {
        let usage = ptxas::assemble(text, &device.target().cpu).unwrap_or_else(|why| panic!("{name}: {why}"));
        println!("{name} for {device}: {usage:?}");
        assert_eq!(usage.spills, 0, "{name} for {device}: {usage:?}");
    }
}

#[test]
fn kernels_are_taken_by_the_assembler() {
    let Some(backend) = crate::backend() else { return };
    if ptxas::path().is_none() {
        return ptxas::skip();
    }
    let mut told = Told::default();
    for case in crate::cases(12) {
        for device in crate::CHIPS {
            assemble(&case.name, case.module.clone(), device, &backend, &mut told);
        }
    }
    println!("{} kernels, {} functions are refused: {:#?}", told.kernels, told.refused.len(), told.refused);
    assert!(told.wrong.is_empty(), "{} of {}\n{}", told.wrong.len(), told.kernels, told.wrong.join("\n"));
    assert!(told.kernels > 100, "only {} kernels", told.kernels);
}

/// The functions whose speed is measured, at the sizes that are measured.
#[test]
fn measured_kernels_are_taken_by_the_assembler() {
    let Some(backend) = crate::backend() else { return };
    if ptxas::path().is_none() {
        return ptxas::skip();
    }
    let mut told = Told::default();
    for function in functions::FUNCTIONS {
        for device in crate::CHIPS {
            assemble(function.name, function.module(function.large), device, &backend, &mut told);
        }
    }
    let halves = functions::FUNCTIONS.iter().filter(|function| function.dtype != "f32" && function.flops > 0.0);
    assert_eq!(told.products, halves.count() * crate::CHIPS.len(), "{told:#?}");
    assert!(told.wrong.is_empty() && told.refused.is_empty(), "{told:#?}");
    assert!(told.kernels >= functions::FUNCTIONS.len() * crate::CHIPS.len(), "{told:#?}");
}
