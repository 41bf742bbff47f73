//! GPUs reached through Vulkan, whose loader is opened when a program asks for a device.
//!
//! One queue for each device that is opened: work runs in the order in which it is submitted, whatever stream it came
//! from, so a stream is a handle. Each submission has a number, its ticket. Memory that a submission uses is kept until
//! its fence says that it is done.
//!
//! What must hold here, because Vulkan checks none of it: objects outlive the work that names them; the queue and the
//! pool of its commands are used under one lock; memory is read and written by the processor only when no submission
//! that names it is on its way.

mod buffer;
mod cache;
mod call;
mod event;
mod instance;
mod memory;
mod pipeline;
mod properties;
mod queue;
mod recording;
mod shared;

use std::{path::PathBuf, sync::Arc, vec::Vec};

pub use instance::VulkanInfo;

use super::{Device, DeviceCode, DeviceFault, Operands, Stream, sealed, store::Store};
use crate::{DeviceKind, Element, Error, Status};
use call::Loaded;
use event::Event;
use memory::Memory;
use recording::Recording;
use shared::Shared;

/// A GPU, or what behaves like one, opened through Vulkan.
///
/// ```
/// use tenfold::{DeviceTensor, Dyn, Tensor, Vulkan};
///
/// let gpu = match Vulkan::new() {
///     Ok(gpu) => gpu,
///     Err(why) => return println!("no GPU here: {why}"),
/// };
/// let x: Tensor<f32, (Dyn,)> = vec![1.0, 2.0].into();
/// let there = DeviceTensor::upload(&gpu, x.view()).unwrap();
/// assert_eq!(there.download(&gpu).unwrap(), x);
/// ```
pub struct Vulkan {
    shared: Arc<Shared>,
    store: Store<Loaded, Memory>,
}

/// Elements in the memory of a [`Vulkan`].
#[derive(Debug)]
pub struct VulkanBuffer<T> {
    memory: Arc<Memory>,
    len: usize,
    elements: core::marker::PhantomData<fn() -> T>,
}

impl Vulkan {
    /// Opens the device that `TENFOLD_VULKAN_DEVICE` names as [`Vulkan::open`] takes it; without it the first GPU with
    /// memory of its own, else the first GPU, else the first device.
    ///
    /// # Errors
    ///
    /// There is no driver, or no such device.
    pub fn new() -> Result<Self, Error> {
        match std::env::var("TENFOLD_VULKAN_DEVICE") {
            Ok(name) if !name.is_empty() => Self::open(&name),
            _ => Self::from_instance(instance::best),
        }
    }

    /// Opens the device of this number or type (`discrete`, `integrated`, `virtual`, `cpu`), or else the first whose
    /// name contains `name`, small and capital letters alike.
    ///
    /// # Errors
    ///
    /// There is no driver, or no such device.
    pub fn open(name: &str) -> Result<Self, Error> {
        Self::from_instance(|devices| instance::choose(devices, name))
    }

    /// Keeps what the driver makes of kernels in a file, so that later processes need not compile them again: it is read
    /// now, and written when a kernel is new to it. `TENFOLD_VULKAN_CACHE` names such a file for every device that is
    /// opened.
    ///
    /// A file that is missing, damaged, or of another device or driver is as good as none and is written anew; one that
    /// cannot be written is left. Kernels are compiled then as they are without. A file is written as a whole: processes
    /// may share one, which then holds what one of them wrote.
    #[must_use]
    pub fn with_pipelines(self, path: impl Into<PathBuf>) -> Self {
        self.shared.keep_pipelines(path.into());
        self
    }

    /// The devices that there are, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// There is no driver.
    pub fn devices() -> Result<Vec<VulkanInfo>, Error> {
        let instance = instance::Instance::new().map_err(fault)?;
        Ok(instance.devices().map_err(fault)?.into_iter().map(|(_, info)| info).collect())
    }

    /// Which device this is.
    pub fn info(&self) -> &VulkanInfo {
        &self.shared.info
    }

