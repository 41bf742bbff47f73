//! An opened device: what its memory, its kernels and its queue share.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
    sync::{Arc, Mutex, MutexGuard},
    vec::Vec,
};

use ash::vk;

use super::{
    cache::{Identity, Kept as KeptPipelines},
    event::Clock,
    instance::{Instance, VulkanInfo},
    memory::Block,
    properties::{self, Limits, Switches},
    queue::{Fence, Kept, Queue},
    recording::Recording,
};
use crate::{DeviceFault, device::store::lock};

/// How many submissions may be on their way.
const FLIGHTS: usize = 64;

/// An opened device.
pub(super) struct Shared {
    pub(super) info: VulkanInfo,
    pub(super) limits: Limits,
    pub(super) clock: Clock,
    /// A bit for each feature that it has.
    pub(super) features: u64,
    pub(super) memories: vk::PhysicalDeviceMemoryProperties,
    pub(super) cache: vk::PipelineCache,
    pub(super) identity: Identity,
    pub(super) kept: KeptPipelines,
    /// Memory that nobody uses any more, by how large it is and whether the processor reaches it.
    pub(super) spare: Mutex<HashMap<(u64, bool), Vec<Block>>>,
    pub(super) raw: ash::Device,
    queue: Mutex<Queue>,
    lost: AtomicBool,
    _instance: Instance,
}

impl Shared {
    /// Opens a device of an instance.
    pub(super) fn open(instance: Instance, device: vk::PhysicalDevice, info: VulkanInfo) -> Result<Self, DeviceFault> {
        // SAFETY: the device is the instance's.
        let (properties, families, memories) = unsafe {
            (
                instance.raw.get_physical_device_properties(device),
                instance.raw.get_physical_device_queue_family_properties(device),
                instance.raw.get_physical_device_memory_properties(device),
            )
        };
        let (version, identity) = (properties.api_version.min(instance.version), Identity::of(&properties));
        if version < vk::API_VERSION_1_1 {
            return Err(DeviceFault::OldDriver { lacks: "Vulkan 1.1" });
        }
        let computes = |family: &vk::QueueFamilyProperties| family.queue_flags.contains(vk::QueueFlags::COMPUTE);
        let family = families.iter().position(computes).ok_or(DeviceFault::NoDevice)?;
        let clock = Clock { bits: families[family].timestamp_valid_bits, period: properties.limits.timestamp_period };
        let family = family as u32;
        let mut switches = Switches::of(&instance, device, version);
        let (limits, features) = properties::query(&instance, device, &switches);
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
        let raw = switches.with(|extensions, switches| {
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
            let info = info.enabled_extension_names(extensions).push_next(switches);
            // SAFETY: the device is the instance's, and what `info` points to lives until the call is over.
            unsafe { instance.raw.create_device(device, &info, None) }
        });
        let raw = raw.map_err(|code| refused("vkCreateDevice", code))?;
        let queue = Mutex::new(Queue::new(&raw, family));
        // SAFETY: the device was opened. Without a cache pipelines are made as well, only later.
        let cache = unsafe { raw.create_pipeline_cache(&vk::PipelineCacheCreateInfo::default(), None) };
        Ok(Self {
            info,
            limits,
            clock,
            features,
            memories,
            cache: cache.unwrap_or_default(),
            identity,
            kept: KeptPipelines::default(),
            spare: Mutex::default(),
            raw,
            queue,
            lost: AtomicBool::new(false),
            _instance: instance,
        })
    }

    /// That the device is not lost.
    pub(super) fn alive(&self) -> Result<(), DeviceFault> {
        if self.lost.load(Ordering::Acquire) { Err(DeviceFault::Lost) } else { Ok(()) }
    }

    /// The fault of a call of the driver; one that says that the device is lost is remembered.
    pub(super) fn fault(&self, call: &'static str, code: vk::Result) -> DeviceFault {
        if code == vk::Result::ERROR_DEVICE_LOST {
            self.lost.store(true, Ordering::Release);
        }
        refused(call, code)
    }

