//! A function for a device: what a build puts beside its code for the processor.

use tenfold_ir::{ConstData, Loc, Module};

use super::Options;
use super::code::{make_strict, place_constants};
use crate::Backend;
use crate::blob;
use crate::error::CompileError;
use crate::pass::{self, PassContext};
use crate::pipeline;
use crate::program::{self, Program, of_entry};
use crate::target::{Device, Target};
use crate::tune::Tuned;

/// What a function brings along for devices.
#[derive(Clone, Debug, Default)]
pub struct DeviceCode {
    /// The bytes of a blob that holds a program for each device.
    pub blob: Vec<u8>,
    /// The constants that the programs count, in their order: what must be linked beside the blob.
    pub constants: Vec<ConstData>,
}

/// A function for one device.
#[derive(Clone, Debug)]
pub struct DeviceModule {
    device: Device,
    program: Program,
    constants: Vec<ConstData>,
    /// The code of its kernels as text.
    pub text: String,
}

/// Runs the pipeline for a device, or for a target that is one, and makes the program; `backend` writes PTX. The context's
/// settings hold for the device as well; its watchers and records of tuned schedules are for the processor.
///
/// # Errors
/// What the device does not take, or what is wrong with the settings, at a node of the source; a target that is no device.
pub fn compile_device(
    module: Module,
    target: impl Into<Target>,
    context: &PassContext,
    options: &Options,
    backend: &dyn Backend,
) -> Result<DeviceModule, CompileError> {
    let target = target.into();
    let Some(device) = target.device else {
        return Err(CompileError::internal(Loc::default(), format!("`{target}` is no device")));
    };
    let context = for_device(target.clone(), context, options)?;
    let mut module = module;
    let passes = pipeline::device_with(&options.passes);
    let (first, rest) = pipeline::split_shared(&passes);
    pass::run(first, &mut module, &context)?;
    // Before loops of sums get their threads.
    if options.strict {
        make_strict(&mut module);
    }
    pass::run(rest, &mut module, &context)?;
    if options.strict {
        make_strict(&mut module);
    }
    if let Some(error) = context.take_diagnostics().into_iter().next() {
        return Err(error);
    }
    place_constants(&mut module, &options.section);
    let (kernels, text) = program::kernels(&module, target, backend)?;
    let program = of_entry(&module, &kernels)?;
    let wanted = program.constants.iter();
    let constants = wanted.filter_map(|wanted| module.constants.iter().find(|data| data.hash == wanted.hash));
    Ok(DeviceModule { device, constants: constants.cloned().collect(), program, text })
}

/// The blob of a function for several devices. All programs count the constants of all, each once.
///
/// # Errors
/// More of something than 32 bits count.
pub fn pack_devices(modules: Vec<DeviceModule>) -> Result<DeviceCode, CompileError> {
    let mut constants: Vec<ConstData> = Vec::new();
    for data in modules.iter().flat_map(|module| &module.constants) {
        if constants.iter().all(|known| known.hash != data.hash) {
            constants.push(data.clone());
        }
    }
    let order: Vec<&str> = constants.iter().map(|data| data.hash.as_str()).collect();
    // The host's own code, which is linked, imports the program for each device.
    let mut packed = vec![blob::Module::host((1..=modules.len()).collect())];
    for DeviceModule { device, mut program, .. } in modules {
        program.count_constants(&order);
        packed.push(blob::Module { key: device.key().into(), payload: program.write()?, imports: Vec::new() });
    }
    Ok(DeviceCode { blob: blob::write(&packed)?, constants })
}

/// The context of the passes for a device.
pub(crate) fn for_device(
    target: Target,
    context: &PassContext,
    options: &Options,
) -> Result<PassContext, CompileError> {
    let mut context = context.apart(target).with_strict(options.strict).with_tuned(Tuned::default());
    context.alone();
    context.set_text("NarrowDataType.everywhere", "true")?;
    Ok(context)
}
