//! A call of a program: its operands are bound, its steps become commands, and these are submitted.

use std::{sync::Arc, vec::Vec};

use ash::vk;

use super::{
    Vulkan, buffer,
    memory::Memory,
    pipeline::{Pipeline, Pipelines},
    queue::{Descriptors, Kept, WORK, barrier},
    shared::Shared,
};
use crate::{
    DeviceCode, DeviceFault, Operands, Status,
    device::launch::{self, Bound, Call, Room, Start},
    program::Program,
};

/// A program that is ready to run: read, its kernels compiled, its constants on the device.
pub(super) struct Loaded {
    program: Program<'static>,
    pipelines: Arc<Pipelines>,
    constants: Vec<Option<Arc<Memory>>>,
}

/// Runs the program of a function, or submits it.
pub(super) fn run(
    device: &Vulkan,
    code: DeviceCode,
    operands: &Operands<'_, Arc<Memory>>,
) -> Result<Status, DeviceFault> {
    let ready = match prepare(device, code, operands)? {
        Ok(ready) => ready,
        Err(status) => return Ok(status),
    };
    if ready.launches.is_empty() {
        return Ok(Status::OK);
    }
    device.shared.wait_for_room()?;
    let (kept, sets) = ready.kept()?;
    device.shared.submit(kept, |device, command| ready.commands(device, command, &sets))?;
    Ok(Status::OK)
}

/// Checks a call and binds its memory; or gives the status of a check that does not hold.
pub(super) fn prepare<'d>(
    device: &'d Vulkan,
    code: DeviceCode,
    operands: &Operands<'_, Arc<Memory>>,
) -> Result<Result<Ready<'d>, Status>, DeviceFault> {
    let shared = &device.shared;
    shared.alive()?;
    let loaded = device.store.program(code, || load(device, code))?;
    let Call { buffers, starts } = match launch::prepare(device, &loaded.program, &loaded.constants, operands)? {
        Ok(call) => call,
        Err(status) => return Ok(Err(status)),
    };
    let mut ready = Ready { shared, loaded, buffers, launches: Vec::new() };
    ready.launches = starts.into_iter().map(|start| ready.launch(start)).collect::<Result<_, _>>()?;
    Ok(Ok(ready))
}

impl Room for Vulkan {
    type Memory = Arc<Memory>;

    fn workspace(&self, bytes: u64) -> Result<Arc<Memory>, DeviceFault> {
        Ok(Arc::new(Memory::new(&self.shared, bytes, false)?))
    }

    fn scalar(&self, bits: u64) -> Result<Arc<Memory>, DeviceFault> {
        let mut memory = Memory::new(&self.shared, 8, true)?;
        memory.write(&bits.to_le_bytes())?;
        Ok(Arc::new(memory))
    }

    fn bytes(&self, memory: &Arc<Memory>) -> Option<u64> {
        memory.is_of(&self.shared).then(|| memory.bytes())
    }
}

/// Makes a program ready.
fn load(device: &Vulkan, code: DeviceCode) -> Result<Loaded, DeviceFault> {
    let program = code.program("spirv")?;
    let constants = device.store.constants(code, &program, |data| buffer::upload_bytes(&device.shared, data))?;
    let pipelines = Arc::new(Pipelines::new(&device.shared, &program)?);
    device.shared.write_pipelines();
    Ok(Loaded { program, pipelines, constants })
}

/// A call that the device allows, whose memory is bound.
pub(super) struct Ready<'d> {
    shared: &'d Arc<Shared>,
    loaded: Arc<Loaded>,
    /// The program's buffers.
    buffers: Vec<Bound<Arc<Memory>>>,
    pub(super) launches: Vec<Launch>,
}

/// A launch that the device allows.
pub(super) struct Launch {
    pipeline: Pipeline,
    grid: [u32; 3],
    buffers: Vec<u32>,
    values: Vec<u8>,
    /// Whether what came before must be done.
    waits: bool,
}

