//! The kernels of a program, as the driver has compiled them.

use std::{sync::Arc, vec::Vec};

use ash::vk;
use tenfold_abi::program::{Arg, Feature, Step};

use super::shared::Shared;
use crate::{
    DeviceFault,
    program::{Program, ProgramKernel},
};

/// The kernels of a program.
pub(super) struct Pipelines {
    shared: Arc<Shared>,
    kernels: Vec<Pipeline>,
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
        for (at, kernel) in program.kernels().enumerate() {
            let (buffers, values) = arguments(program, at as u32)?;
            supported(shared, &kernel, buffers, values)?;
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
            all.kernels.push(pipeline);
            all.build(at, &kernel)?;
        }
        Ok(all)
    }

    pub(super) fn get(&self, kernel: u32) -> Option<Pipeline> {
        self.kernels.get(kernel as usize).copied()
    }

    fn build(&mut self, at: usize, kernel: &ProgramKernel<'static>) -> Result<(), DeviceFault> {
        let (shared, pipeline) = (&self.shared, &mut self.kernels[at]);
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
            DeviceFault::Driver { code, .. } => DeviceFault::Kernel { kernel: kernel.name, block: kernel.local, code },
            why => why,
        };
        let words = words(kernel.code).ok_or_else(|| refused(vk::Result::ERROR_UNKNOWN))?;
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        // SAFETY: as above, and who made the code has promised that it is right.
        let module = unsafe { device.create_shader_module(&info, None) }.map_err(refused)?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main");
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
        for pipeline in &self.kernels {
            // SAFETY: submissions that use them hold them; what was not made is null, which is ignored.
            unsafe {
                self.shared.raw.destroy_pipeline(pipeline.raw, None);
                self.shared.raw.destroy_pipeline_layout(pipeline.layout, None);
                self.shared.raw.destroy_descriptor_set_layout(pipeline.sets, None);
            }
        }
    }
}

/// How many buffers and values a kernel is given, the same in each launch.
fn arguments(program: &Program<'_>, kernel: u32) -> Result<(u32, u32), DeviceFault> {
    let mut found = None;
    for step in program.steps() {
        let Step::Launch { kernel: it, args, .. } = step else { continue };
        if it != kernel {
            continue;
        }
        let buffers = program.args(args).filter(|arg| matches!(arg, Arg::Buffer(_))).count() as u32;
        let counts = (buffers, program.args(args).count() as u32 - buffers);
        if *found.get_or_insert(counts) != counts {
            return Err(DeviceFault::Operands);
        }
    }
    Ok(found.unwrap_or((0, 0)))
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
