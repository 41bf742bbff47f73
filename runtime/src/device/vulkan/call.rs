//! A call of a program: its operands are bound, its steps become commands, and these are submitted.

use std::{sync::Arc, vec, vec::Vec};

use ash::vk;
use tenfold_abi::program::{Arg, Buffer, Place, Step};

use super::{
    Vulkan, buffer,
    memory::Memory,
    pipeline::{Pipeline, Pipelines},
    queue::{Descriptors, Kept, WORK, barrier},
    shared::{Shared, lock},
};
use crate::{DeviceCode, DeviceFault, Operands, Status, program::Program};

/// How many submissions may be on their way.
const FLIGHTS: usize = 64;

/// A program that is ready to run: read, its kernels compiled, its constants on the device.
pub(super) struct Loaded {
    program: Program<'static>,
    pipelines: Arc<Pipelines>,
    constants: Vec<Arc<Memory>>,
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
    let program = &loaded.program;
    let mut values = vec![0; program.nodes()];
    program.evaluate(operands.dims, &mut values).map_err(DeviceFault::Program)?;
    if let Some(check) = failed(program, &values) {
        return Ok(Status(i32::try_from(check).unwrap_or(i32::MAX)));
    }
    let mut call = Call { shared, loaded: &loaded, operands, values, buffers: Vec::new() };
    call.bind()?;
    let launches = call.launches()?;
    if launches.is_empty() {
        return Ok(Status::OK);
    }
    let oldest = shared.queue().oldest_of(FLIGHTS);
    oldest.map_or(Ok(()), |ticket| shared.wait(ticket))?;
    call.submit(&launches)?;
    Ok(Status::OK)
}

/// The first check that does not hold.
fn failed(program: &Program<'_>, values: &[i64]) -> Option<u32> {
    program.steps().find_map(|step| match step {
        Step::Check { holds, check } if values.get(holds as usize) == Some(&0) => Some(check),
        Step::Check { .. } | Step::Launch { .. } | Step::Barrier => None,
    })
}

/// The program of a function, made ready once.
fn load(device: &Vulkan, code: DeviceCode) -> Result<Arc<Loaded>, DeviceFault> {
    let mut programs = lock(&device.programs);
    if let Some(loaded) = programs.get(&code.address()) {
        return Ok(Arc::clone(loaded));
    }
    let program = code.program("spirv")?;
    let constants = program.constants().enumerate().map(|(at, bytes)| {
        let data = code.constants().get(at).filter(|data| data.len() == bytes).ok_or(DeviceFault::Operands)?;
        constant(device, data)
    });
    let constants = constants.collect::<Result<Vec<_>, _>>()?;
    let pipelines = Arc::new(Pipelines::new(&device.shared, &program)?);
    let loaded = Arc::new(Loaded { program, pipelines, constants });
    programs.insert(code.address(), Arc::clone(&loaded));
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

/// A call whose numbers are known.
struct Call<'a> {
    shared: &'a Arc<Shared>,
    loaded: &'a Loaded,
    operands: &'a Operands<'a, Arc<Memory>>,
    values: Vec<i64>,
    /// The program's buffers, bound.
    buffers: Vec<Bound>,
}

/// A part of memory.
#[derive(Clone)]
struct Bound {
    memory: Arc<Memory>,
    offset: u64,
    bytes: u64,
}

/// A launch whose numbers are known.
struct Launch {
    pipeline: Pipeline,
    grid: [u32; 3],
    buffers: Vec<u32>,
    values: Vec<u8>,
    /// Whether what came before must be done.
    waits: bool,
}

