//! The kernels of a program, as the driver has compiled them.

use std::{sync::Arc, vec::Vec};

use ash::vk;
use tenfold_abi::program::{Arg, Feature, Setting, Step};

use super::shared::Shared;
use crate::{
    DeviceFault,
    program::{Program, ProgramKernel},
};

/// The kernels of a program.
pub(super) struct Pipelines {
    shared: Arc<Shared>,
    /// With the number of each in the program.
    kernels: Vec<(u32, Pipeline)>,
}

/// A kernel.
#[derive(Clone, Copy)]
pub(super) struct Pipeline {
    pub(super) name: &'static str,
    pub(super) block: [u32; 3],
    pub(super) buffers: u32,
    /// Of 8 bytes each.
    pub(super) values: u32,
    pub(super) sets: vk::DescriptorSetLayout,
    pub(super) layout: vk::PipelineLayout,
    pub(super) raw: vk::Pipeline,
}

impl Pipelines {
    /// Has the driver compile each kernel of a program.
    pub(super) fn new(shared: &Arc<Shared>, program: &Program<'static>) -> Result<Self, DeviceFault> {
        let mut all = Self { shared: Arc::clone(shared), kernels: Vec::new() };
        for at in 0..program.kernels().count() {
            let Some((buffers, values)) = arguments(program, at as u32)? else {
                // Nothing launches it: it is there to take another's place.
                continue;
            };
            let kernel = chosen(shared, program, at as u32, (buffers, values))?;
            let pipeline = Pipeline {
                name: kernel.name,
                block: kernel.local,
                buffers,
                values,
                sets: <_>::default(),
                layout: <_>::default(),
                raw: <_>::default(),
            };
            // What is made of it is dropped with the others, also where a later step fails.
            all.kernels.push((at as u32, pipeline));
            all.build(&kernel)?;
        }
        Ok(all)
    }

    pub(super) fn get(&self, kernel: u32) -> Option<Pipeline> {
        self.kernels.iter().find(|(at, _)| *at == kernel).map(|(_, pipeline)| *pipeline)
    }

    /// Makes the last one ready.
    fn build(&mut self, kernel: &ProgramKernel<'static>) -> Result<(), DeviceFault> {
        let (shared, Some((_, pipeline))) = (&self.shared, self.kernels.last_mut()) else { return Ok(()) };
        let device = &shared.raw;
        let binding = |at| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(at)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        let bindings: Vec<_> = (0..pipeline.buffers).map(binding).collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: here and below the device lives, and so does what the arguments point to, until the call is over.
        pipeline.sets = unsafe { device.create_descriptor_set_layout(&info, None) }
            .map_err(|code| shared.fault("vkCreateDescriptorSetLayout", code))?;
        let sets = [pipeline.sets];
        let range =
            [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(8 * pipeline.values)];
        let ranges = if pipeline.values == 0 { &[][..] } else { &range[..] };
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(ranges);
        // SAFETY: as above.
        pipeline.layout = unsafe { device.create_pipeline_layout(&info, None) }
            .map_err(|code| shared.fault("vkCreatePipelineLayout", code))?;
        let refused = |code: vk::Result| match shared.fault("vkCreateComputePipelines", code) {
            DeviceFault::Driver { code, .. } => {
                DeviceFault::Kernel { kernel: kernel.name, block: kernel.local, code, said: "" }
            }
            why => why,
        };
        let words = words(kernel.code).ok_or_else(|| refused(vk::Result::ERROR_UNKNOWN))?;
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        // SAFETY: as above, and who made the code has promised that it is right.
        let module = unsafe { device.create_shader_module(&info, None) }.map_err(refused)?;
        let mut size = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default()
            .required_subgroup_size(shared.limits.subgroup);
        let (subgroups, entry) = (subgroups(shared, kernel), [setting(Setting::Subgroups)]);
        let value = subgroups.unwrap_or_default().to_le_bytes();
        let given = vk::SpecializationInfo::default().map_entries(&entry).data(&value);
        let mut stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main");
        if subgroups.is_some() {
            stage = stage.specialization_info(&given).push_next(&mut size);
            stage = stage.flags(vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS);
        }
        let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(pipeline.layout)];
        // SAFETY: as above; the cache locks itself, and the module is needed no longer.
        let made = unsafe {
            let made = device.create_compute_pipelines(shared.cache, &info, None);
            device.destroy_shader_module(module, None);
            made
        };
        match made {
            Ok(made) => pipeline.raw = made.into_iter().next().unwrap_or_default(),
            Err((_, code)) => return Err(refused(code)),
        }
        Ok(())
    }
}

