//! The device functions of a module, compiled.

use std::collections::BTreeMap;

use tenfold_ir::tir::{FuncKind, PrimFunc, Scope, Stmt};
use tenfold_ir::{Loc, Module};

use super::{Code, DeviceKernel, KernelMap};
use crate::kernel as device_function;
use crate::spirv::{self, Source};
use crate::target::{Device, Target};
use crate::{Backend, CompileError, ErrorKind, Fault};

/// Every device function of a module by name, as a device takes it, and their texts one after the other. PTX is written
/// by a back end that has it.
///
/// # Errors
/// What the device's code cannot hold.
pub fn kernels(
    module: &Module,
    target: impl Into<Target>,
    backend: &dyn Backend,
) -> Result<(BTreeMap<String, DeviceKernel>, String), CompileError> {
    let target = target.into();
    let (mut all, mut texts) = (BTreeMap::new(), Vec::new());
    for func in module.prims().filter(|func| func.kind == FuncKind::Device) {
        let (kernel, text) = kernel(module, func, target.clone(), backend)?;
        texts.push(text);
        all.insert(func.name.clone(), kernel);
    }
    Ok((all, texts.join("\n")))
}

/// One device function as a device takes it, and its text.
///
/// # Errors
/// What the device's code cannot hold.
pub fn kernel(
    module: &Module,
    func: &PrimFunc,
    target: impl Into<Target>,
    backend: &dyn Backend,
) -> Result<(DeviceKernel, String), CompileError> {
    let target = target.into();
    match target.device {
        Some(device @ (Device::Sm80 | Device::Sm90a)) => of_ptx(module, func, device, backend),
        Some(Device::Spirv) => of_shader(module, func, &target),
        None => Err(CompileError::internal(func.loc, format!("`{target}` is no device"))),
    }
}

fn of_shader(module: &Module, func: &PrimFunc, target: &Target) -> Result<(DeviceKernel, String), CompileError> {
    let kernel =
        spirv::kernels_for(module, func, &target.features).map_err(|spirv::Refusal { kernel, what, why }| {
            let message = format!("`{kernel}`: {what} has no SPIR-V for Vulkan 1.1");
            CompileError { kind: ErrorKind::Target, loc: func.loc, message, help: Some(why) }
        })?;
    let constants = kernel.bindings.iter().filter_map(|binding| match &binding.source {
        Source::Constant(hash) => Some(hash.clone()),
        Source::Param(_) => None,
    });
    let constants = constants.collect();
    let text = texts(&kernel, target).join("\n");
    Ok((DeviceKernel { code: of_words(kernel), constants, ..DeviceKernel::default() }, text))
}

/// What there is to show: shaders that ask for float controls which the target does not are others with a head more.
fn texts<'k>(kernel: &'k spirv::Kernel, target: &Target) -> Vec<&'k str> {
    let more = |control: &spirv::Control| !target.features.iter().any(|name| name == control.name);
    let is_plain = |kernel: &&spirv::Kernel| {
        !spirv::CONTROLS.iter().any(|control| more(control) && kernel.features.contains(&control.feature()))
    };
    let chain = std::iter::successors(Some(kernel), |kernel| kernel.instead.as_deref());
    chain.filter(is_plain).map(|kernel| kernel.text.as_str()).collect()
}

fn of_words(kernel: spirv::Kernel) -> Code {
    let features = kernel.features.iter().fold(0, |bits, feature| bits | feature.bit());
    let settings = kernel.settings.iter().fold(0, |bits, setting| bits | setting.bit());
    let code = kernel.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let instead = kernel.instead.map(|kernel| Box::new(of_words(*kernel)));
    Code { name: kernel.name, code, local: kernel.local, subgroup: 0, features, instead, settings }
}

/// Threads of a group, at most.
const MOST_THREADS: u64 = 1024;

/// Bytes of shared memory of constant size that a kernel may have; what the launch asks for may be more.
const MOST_SHARED: u64 = 48 << 10;