impl Call<'_> {
    fn value(&self, node: u32) -> i64 {
        self.values.get(node as usize).copied().unwrap_or(0)
    }

    /// Binds each buffer of the program to memory that has as many bytes as it should.
    fn bind(&mut self) -> Result<(), DeviceFault> {
        let (program, operands) = (&self.loaded.program, self.operands);
        let given = [operands.params.len(), operands.results.len(), operands.scalars.len()];
        if given != [program.params(), program.results(), program.scalars()] {
            return Err(DeviceFault::Operands);
        }
        let needed = u64::try_from(self.value(program.workspace() as u32)).map_err(|_| DeviceFault::Operands)?;
        let workspace = if needed == 0 { None } else { Some(Arc::new(Memory::new(self.shared, needed, false)?)) };
        for buffer in program.buffers() {
            let bytes = u64::try_from(self.value(buffer.bytes)).map_err(|_| DeviceFault::Operands)?;
            let bound = self.place(buffer, bytes, workspace.as_ref().map(|memory| (memory, needed)))?;
            let fits = bound.offset.checked_add(bound.bytes).is_some_and(|end| end <= bound.memory.bytes());
            if !bound.memory.is_of(self.shared) {
                return Err(DeviceFault::OtherDevice);
            }
            if !fits || !bound.offset.is_multiple_of(self.shared.limits.offset) {
                return Err(DeviceFault::Operands);
            }
            self.buffers.push(bound);
        }
        Ok(())
    }

    fn place(&self, buffer: Buffer, bytes: u64, workspace: Option<(&Arc<Memory>, u64)>) -> Result<Bound, DeviceFault> {
        let whole = |(memory, has): (&Arc<Memory>, usize)| {
            let bound = Bound { memory: Arc::clone(memory), offset: 0, bytes };
            if has as u64 == bytes { Ok(bound) } else { Err(DeviceFault::Operands) }
        };
        let operand = |all: &[(&Arc<Memory>, usize)], at: u32| {
            let found = all.get(at as usize).copied();
            found.ok_or(DeviceFault::Operands).and_then(whole)
        };
        match buffer.place {
            Place::Param(at) => operand(self.operands.params, at),
            Place::Result(at) => operand(self.operands.results, at),
            Place::Constant(at) => {
                let memory = self.loaded.constants.get(at as usize).ok_or(DeviceFault::Operands)?;
                Ok(Bound { memory: Arc::clone(memory), offset: 0, bytes })
            }
            Place::Scalar(at) => {
                let scalar = self.operands.scalars.get(at as usize).ok_or(DeviceFault::Operands)?;
                let mut memory = Memory::new(self.shared, 8, true)?;
                memory.write(&scalar.bits.to_le_bytes())?;
                Ok(Bound { memory: Arc::new(memory), offset: 0, bytes })
            }
            Place::Workspace(at) => {
                let offset = u64::try_from(self.value(at)).map_err(|_| DeviceFault::Operands)?;
                let inside = |(_, has): &(&Arc<Memory>, u64)| offset.checked_add(bytes).is_some_and(|end| end <= *has);
                match workspace.filter(inside) {
                    Some((memory, _)) => Ok(Bound { memory: Arc::clone(memory), offset, bytes }),
                    None => Err(DeviceFault::Operands),
                }
            }
        }
    }

    /// The launches that have anything to do.
    fn launches(&self) -> Result<Vec<Launch>, DeviceFault> {
        let (mut all, mut waits) = (Vec::new(), false);
        for step in self.loaded.program.steps() {
            match step {
                Step::Barrier => waits = true,
                Step::Check { .. } => {}
                Step::Launch { kernel, grid, shared, args } => {
                    let pipeline = self.loaded.pipelines.get(kernel).ok_or(DeviceFault::Operands)?;
                    let groups = grid.map(|node| self.value(node));
                    if groups.iter().any(|n| *n <= 0) {
                        continue;
                    }
                    all.push(self.launch(pipeline, groups, self.value(shared), args, waits)?);
                    waits = false;
                }
            }
        }
        Ok(all)
    }

    fn launch(
        &self,
        pipeline: Pipeline,
        groups: [i64; 3],
        shared: i64,
        args: (u32, u32),
        waits: bool,
    ) -> Result<Launch, DeviceFault> {
        let refuse = |limit| DeviceFault::Launch { kernel: pipeline.name, grid: groups, block: pipeline.block, limit };
        let axes = ["groups along x", "groups along y", "groups along z"];
        for ((n, max), axis) in groups.iter().zip(self.shared.limits.groups).zip(axes) {
            if *n > i64::from(max) {
                return Err(refuse(axis));
            }
        }
        if shared != 0 {
            return Err(refuse("bytes of shared memory that a call decides"));
        }
        let (mut buffers, mut values) = (Vec::new(), Vec::new());
        for arg in self.loaded.program.args(args) {
            let value = match arg {
                Arg::Buffer(at) => {
                    buffers.push(at);
                    continue;
                }
                Arg::I32(node) => {
                    let narrow = i32::try_from(self.value(node)).map_err(|_| refuse("elements along an axis"))?;
                    i64::from(narrow)
                }
                Arg::I64(node) => self.value(node),
                Arg::Scalar(at, dtype) => {
                    let scalar = self.operands.scalars.get(at as usize).filter(|scalar| scalar.dtype == dtype);
                    scalar.ok_or(DeviceFault::Operands)?.bits as i64
                }
            };
            values.extend(value.to_le_bytes());
        }
        let large = |at: &u32| self.buffers.get(*at as usize).is_none_or(|it| it.bytes > self.shared.limits.range);
        if buffers.iter().any(large) {
            return Err(refuse("bytes of a buffer"));
        }
        Ok(Launch { pipeline, grid: groups.map(|n| n as u32), buffers, values, waits })
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
