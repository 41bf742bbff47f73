//! NVIDIA's GPUs reached through CUDA's driver, which is opened when a program asks for a device.
//!
//! One stream for each device that is opened, on the context that all of a program's users of CUDA share: work runs in the
//! order in which it is submitted, and memory goes back in that order too, so nothing has to be kept for it.

mod api;
mod call;
mod context;
mod event;
mod graph;
mod interop;
mod load;
mod maps;
mod memory;
mod pool;
mod staging;

use core::{marker::PhantomData, mem::size_of_val};
use std::{sync::Arc, vec::Vec};

pub use context::CudaInfo;

use super::{Device, DeviceCode, DeviceFault, Operands, Stream, make_valid, sealed, store::Store};
use crate::{DeviceKind, Element, Error, Status};
use call::Loaded;
use context::Context;
use event::Event;
use graph::Recording;
use memory::Memory;
use staging::Fetch;

/// A GPU of NVIDIA's, opened through CUDA.
///
/// ```
/// use tenfold::{Cuda, DeviceTensor, Dyn, Tensor};
///
/// let gpu = match Cuda::new() {
///     Ok(gpu) => gpu,
///     Err(why) => return println!("no GPU here: {why}"),
/// };
/// let x: Tensor<f32, (Dyn,)> = vec![1.0, 2.0].into();
/// let there = DeviceTensor::upload(&gpu, x.view()).unwrap();
/// assert_eq!(there.download(&gpu).unwrap(), x);
/// ```
pub struct Cuda {
    context: Arc<Context>,
    store: Store<Loaded, Memory>,
}

/// Elements in the memory of a [`Cuda`].
#[derive(Debug)]
pub struct CudaBuffer<T> {
    memory: Arc<Memory>,
    len: usize,
    elements: PhantomData<fn() -> T>,
}

impl Cuda {
    /// Opens the first device. `CUDA_VISIBLE_DEVICES` says which that is.
    ///
    /// # Errors
    ///
    /// There is no driver, or no device.
    pub fn new() -> Result<Self, Error> {
        Self::open(0)
    }

    /// Opens the device of this number.
    ///
    /// # Errors
    ///
    /// There is no driver, or no such device.
    pub fn open(index: usize) -> Result<Self, Error> {
        let info = context::devices().map_err(fault)?.into_iter().nth(index).ok_or(fault(DeviceFault::NoDevice))?;
        let context = Arc::new(Context::open(info).map_err(fault)?);
        Ok(Self { context, store: Store::default() })
    }

    /// The devices that there are, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// There is no driver, or no device.
    pub fn devices() -> Result<Vec<CudaInfo>, Error> {
        context::devices().map_err(fault)
    }

    /// Which device this is.
    pub fn info(&self) -> &CudaInfo {
        &self.context.info
    }

    /// That a buffer is this device's, and as long as it should be.
    fn own<T>(&self, buffer: &CudaBuffer<T>, len: usize) -> Result<(), DeviceFault> {
        match Arc::ptr_eq(&buffer.memory.context, &self.context) {
            false => Err(DeviceFault::OtherDevice),
            true if buffer.len != len => Err(DeviceFault::Operands),
            true => Ok(()),
        }
    }

    fn room<T: Element>(&self, len: usize) -> Result<(Memory, u64), DeviceFault> {
        let bytes = (len as u64).checked_mul(size_of::<T>() as u64);
        let bytes = bytes.ok_or(DeviceFault::OutOfMemory { bytes: u64::MAX })?;
        Ok((Memory::new(&self.context, bytes)?, bytes))
    }
}

/// The bytes of elements.
fn bytes<T: Element>(data: &[T]) -> &[u8] {
    // SAFETY: elements are plain numbers without padding, so each of their bytes can be read.
    unsafe { core::slice::from_raw_parts(data.as_ptr().cast::<u8>(), size_of_val(data)) }
}

/// Has elements written as bytes.
fn into<T: Element>(
    data: &mut [T],
    write: impl FnOnce(&mut [u8]) -> Result<(), DeviceFault>,
) -> Result<(), DeviceFault> {
    let len = size_of_val(data);
    // SAFETY: elements are plain numbers without padding; below, bytes become none that an element cannot have.
    let bytes = unsafe { core::slice::from_raw_parts_mut(data.as_mut_ptr().cast::<u8>(), len) };
    let written = write(bytes);
    make_valid(T::DTYPE, bytes);
    written
}