impl Ready<'_> {
    fn launch(&self, start: Start) -> Result<Launch, DeviceFault> {
        let pipeline = self.loaded.pipelines.get(start.kernel).ok_or(DeviceFault::Operands)?;
        let limits = &self.shared.limits;
        let axes = ["groups along x", "groups along y", "groups along z"];
        let beyond = start.grid.iter().zip(limits.groups).zip(axes).find(|((n, max), _)| **n > i64::from(*max));
        let bound = |at: &u32| self.buffers.get(*at as usize);
        let large = start.buffers.iter().filter_map(bound).any(|bound| bound.bytes > limits.range);
        let limit = match beyond {
            Some((_, axis)) => axis,
            None if large => "bytes of a buffer",
            None if start.shared != 0 => "bytes of shared memory that a call decides",
            None => {
                let grid = start.grid.map(|n| n as u32);
                let values = start.values.into_iter().flat_map(u64::to_le_bytes).collect();
                return Ok(Launch { pipeline, grid, buffers: start.buffers, values, waits: start.waits });
            }
        };
        Err(DeviceFault::Launch { kernel: pipeline.name, grid: start.grid, block: pipeline.block, limit })
    }

    /// What the commands name, which must live as long as they may run, and the set of each launch.
    pub(super) fn kept(&self) -> Result<(Kept, Vec<vk::DescriptorSet>), DeviceFault> {
        let (descriptors, sets) = self.descriptors(&self.launches)?;
        let kept = Kept {
            memory: self.buffers.iter().map(|bound| Arc::clone(&bound.memory)).collect(),
            pipelines: Some(Arc::clone(&self.loaded.pipelines)),
            descriptors: Some(descriptors),
            ..Kept::default()
        };
        Ok((kept, sets))
    }

    /// Writes down the launches.
    pub(super) fn commands(&self, device: &ash::Device, command: vk::CommandBuffer, sets: &[vk::DescriptorSet]) {
        for (launch, set) in self.launches.iter().zip(sets) {
            let [x, y, z] = launch.grid;
            let (compute, layout) = (vk::PipelineBindPoint::COMPUTE, launch.pipeline.layout);
            // SAFETY: pipelines, sets and memory are kept as long as the commands may run; the number of groups, of
            // buffers and of values is what the device and the layout allow.
            unsafe {
                if launch.waits {
                    barrier(device, command, WORK, WORK);
                }
                device.cmd_bind_pipeline(command, compute, launch.pipeline.raw);
                device.cmd_bind_descriptor_sets(command, compute, layout, 0, &[*set], &[]);
                if !launch.values.is_empty() {
                    let stage = vk::ShaderStageFlags::COMPUTE;
                    device.cmd_push_constants(command, layout, stage, 0, &launch.values);
                }
                device.cmd_dispatch(command, x, y, z);
            }
        }
    }

    /// A set for each launch, which names its buffers.
    fn descriptors(&self, launches: &[Launch]) -> Result<(Descriptors, Vec<vk::DescriptorSet>), DeviceFault> {
        let device = &self.shared.raw;
        let fault = |code| self.shared.fault("vkAllocateDescriptorSets", code);
        let count: usize = launches.iter().map(|launch| launch.buffers.len()).sum();
        let sizes = [vk::DescriptorPoolSize::default()
            .ty(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(count.max(1) as u32)];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(launches.len() as u32).pool_sizes(&sizes);
        // SAFETY: here and below the device lives, and so does what the arguments point to, until the call is over.
        let pool = unsafe { device.create_descriptor_pool(&info, None) }.map_err(fault)?;
        let descriptors = Descriptors { pool, shared: Arc::clone(self.shared) };
        let layouts: Vec<_> = launches.iter().map(|launch| launch.pipeline.sets).collect();
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        // SAFETY: as above.
        let sets = unsafe { device.allocate_descriptor_sets(&info) }.map_err(fault)?;
        for (launch, set) in launches.iter().zip(&sets) {
            let parts: Vec<_> = launch.buffers.iter().filter_map(|at| self.part(*at)).collect();
            if parts.is_empty() {
                continue;
            }
            let write = vk::WriteDescriptorSet::default()
                .dst_set(*set)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .buffer_info(&parts);
            // SAFETY: as above; bindings of one kind that stand side by side are written at once.
            unsafe { device.update_descriptor_sets(&[write], &[]) };
        }
        Ok((descriptors, sets))
    }

    fn part(&self, at: u32) -> Option<vk::DescriptorBufferInfo> {
        let bound = self.buffers.get(at as usize)?;
        // Memory has some bytes more than were asked for; a part must have one, and kernels may read whole words.
        let range = bound.bytes.max(4).next_multiple_of(4);
        Some(vk::DescriptorBufferInfo::default().buffer(bound.memory.buffer()).offset(bound.offset).range(range))
    }
}
