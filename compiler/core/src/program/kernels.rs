//! The device functions of a module, compiled.

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::tir::{FuncKind, PrimFunc};

use super::{Code, DeviceKernel};
use crate::spirv::{self, Source};
use crate::{CompileError, ErrorKind};

/// Every device function of a module as a shader, by name, and their texts one after the other.
///
/// # Errors
/// What SPIR-V cannot hold.
pub fn kernels(module: &Module) -> Result<(BTreeMap<String, DeviceKernel>, String), CompileError> {
    let (mut all, mut texts) = (BTreeMap::new(), Vec::new());
    for func in module.prims().filter(|func| func.kind == FuncKind::Device) {
        let kernel = spirv::kernel(module, func).map_err(|refused| refusal(func, &refused))?;
        texts.push(kernel.text.clone());
        all.insert(kernel.name.clone(), of_shader(kernel));
    }
    Ok((all, texts.join("\n")))
}

fn of_shader(kernel: spirv::Kernel) -> DeviceKernel {
    let features = kernel.features.iter().fold(0, |bits, feature| bits | feature.bit());
    let code = kernel.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let constants = kernel.bindings.into_iter().filter_map(|binding| match binding.source {
        Source::Constant(hash) => Some(hash),
        Source::Param(_) => None,
    });
    let constants = constants.collect();
    DeviceKernel { code: Code { name: kernel.name, code, local: kernel.local, subgroup: 0, features }, constants }
}

fn refusal(func: &PrimFunc, refused: &spirv::Refusal) -> CompileError {
    let spirv::Refusal { kernel, what, why } = refused;
    let message = format!("`{kernel}`: {what} has no SPIR-V for Vulkan 1.1");
    CompileError { kind: ErrorKind::Target, loc: func.loc, message, help: Some(why.clone()) }
}
