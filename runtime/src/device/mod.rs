//! Where functions run: the one trait of devices, and the processor as the first of them.
//!
//! A device opens without fear: absence is a typed error. Tensors on a device are `Send`; streams
//! are not `Sync`.

mod code;
mod cpu;
#[cfg(feature = "cuda")]
#[allow(unsafe_code, reason = "CUDA is an interface of C's")]
mod cuda;
#[cfg(feature = "std")]
mod event;
mod fault;
#[cfg(any(feature = "cuda", feature = "vulkan"))]
mod launch;
mod on;
#[cfg(feature = "std")]
mod recorded;
#[cfg(any(feature = "cuda", feature = "vulkan"))]
mod store;
#[cfg(feature = "alloc")]
mod tensor;
#[cfg(feature = "vulkan")]
#[allow(unsafe_code, reason = "Vulkan is an interface of C's")]
mod vulkan;

pub use code::{DeviceCode, Operands, ScalarBits};
pub use cpu::Cpu;
#[cfg(feature = "cuda")]
pub use cuda::{Cuda, CudaInfo};
#[cfg(feature = "std")]
pub use event::Event;
pub use fault::DeviceFault;
pub use on::On;
#[cfg(feature = "alloc")]
pub use tensor::{DeviceTensor, Download};
#[cfg(feature = "vulkan")]
pub use vulkan::{Vulkan, VulkanInfo};

#[cfg(feature = "alloc")]
use crate::Element;
use crate::{DeviceKind, Error, Status};
use core::{cell::Cell, fmt, marker::PhantomData};

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A device: its memory, copies from and to it, and waiting for it.
///
/// The trait is sealed; devices come as features of this crate.
///
/// ```
/// use tenfold::{Cpu, Device, DeviceKind};
///
/// assert_eq!(Cpu.kind(), DeviceKind::Cpu);
/// let stream = Cpu.stream()?;
/// stream.synchronize()?;
/// # Ok::<(), tenfold::Error>(())
/// ```
pub trait Device: sealed::Sealed + Sized {
    /// Elements in the memory of the device.
    #[cfg(feature = "alloc")]
    type Buffer<T: Element>: Send;

    /// Elements on their way from the device.
    #[doc(hidden)]
    #[cfg(feature = "alloc")]
    type Fetch<T: Element>: Send;

    /// Memory of the device, whatever its elements are. It is equal to itself alone.
    #[doc(hidden)]
    type Memory: Clone + PartialEq + Send + Sync;

    /// A call that was recorded.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    type Recording: Send;

    /// A point in the work of the device.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    type Event: Send + Sync;

    /// What kind of device this is.
    fn kind(&self) -> DeviceKind;

    /// A new stream: work in one stream runs in order.
    ///
    /// # Errors
    ///
    /// The device has none left.
    fn stream(&self) -> Result<Stream<'_, Self>, Error>;