/// The error of a call.
fn fault(why: DeviceFault) -> Error {
    Error::Device { kind: DeviceKind::Cuda, why }
}

impl core::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Cuda({})", self.context.info.name)
    }
}

impl sealed::Sealed for Cuda {}

impl Device for Cuda {
    type Buffer<T: Element> = CudaBuffer<T>;
    type Memory = Arc<Memory>;
    type Recording = Recording;
    type Event = Event;
    type Fetch<T: Element> = Fetch;

    fn kind(&self) -> DeviceKind {
        DeviceKind::Cuda
    }

    fn stream(&self) -> Result<Stream<'_, Self>, Error> {
        self.context.alive().map_err(fault)?;
        Ok(Stream::new(self))
    }

    fn synchronize(&self, _: &Stream<'_, Self>) -> Result<(), Error> {
        self.context.wait().map_err(fault)
    }

    fn upload<T: Element>(&self, data: &[T]) -> Result<CudaBuffer<T>, Error> {
        let (memory, _) = self.room::<T>(data.len()).map_err(fault)?;
        memory.write(bytes(data)).map_err(fault)?;
        Ok(CudaBuffer { memory: Arc::new(memory), len: data.len(), elements: PhantomData })
    }

    fn write<T: Element>(&self, to: &mut CudaBuffer<T>, data: &[T]) -> Result<(), Error> {
        self.own(to, data.len()).map_err(fault)?;
        to.memory.write(bytes(data)).map_err(fault)
    }

    fn zeros<T: Element>(&self, len: usize) -> Result<CudaBuffer<T>, Error> {
        let (memory, _) = self.room::<T>(len).map_err(fault)?;
        memory.clear().map_err(fault)?;
        Ok(CudaBuffer { memory: Arc::new(memory), len, elements: PhantomData })
    }

    fn download<T: Element>(&self, from: &CudaBuffer<T>, data: &mut [T]) -> Result<(), Error> {
        self.own(from, data.len()).map_err(fault)?;
        into(data, |bytes| from.memory.read(bytes)).map_err(fault)
    }

    fn fetch<T: Element>(&self, from: &CudaBuffer<T>) -> Result<Fetch, Error> {
        self.own(from, from.len).map_err(fault)?;
        Fetch::new(&self.context, from.memory.at, from.len * size_of::<T>()).map_err(fault)
    }

    fn fetched<T: Element>(&self, fetch: Fetch, data: &mut [T]) -> Result<(), Error> {
        if !fetch.is_of(&self.context) {
            return Err(fault(DeviceFault::OtherDevice));
        }
        into(data, |bytes| fetch.finish(bytes)).map_err(fault)
    }

    fn host<T: Element>(_: &CudaBuffer<T>) -> Option<&[T]> {
        None
    }

    fn host_mut<T: Element>(_: &mut CudaBuffer<T>) -> Option<&mut [T]> {
        None
    }

    fn memory<T: Element>(buffer: &CudaBuffer<T>) -> Option<&Arc<Memory>> {
        Some(&buffer.memory)
    }

    unsafe fn run(&self, code: DeviceCode, operands: &Operands<'_, Arc<Memory>>) -> Result<Status, Error> {
        call::run(self, code, operands).map_err(fault)
    }

    fn record(
        &self,
        code: DeviceCode,
        operands: &Operands<'_, Arc<Memory>>,
    ) -> Result<Result<Recording, Status>, Error> {
        graph::record(self, code, operands).map_err(fault)
    }

    unsafe fn replay(&self, recording: &mut Recording) -> Result<(), Error> {
        graph::replay(self, recording).map_err(fault)
    }

    fn event(&self) -> Result<Event, Error> {
        Event::new(&self.context).map_err(fault)
    }

    fn is_done(&self, event: &Event) -> Result<bool, Error> {
        event.is_done().map_err(fault)
    }

    fn wait_for(&self, event: &Event) -> Result<(), Error> {
        event.wait().map_err(fault)
    }

    fn between(&self, from: &Event, to: &Event) -> Result<core::time::Duration, Error> {
        if !from.is_of(&self.context) || !to.is_of(&self.context) {
            return Err(fault(DeviceFault::OtherDevice));
        }
        from.until(to).map_err(fault)
    }
}
