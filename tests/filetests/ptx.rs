//! `test ptx`: what the PTX of device functions is for `sm_80`, or for `sm_90a` alone, that ptxas takes it for each chip, and
//! that nothing of it is kept in memory that belongs in registers.

use tenfold_core::{Device, kernel, program};
use tenfold_ir::tir::{FuncKind, PrimFunc, Scope};
use tenfold_llvm::{Env, LlvmBackend, Rung, find, load};
use tenfold_tests::ptxas;

use crate::file::File;

/// The lines of a file: of each device function its PTX, or why there is none. None where there is no LLVM.
pub(crate) fn run(file: &File) -> Result<Vec<String>, String> {
    let found = find(&Env::from_process());
    if found.rung == Rung::None {
        println!("skipped: no LLVM");
        return Ok(file.expected.clone());
    }
    let backend = LlvmBackend::new(load(&found).map_err(|error| error.to_string())?, &found);
    let mut out = Vec::new();
    for func in file.module.prims().filter(|func| func.kind == FuncKind::Device) {
        let mut shown = false;
        for device in [Device::Sm80, Device::Sm90a] {
            let made = program::kernel(&file.module, func, device, &backend);
            match made {
                Ok((_, text)) => {
                    accepted(func, &text, &device.target().cpu)?;
                    out.extend(text.lines().filter(|_| !shown).map(str::to_string));
                    shown = true;
                }
                Err(error) if device == Device::Sm80 => {
                    let help = error.help.map_or(String::new(), |help| format!(": {help}"));
                    out.push(format!("error: {}{help}", error.message));
                }
                Err(_) => {}
            }
        }
    }
    Ok(out)
}

/// That the assembler takes it, without spills, and with a frame only where the function has an array of its own.
fn accepted(func: &PrimFunc, text: &str, chip: &str) -> Result<(), String> {
    if ptxas::path().is_none() {
        ptxas::skip();
        return Ok(());
    }
    let usage = ptxas::assemble(text, chip)?;
    let own = kernel::allocations(func);
    let array = own.iter().any(|buf| func.buffers[buf.0 as usize].scope == Scope::Local);
    if usage.spills > 0 || usage.frame > 0 && !array {
        return Err(format!("`{}` for {chip}: {usage:?}", func.name));
    }
    Ok(())
}