    /// Waits until all work of a stream is done.
    ///
    /// # Errors
    ///
    /// The device has failed.
    fn synchronize(&self, stream: &Stream<'_, Self>) -> Result<(), Error>;

    /// Copies elements to the device.
    ///
    /// # Errors
    ///
    /// The device has no memory left, or has failed.
    #[cfg(feature = "alloc")]
    fn upload<T: Element>(&self, data: &[T]) -> Result<Self::Buffer<T>, Error>;

    /// Copies elements to the device, in the place of those of a buffer, which is as long as `data`. Work that was submitted
    /// before sees those that were.
    ///
    /// # Errors
    ///
    /// The device has no memory left, or has failed.
    #[cfg(feature = "alloc")]
    fn write<T: Element>(&self, to: &mut Self::Buffer<T>, data: &[T]) -> Result<(), Error>;

    /// So many elements in the memory of the device, each of which is 0.
    ///
    /// # Errors
    ///
    /// The device has no memory left, or has failed.
    #[cfg(feature = "alloc")]
    fn zeros<T: Element>(&self, len: usize) -> Result<Self::Buffer<T>, Error>;

    /// Copies elements from the device. `data` is as long as the buffer.
    ///
    /// # Errors
    ///
    /// The device has failed.
    #[cfg(feature = "alloc")]
    fn download<T: Element>(&self, from: &Self::Buffer<T>, data: &mut [T]) -> Result<(), Error>;

    /// Begins to copy elements from the device, behind what was submitted.
    #[doc(hidden)]
    #[cfg(feature = "alloc")]
    fn fetch<T: Element>(&self, from: &Self::Buffer<T>) -> Result<Self::Fetch<T>, Error>;

    /// Waits for such a copy. `data` is as long as the buffer was.
    #[doc(hidden)]
    #[cfg(feature = "alloc")]
    fn fetched<T: Element>(&self, fetch: Self::Fetch<T>, data: &mut [T]) -> Result<(), Error>;

    /// The elements, where the processor reaches the memory of the device.
    #[cfg(feature = "alloc")]
    fn host<T: Element>(buffer: &Self::Buffer<T>) -> Option<&[T]>;

    /// The elements, where the processor reaches the memory of the device.
    #[cfg(feature = "alloc")]
    fn host_mut<T: Element>(buffer: &mut Self::Buffer<T>) -> Option<&mut [T]>;

    /// The memory that elements lie in, where programs can use it.
    #[doc(hidden)]
    #[cfg(feature = "alloc")]
    fn memory<T: Element>(buffer: &Self::Buffer<T>) -> Option<&Self::Memory>;

    /// Runs what was compiled for the device, or submits it: what goes wrong later is an error of who waits for it.
    ///
    /// # Safety
    ///
    /// The caller has the parameters to read, and alone has the results, and the parameters that the function writes.
    ///
    /// # Errors
    ///
    /// There is no code for the device, it cannot run it, or it has failed.
    #[doc(hidden)]
    #[allow(unsafe_code, reason = "types do not say what a program writes")]
    unsafe fn run(&self, code: DeviceCode, operands: &Operands<'_, Self::Memory>) -> Result<Status, Error>;

    /// Records a call without running it; or gives the status of a check that does not hold. What is recorded holds the
    /// memory that it names.
    ///
    /// # Errors
    ///
    /// There is no code for the device, it cannot run it, or it has failed.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    fn record(
        &self,
        code: DeviceCode,
        operands: &Operands<'_, Self::Memory>,
    ) -> Result<Result<Self::Recording, Status>, Error>;

    /// Submits a recorded call.
    ///
    /// # Safety
    ///
    /// That of `run`, for the operands that were recorded.
    ///
    /// # Errors
    ///
    /// The device has failed, or the call was recorded for another device.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    #[allow(unsafe_code, reason = "types do not say what a program writes")]
    unsafe fn replay(&self, recording: &mut Self::Recording) -> Result<(), Error>;

    /// The point behind all that was submitted.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    fn event(&self) -> Result<Self::Event, Error>;

    /// Whether all before an event is done.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    fn is_done(&self, event: &Self::Event) -> Result<bool, Error>;

    /// Waits until all before an event is done.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    fn wait_for(&self, event: &Self::Event) -> Result<(), Error>;

    /// The time from one event to another, both of which are done.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    fn between(&self, from: &Self::Event, to: &Self::Event) -> Result<core::time::Duration, Error>;
}

/// Work on a device that runs in order. It may be sent to another thread but not shared.
///
/// ```
/// use tenfold::{Cpu, Device};
///
/// let stream = Cpu.stream()?;
/// stream.synchronize()?;
/// # Ok::<(), tenfold::Error>(())
/// ```
pub struct Stream<'d, D: Device> {
    device: &'d D,
    not_sync: PhantomData<Cell<()>>,
}

impl<'d, D: Device> Stream<'d, D> {
    pub(crate) fn new(device: &'d D) -> Self {
        Self { device, not_sync: PhantomData }
    }

    /// The device that it is of.
    pub(crate) fn device(&self) -> &'d D {
        self.device
    }

    /// Waits until all its work is done.
    ///
    /// # Errors
    ///
    /// The device has failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.device.synchronize(self)
    }
}

impl<D: Device> fmt::Debug for Stream<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({})", self.device.kind())
    }
}

/// Kernels write nothing else; but a device that fails may leave what no value of these types has.
#[cfg(any(feature = "cuda", feature = "vulkan"))]
pub(crate) fn make_valid(dtype: crate::DType, bytes: &mut [u8]) {
    match dtype {
        crate::DType::Bool => bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0)),
        crate::DType::U4 => bytes.iter_mut().for_each(|byte| *byte &= 15),
        crate::DType::I4 => bytes.iter_mut().for_each(|byte| *byte = (((*byte << 4) as i8) >> 4) as u8),
        _ => {}
    }
}