impl Drop for Pipelines {
    fn drop(&mut self) {
        for (_, pipeline) in &self.kernels {
            // SAFETY: submissions that use them hold them; what was not made is null, which is ignored.
            unsafe {
                self.shared.raw.destroy_pipeline(pipeline.raw, None);
                self.shared.raw.destroy_pipeline_layout(pipeline.layout, None);
                self.shared.raw.destroy_descriptor_set_layout(pipeline.sets, None);
            }
        }
    }
}

/// The kernel of a number, or the one that takes its place on this device.
fn chosen(
    shared: &Shared,
    program: &Program<'static>,
    at: u32,
    (buffers, values): (u32, u32),
) -> Result<ProgramKernel<'static>, DeviceFault> {
    let kernel = program.kernels().nth(at as usize).ok_or(DeviceFault::Operands)?;
    match (supported(shared, &kernel, buffers, values), kernel.instead) {
        (Ok(()), _) => Ok(kernel),
        (Err(_), Some(instead)) => chosen(shared, program, instead, (buffers, values)),
        (Err(why), None) => Err(why),
    }
}

/// How many subgroups the groups of a kernel have, if it has a use for the number and the device can be told to have them
/// full.
fn subgroups(shared: &Shared, kernel: &ProgramKernel<'_>) -> Option<u32> {
    let limits = &shared.limits;
    let whole = limits.subgroup > 0 && kernel.local[0].is_multiple_of(limits.subgroup);
    let count = kernel.threads() / u64::from(limits.subgroup.max(1));
    let asks = kernel.settings & Setting::Subgroups.bit() != 0;
    (asks && whole && count <= u64::from(limits.subgroups)).then_some(count as u32)
}

/// Where the value of a setting lies that is given alone.
fn setting(setting: Setting) -> vk::SpecializationMapEntry {
    vk::SpecializationMapEntry::default().constant_id(setting as u32).size(4)
}

/// How many buffers and values a kernel is given, the same in each launch; nothing if nothing launches it.
fn arguments(program: &Program<'_>, kernel: u32) -> Result<Option<(u32, u32)>, DeviceFault> {
    let mut found = None;
    for step in program.steps() {
        let Step::Launch { kernel: it, args, .. } = step else { continue };
        if it != kernel {
            continue;
        }
        if program.args(args).any(|arg| matches!(arg, Arg::Map(_))) {
            return Err(DeviceFault::Operands);
        }
        let buffers = program.args(args).filter(|arg| matches!(arg, Arg::Buffer(_))).count() as u32;
        let counts = (buffers, program.args(args).count() as u32 - buffers);
        if *found.get_or_insert(counts) != counts {
            return Err(DeviceFault::Operands);
        }
    }
    Ok(found)
}

/// That the device can run a kernel.
fn supported(shared: &Shared, kernel: &ProgramKernel<'static>, buffers: u32, values: u32) -> Result<(), DeviceFault> {
    let limits = &shared.limits;
    let feature = if let Some(feature) = Feature::first_of(kernel.features & !shared.features) {
        feature
    } else if kernel.subgroup != 0 && kernel.subgroup != limits.subgroup {
        "subgroups of another size"
    } else if kernel.threads() > u64::from(limits.group)
        || kernel.local.iter().zip(limits.threads).any(|(n, max)| *n > max)
    {
        "groups of more threads"
    } else if buffers > limits.buffers {
        "more buffers"
    } else if values.saturating_mul(8) > limits.values {
        "more values"
    } else {
        return Ok(());
    };
    Err(DeviceFault::Unsupported { kernel: kernel.name, feature })
}

/// The words of SPIR-V, if it is that.
fn words(code: &[u8]) -> Option<Vec<u32>> {
    let (words, rest) = code.as_chunks();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    (rest.is_empty() && words.len() > 5 && words.first() == Some(&0x0723_0203)).then_some(words)
}