    pub(super) fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    /// Submits commands, with what must live until they are done, and gives their ticket.
    pub(super) fn submit(
        self: &Arc<Self>,
        keep: Kept,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<u64, DeviceFault> {
        self.alive()?;
        self.send(|queue| queue.submit(self, keep, record))
    }

    /// Submits what was recorded, and gives its ticket.
    pub(super) fn submit_again(self: &Arc<Self>, recording: &Arc<Recording>) -> Result<u64, DeviceFault> {
        self.alive()?;
        self.send(|queue| queue.submit_again(self, recording))
    }

    fn send(&self, send: impl FnOnce(&mut Queue) -> Result<u64, DeviceFault>) -> Result<u64, DeviceFault> {
        let mut queue = self.queue();
        let done = queue.done(self);
        let sent = self.alive().and_then(|()| send(&mut queue));
        drop(queue);
        // What is done lets go of its memory and its commands here, without the lock.
        drop(done);
        sent
    }

    /// Waits while as many submissions are on their way as may be.
    pub(super) fn wait_for_room(&self) -> Result<(), DeviceFault> {
        let oldest = self.queue().oldest_of(FLIGHTS);
        oldest.map_or(Ok(()), |ticket| self.wait(ticket))
    }

    /// Waits until the submission of this ticket, and so each before it, is done.
    pub(super) fn wait(&self, ticket: u64) -> Result<(), DeviceFault> {
        self.alive()?;
        let fence = self.queue().fence_of(ticket);
        fence.map_or(Ok(()), |fence| self.wait_for(&fence))?;
        let done = self.queue().done(self);
        drop(done);
        Ok(())
    }

    /// Whether the submission of this ticket is done. On a lost device none ever is, so that is said.
    pub(super) fn is_done(&self, ticket: u64) -> Result<bool, DeviceFault> {
        self.alive()?;
        let done = self.queue().done(self);
        drop(done);
        self.alive()?;
        Ok(self.queue().fence_of(ticket).is_none())
    }

    /// Waits until all that was submitted is done.
    pub(super) fn wait_for_all(&self) -> Result<(), DeviceFault> {
        let last = self.queue().last();
        self.wait(last)
    }

    fn wait_for(&self, fence: &Fence) -> Result<(), DeviceFault> {
        // SAFETY: the fence lives, and nobody resets it.
        let done = unsafe { self.raw.wait_for_fences(&[fence.raw], true, u64::MAX) };
        done.map_err(|code| self.fault("vkWaitForFences", code))
    }

    /// Waits for the device and lets go of all that was on its way.
    pub(super) fn drain(&self) {
        let mut queue = self.queue();
        // SAFETY: the lock keeps others from submitting. A lost device is idle in the end, too.
        let _ = unsafe { self.raw.device_wait_idle() };
        let flights = queue.take();
        drop(queue);
        drop(flights);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: nobody holds the device any more, so nothing is on its way and nothing made of it is left but this.
        unsafe {
            let _ = self.raw.device_wait_idle();
            for block in lock(&self.spare).drain().flat_map(|(_, blocks)| blocks) {
                block.free(&self.raw);
            }
            self.raw.destroy_pipeline_cache(self.cache, None);
            lock(&self.queue).destroy(&self.raw);
            self.raw.destroy_device(None);
        }
    }
}

impl core::fmt::Debug for Shared {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.info.name)
    }
}

/// The fault of a call of the driver.
pub(super) fn refused(call: &'static str, code: vk::Result) -> DeviceFault {
    match code {
        vk::Result::ERROR_DEVICE_LOST => DeviceFault::Lost,
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY => {
            DeviceFault::OutOfMemory { bytes: 0 }
        }
        code => DeviceFault::Driver { call, code: code.as_raw() },
    }
}
