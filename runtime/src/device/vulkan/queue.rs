//! The queue: work that was submitted, in its order, and what it holds until it is done.

use std::{collections::VecDeque, sync::Arc, vec::Vec};

use ash::vk;

use super::{event::Time, memory::Memory, pipeline::Pipelines, recording::Recording, shared::Shared};
use crate::DeviceFault;

/// The queue of a device. Who has it has the lock around it.
pub(super) struct Queue {
    raw: vk::Queue,
    family: u32,
    /// None until the first submission.
    pool: vk::CommandPool,
    /// Commands that were done.
    spare: Vec<vk::CommandBuffer>,
    flights: VecDeque<Flight>,
    last: u64,
}

/// What must live until a submission is done.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) memory: Vec<Arc<Memory>>,
    #[expect(dead_code, reason = "nobody reads what is held so that it lives")]
    pub(super) pipelines: Option<Arc<Pipelines>>,
    #[expect(dead_code, reason = "as above")]
    pub(super) descriptors: Option<Descriptors>,
    #[expect(dead_code, reason = "as above")]
    pub(super) time: Option<Arc<Time>>,
    /// Commands that are not the submission's own, and hold what they name.
    pub(super) recording: Option<Arc<Recording>>,
}

/// A submission that is on its way.
pub(super) struct Flight {
    ticket: u64,
    fence: Arc<Fence>,
    /// The commands, if nobody else submits them.
    own: Option<vk::CommandBuffer>,
    _kept: Kept,
}

/// What says that a submission is done. Who waits for it holds it.
pub(super) struct Fence {
    pub(super) raw: vk::Fence,
    shared: Arc<Shared>,
}

impl Drop for Fence {
    fn drop(&mut self) {
        // SAFETY: nobody waits for it, and its submission is done or was never made.
        unsafe { self.shared.raw.destroy_fence(self.raw, None) };
    }
}

/// The sets of descriptors of one submission.
pub(super) struct Descriptors {
    pub(super) pool: vk::DescriptorPool,
    pub(super) shared: Arc<Shared>,
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: the submission that uses them is done or was never made.
        unsafe { self.shared.raw.destroy_descriptor_pool(self.pool, None) };
    }
}

impl Queue {
    pub(super) fn new(device: &ash::Device, family: u32) -> Self {
        // SAFETY: the device was opened with one queue of this family.
        let raw = unsafe { device.get_device_queue(family, 0) };
        let (pool, spare, flights) = (vk::CommandPool::null(), Vec::new(), VecDeque::new());
        Self { raw, family, pool, spare, flights, last: 0 }
    }

    /// The ticket of the last submission.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The ticket of the oldest submission that is on its way, if there are so many.
    pub(super) fn oldest_of(&self, many: usize) -> Option<u64> {
        self.flights.front().filter(|_| self.flights.len() >= many).map(|flight| flight.ticket)
    }

    /// The fence to wait for until the submission of this ticket is done; none if it is.
    pub(super) fn fence_of(&self, ticket: u64) -> Option<Arc<Fence>> {
        let flight = self.flights.iter().find(|flight| flight.ticket >= ticket)?;
        // A later one that is on its way says nothing of one that is done.
        (flight.ticket == ticket).then(|| Arc::clone(&flight.fence))
    }

    /// Takes out what is done. A device that says here that it is lost, which may be the first to ask, is known as lost.
    pub(super) fn done(&mut self, shared: &Shared) -> Vec<Flight> {
        let mut done = Vec::new();
        // SAFETY: a fence lives as long as its flight.
        let is_done = |flight: &Flight| match unsafe { shared.raw.get_fence_status(flight.fence.raw) } {
            Ok(is_done) => is_done,
            Err(code) => {
                shared.fault("vkGetFenceStatus", code);
                false
            }
        };
        while self.flights.front().is_some_and(is_done)
            && let Some(flight) = self.flights.pop_front()
        {
            self.spare.extend(flight.own);
            done.push(flight);
        }
        done
    }

    /// Takes out all. The caller has waited for the device.
    pub(super) fn take(&mut self) -> VecDeque<Flight> {
        self.spare.extend(self.flights.iter().filter_map(|flight| flight.own));
        core::mem::take(&mut self.flights)
    }