    fn from_instance(choose: impl FnOnce(&[VulkanInfo]) -> Option<usize>) -> Result<Self, Error> {
        let instance = instance::Instance::new().map_err(fault)?;
        let devices = instance.devices().map_err(fault)?;
        let infos: Vec<VulkanInfo> = devices.iter().map(|(_, info)| info.clone()).collect();
        let chosen = choose(&infos).and_then(|at| devices.get(at)).ok_or(fault(DeviceFault::NoDevice))?;
        let shared = Shared::open(instance, chosen.0, chosen.1.clone()).map_err(fault)?;
        let shared = Arc::new(shared);
        let this = Self { shared, store: Store::default() };
        Ok(match std::env::var_os("TENFOLD_VULKAN_CACHE") {
            Some(path) if !path.is_empty() => this.with_pipelines(path),
            _ => this,
        })
    }
}

/// The error of a call.
fn fault(why: DeviceFault) -> Error {
    Error::Device { kind: DeviceKind::Vulkan, why }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        self.shared.drain();
    }
}

impl core::fmt::Debug for Vulkan {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Vulkan({})", self.shared.info.name)
    }
}

impl sealed::Sealed for Vulkan {}

impl Device for Vulkan {
    type Buffer<T: Element> = VulkanBuffer<T>;
    type Memory = Arc<Memory>;
    type Recording = Option<Arc<Recording>>;
    type Event = Event;
    type Fetch<T: Element> = VulkanBuffer<T>;

    fn kind(&self) -> DeviceKind {
        DeviceKind::Vulkan
    }

    fn stream(&self) -> Result<Stream<'_, Self>, Error> {
        self.shared.alive().map_err(fault)?;
        Ok(Stream::new(self))
    }

    fn synchronize(&self, _: &Stream<'_, Self>) -> Result<(), Error> {
        self.shared.wait_for_all().map_err(fault)
    }

    fn upload<T: Element>(&self, data: &[T]) -> Result<VulkanBuffer<T>, Error> {
        buffer::upload(self, data).map_err(fault)
    }

    fn write<T: Element>(&self, to: &mut VulkanBuffer<T>, data: &[T]) -> Result<(), Error> {
        buffer::write(self, to, data).map_err(fault)
    }

    fn zeros<T: Element>(&self, len: usize) -> Result<VulkanBuffer<T>, Error> {
        buffer::zeros(self, len).map_err(fault)
    }

    fn download<T: Element>(&self, from: &VulkanBuffer<T>, data: &mut [T]) -> Result<(), Error> {
        buffer::download(self, from, data).map_err(fault)
    }

    fn fetch<T: Element>(&self, from: &VulkanBuffer<T>) -> Result<VulkanBuffer<T>, Error> {
        buffer::fetch(self, from).map_err(fault)
    }

    fn fetched<T: Element>(&self, fetch: VulkanBuffer<T>, data: &mut [T]) -> Result<(), Error> {
        buffer::download(self, &fetch, data).map_err(fault)
    }

    fn host<T: Element>(_: &VulkanBuffer<T>) -> Option<&[T]> {
        None
    }

    fn host_mut<T: Element>(_: &mut VulkanBuffer<T>) -> Option<&mut [T]> {
        None
    }

    fn memory<T: Element>(buffer: &VulkanBuffer<T>) -> Option<&Arc<Memory>> {
        Some(&buffer.memory)
    }

    unsafe fn run(&self, code: DeviceCode, operands: &Operands<'_, Arc<Memory>>) -> Result<Status, Error> {
        call::run(self, code, operands).map_err(fault)
    }

    fn record(
        &self,
        code: DeviceCode,
        operands: &Operands<'_, Arc<Memory>>,
    ) -> Result<Result<Self::Recording, Status>, Error> {
        recording::record(self, code, operands).map_err(fault)
    }

    unsafe fn replay(&self, recording: &mut Self::Recording) -> Result<(), Error> {
        recording::replay(self, recording).map_err(fault)
    }

    fn event(&self) -> Result<Event, Error> {
        Event::new(&self.shared).map_err(fault)
    }

    fn is_done(&self, event: &Event) -> Result<bool, Error> {
        event.is_done().map_err(fault)
    }

    fn wait_for(&self, event: &Event) -> Result<(), Error> {
        event.wait().map_err(fault)
    }

    fn between(&self, from: &Event, to: &Event) -> Result<core::time::Duration, Error> {
        if !from.is_of(&self.shared) || !to.is_of(&self.shared) {
            return Err(fault(DeviceFault::OtherDevice));
        }
        from.until(to).map_err(fault)
    }
}
