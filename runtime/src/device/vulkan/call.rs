//! A call of a program: its operands are bound, its steps become commands, and these are submitted.

use std::{sync::Arc, vec::Vec};

use ash::vk;

use super::{
    Vulkan, buffer,
    memory::Memory,
    pipeline::{Pipeline, Pipelines},
    queue::{Descriptors, Kept, WORK, barrier},
    shared::{Shared, lock},
};
use crate::{
    DeviceCode, DeviceFault, Operands, Status,
    device::launch::{self, Bound, Room, Start},
    program::Program,
};

/// How many submissions may be on their way.
const FLIGHTS: usize = 64;

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
    let shared = &device.shared;
    shared.alive()?;
    let loaded = load(device, code)?;
    let values = match launch::numbers(&loaded.program, operands.dims)? {
        Ok(values) => values,
        Err(status) => return Ok(status),
    };
    let room = Here { device, loaded: &loaded };
    let buffers = launch::bind(&room, &loaded.program, operands, &values)?;
    let call = Call { shared, loaded: &loaded, buffers };
    let starts = launch::starts(&loaded.program, operands.scalars, &values)?;
    let launches = starts.into_iter().map(|start| call.launch(start)).collect::<Result<Vec<_>, _>>()?;
    if launches.is_empty() {
        return Ok(Status::OK);
    }
    let oldest = shared.queue().oldest_of(FLIGHTS);
    oldest.map_or(Ok(()), |ticket| shared.wait(ticket))?;
    call.submit(&launches)?;
    Ok(Status::OK)
}

/// Memory of this device for a call.
struct Here<'a> {
    device: &'a Vulkan,
    loaded: &'a Loaded,
}

impl Room for Here<'_> {
    type Memory = Arc<Memory>;

    fn workspace(&self, bytes: u64) -> Result<Arc<Memory>, DeviceFault> {
        Ok(Arc::new(Memory::new(&self.device.shared, bytes, false)?))
    }

    fn scalar(&self, bits: u64) -> Result<Arc<Memory>, DeviceFault> {
        let mut memory = Memory::new(&self.device.shared, 8, true)?;
        memory.write(&bits.to_le_bytes())?;
        Ok(Arc::new(memory))
    }

    fn constant(&self, at: usize) -> Option<Arc<Memory>> {
        self.loaded.constants.get(at).cloned().flatten()
    }

    fn bytes(&self, memory: &Arc<Memory>) -> Option<u64> {
        memory.is_of(&self.device.shared).then(|| memory.bytes())
    }
}

/// The program of a function, made ready once.
fn load(device: &Vulkan, code: DeviceCode) -> Result<Arc<Loaded>, DeviceFault> {
    let mut programs = lock(&device.programs);
    if let Some(loaded) = programs.get(&code.key()) {
        return Ok(Arc::clone(loaded));
    }
    let program = code.program("spirv")?;
    let constants = program
        .constants()
        .enumerate()
        .map(|(at, bytes)| launch::constant(code, at, bytes)?.map(|data| constant(device, data)).transpose());
    let constants = constants.collect::<Result<Vec<_>, _>>()?;
    let pipelines = Arc::new(Pipelines::new(&device.shared, &program)?);
    device.shared.write_pipelines();
    let loaded = Arc::new(Loaded { program, pipelines, constants });
    programs.insert(code.key(), Arc::clone(&loaded));
    Ok(loaded)
}

/// A constant on the device, copied once.
fn constant(device: &Vulkan, data: &'static [u8]) -> Result<Arc<Memory>, DeviceFault> {
    let mut constants = lock(&device.constants);
    let key = (data.as_ptr() as usize, data.len());
    if let Some(memory) = constants.get(&key) {
        return Ok(Arc::clone(memory));
    }
    let memory = buffer::upload_bytes(&device.shared, data)?;
    constants.insert(key, Arc::clone(&memory));
    Ok(memory)
}

/// A call whose memory is bound.
struct Call<'a> {
    shared: &'a Arc<Shared>,
    loaded: &'a Loaded,
    /// The program's buffers.
    buffers: Vec<Bound<Arc<Memory>>>,
}

/// A launch that the device allows.
struct Launch {
    pipeline: Pipeline,
    grid: [u32; 3],
    buffers: Vec<u32>,
    values: Vec<u8>,
    /// Whether what came before must be done.
    waits: bool,
}

impl Call<'_> {
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

    fn submit(&self, launches: &[Launch]) -> Result<(), DeviceFault> {
        let (descriptors, sets) = self.descriptors(launches)?;
        let kept = Kept {
            memory: self.buffers.iter().map(|bound| Arc::clone(&bound.memory)).collect(),
            pipelines: Some(Arc::clone(&self.loaded.pipelines)),
            descriptors: Some(descriptors),
        };
        self.shared.submit(kept, |device, command| {
            for (launch, set) in launches.iter().zip(&sets) {
                let [x, y, z] = launch.grid;
                let (compute, layout) = (vk::PipelineBindPoint::COMPUTE, launch.pipeline.layout);
                // SAFETY: pipelines, sets and memory are kept until the commands are done; the number of groups, of
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
        })?;
        Ok(())
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