fn of_ptx(
    module: &Module,
    func: &PrimFunc,
    device: Device,
    backend: &dyn Backend,
) -> Result<(DeviceKernel, String), CompileError> {
    let refusal = |what: String, why: &str| {
        let message = format!("`{}`: {what} has no PTX for `{device}`", func.name);
        CompileError { kind: ErrorKind::Target, loc: func.loc, message, help: Some(why.into()) }
    };
    let why = "give loops over threads constant extents";
    let open = || refusal("a number of threads that is not constant".into(), why);
    let local = device_function::threads(func).ok_or_else(open)?;
    let threads: u64 = local.into_iter().map(u64::from).product();
    if threads > MOST_THREADS {
        return Err(refusal(format!("a group of {threads} threads"), "1,024 is the most that every chip has"));
    }
    own_memory(func).map_err(|(what, why)| refusal(what, why))?;
    let name = entry_name(&func.name);
    let text = backend.kernel(module, func, &name, &device.target()).map_err(|error| match error.fault {
        Fault::Ours => CompileError::internal(func.loc, format!("PTX of `{}`: {}", func.name, error.message)),
        Fault::Machine => {
            CompileError { kind: ErrorKind::Target, loc: Loc::default(), message: error.message, help: error.help }
        }
    })?;
    let constants = device_function::constants(func).into_iter().map(|(_, id)| module.constant(id).hash.clone());
    let constants = constants.collect();
    let code = Code { name, code: text.clone().into_bytes(), local, ..Code::default() };
    let maps = device_function::tensors(func).iter().map(|tensor| map(func, tensor)).collect::<Option<Vec<_>>>();
    let maps = maps.ok_or_else(|| CompileError::internal(func.loc, "a box of what a launch does not pass"))?;
    Ok((DeviceKernel { code, constants, maps }, text))
}

/// A tensor by the number of the buffer that the launch passes.
fn map(func: &PrimFunc, tensor: &device_function::Tensor) -> Option<KernelMap> {
    let buffer = device_function::buffers(func).iter().position(|(buf, _)| *buf == tensor.buf)?;
    let dtype = func.buffers.get(tensor.buf.0 as usize)?.dtype;
    Some(KernelMap { buffer, dtype, axes: tensor.axes.clone() })
}

/// That the memory which a kernel allocates is such as PTX has; else what it has not, and why.
fn own_memory(func: &PrimFunc) -> Result<(), (String, &'static str)> {
    let mut shared = 0;
    for buf in device_function::allocations(func) {
        let data = &func.buffers[buf.0 as usize];
        let constant = device_function::elements(func, buf).map(|n| u64::from(n) * data.dtype.size_bytes() as u64);
        match data.scope {
            Scope::Local | Scope::Shared | Scope::SharedDyn if constant.is_none() => {
                let what = format!("`{}`, whose size is not constant,", data.name);
                return Err((what, "give local and shared memory constant extents"));
            }
            Scope::Shared => shared += constant.unwrap_or_default(),
            Scope::Local | Scope::SharedDyn => {}
            _ => {
                let why = "a kernel has parameters, constants, shared and local memory of constant size";
                return Err((format!("the memory of `{}`", data.name), why));
            }
        }
    }
    if shared > MOST_SHARED {
        let what = format!("{shared} bytes of shared memory");
        return Err((what, "48 KiB is the most; more can be had in the scope `shared.dyn`"));
    }
    let warps = func.body.any(&mut |s| matches!(s, Stmt::Barrier(barrier) if barrier.scope == Scope::Warp));
    let warps = warps.then(|| ("a barrier of a warp".into(), "use shared memory and its barrier"));
    warps.map_or(Ok(()), Err)
}

/// A name that PTX takes: letters, digits and `_`.
fn entry_name(name: &str) -> String {
    let mut out: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic()) {
        out.insert(0, 'k');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::entry_name;

    #[test]
    fn names_are_such_as_ptx_takes() {
        assert_eq!(entry_name("relu.add$1_kernel"), "relu_add_1_kernel");
        assert_eq!(entry_name("_x"), "k_x");
        assert_eq!(entry_name("ü"), "k_");
    }
}