    /// Records and submits commands, and gives their ticket.
    pub(super) fn submit(
        &mut self,
        shared: &Arc<Shared>,
        kept: Kept,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<u64, DeviceFault> {
        let command = self.command(shared)?;
        let recorded = self.record(shared, command, vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT, record);
        let sent = recorded.and_then(|()| self.send(shared, command, kept));
        if sent.is_err() && shared.alive().is_ok() {
            self.spare.push(command);
        }
        sent
    }

    /// Records commands that may be submitted again while they are on their way.
    pub(super) fn record_again(
        &mut self,
        shared: &Shared,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<vk::CommandBuffer, DeviceFault> {
        let command = self.command(shared)?;
        let recorded = self.record(shared, command, vk::CommandBufferUsageFlags::SIMULTANEOUS_USE, record);
        if recorded.is_err() {
            self.spare.push(command);
        }
        recorded.map(|()| command)
    }

    /// Submits what was recorded, and gives its ticket.
    pub(super) fn submit_again(
        &mut self,
        shared: &Arc<Shared>,
        recording: &Arc<Recording>,
    ) -> Result<u64, DeviceFault> {
        let kept = Kept { recording: Some(Arc::clone(recording)), ..Kept::default() };
        self.send(shared, recording.command, kept)
    }

    /// Takes back commands that are on no way.
    pub(super) fn give_back(&mut self, command: vk::CommandBuffer) {
        self.spare.push(command);
    }

    fn send(&mut self, shared: &Arc<Shared>, command: vk::CommandBuffer, kept: Kept) -> Result<u64, DeviceFault> {
        let device = &shared.raw;
        // SAFETY: the device lives.
        let raw = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) };
        let raw = raw.map_err(|code| shared.fault("vkCreateFence", code))?;
        let fence = Arc::new(Fence { raw, shared: Arc::clone(shared) });
        let commands = [command];
        let info = vk::SubmitInfo::default().command_buffers(&commands);
        // SAFETY: the lock keeps others from the queue; what the commands name is in `kept`.
        let submitted = unsafe { device.queue_submit(self.raw, &[info], fence.raw) };
        let submitted = submitted.map_err(|code| shared.fault("vkQueueSubmit", code));
        if submitted.is_err() && shared.alive().is_ok() {
            return submitted.map(|()| 0);
        }
        // Where the device was lost, nobody knows whether it has begun: it is kept until the device is idle.
        self.last += 1;
        let (own, named) = match &kept.recording {
            Some(recording) => (None, &recording.kept.memory),
            None => (Some(command), &kept.memory),
        };
        named.iter().for_each(|memory| memory.used_by(self.last));
        self.flights.push_back(Flight { ticket: self.last, fence, own, _kept: kept });
        submitted.map(|()| self.last)
    }

    fn command(&mut self, shared: &Shared) -> Result<vk::CommandBuffer, DeviceFault> {
        if let Some(command) = self.spare.pop() {
            return Ok(command);
        }
        let fault = |code| shared.fault("vkAllocateCommandBuffers", code);
        if self.pool == vk::CommandPool::null() {
            let flags = vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER;
            let info = vk::CommandPoolCreateInfo::default().queue_family_index(self.family).flags(flags);
            // SAFETY: the device lives.
            self.pool = unsafe { shared.raw.create_command_pool(&info, None) }.map_err(fault)?;
        }
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
        // SAFETY: the pool lives, and the lock keeps others from it.
        let commands = unsafe { shared.raw.allocate_command_buffers(&info) }.map_err(fault)?;
        commands.into_iter().next().ok_or(DeviceFault::Driver { call: "vkAllocateCommandBuffers", code: 0 })
    }

    /// Records commands between what came before on the queue and on the processor, and what comes behind.
    fn record(
        &self,
        shared: &Shared,
        command: vk::CommandBuffer,
        usage: vk::CommandBufferUsageFlags,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<(), DeviceFault> {
        let device = &shared.raw;
        let info = vk::CommandBufferBeginInfo::default().flags(usage);
        let fault = |code| shared.fault("vkBeginCommandBuffer", code);
        // SAFETY: the commands are on no way, and the lock keeps others from their pool.
        unsafe {
            device.begin_command_buffer(command, &info).map_err(fault)?;
            barrier(device, command, WORK | vk::PipelineStageFlags::HOST, WORK);
            record(device, command);
            barrier(device, command, WORK, vk::PipelineStageFlags::HOST);
            device.end_command_buffer(command).map_err(fault)
        }
    }

    /// # Safety
    ///
    /// Nothing is on its way.
    pub(super) unsafe fn destroy(&mut self, device: &ash::Device) {
        self.spare.clear();
        // SAFETY: as the caller says; with the pool go its commands.
        unsafe { device.destroy_command_pool(self.pool, None) };
    }
}

/// Where kernels and copies run.
pub(super) const WORK: vk::PipelineStageFlags = vk::PipelineStageFlags::from_raw(
    vk::PipelineStageFlags::COMPUTE_SHADER.as_raw() | vk::PipelineStageFlags::TRANSFER.as_raw(),
);

/// Lets what comes behind wait for what came before, and see what it wrote.
///
/// # Safety
///
/// The commands are being recorded.
pub(super) unsafe fn barrier(
    device: &ash::Device,
    command: vk::CommandBuffer,
    before: vk::PipelineStageFlags,
    behind: vk::PipelineStageFlags,
) {
    let wrote = vk::AccessFlags::MEMORY_WRITE;
    let uses = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
    let all = [vk::MemoryBarrier::default().src_access_mask(wrote).dst_access_mask(uses)];
    // SAFETY: as the caller says.
    unsafe { device.cmd_pipeline_barrier(command, before, behind, vk::DependencyFlags::empty(), &all, &[], &[]) };
}
