//! A device and tensors beside other libraries that use CUDA: their streams, their memory, and ours for them.

use core::{ffi::c_void, marker::PhantomData, mem::size_of};
use std::{boxed::Box, sync::Arc};

use super::{Cuda, CudaBuffer, context::Context, fault, memory::Memory};
use crate::{DeviceFault, DeviceTensor, Element, Error, Shape, device::store::Store, shape::elements};

/// Kernels read and write this many bytes at once.
const ALIGN: u64 = 16;

impl Cuda {
    /// A device that works in another library's stream, in the context of that: what either submits runs in the order in
    /// which it is submitted, so neither has to wait for the other. `owner` is whatever keeps the stream; it is dropped
    /// when the device and its tensors are gone. A null pointer is the default stream of the context that is current.
    ///
    /// ```no_run
    /// # struct CudaStream;
    /// # impl CudaStream { fn cu_stream(&self) -> *mut u8 { std::ptr::null_mut() } }
    /// # fn stream() -> std::sync::Arc<CudaStream> { std::sync::Arc::new(CudaStream) }
    /// use tenfold::Cuda;
    ///
    /// // With `cudarc`: `CudaContext::new(0)?.new_stream()?`.
    /// let stream = stream();
    /// // SAFETY: the stream lives as long as `stream`, and nobody captures it.
    /// let gpu = unsafe { Cuda::from_stream(stream.cu_stream().cast(), stream.clone()) }?;
    /// # Ok::<(), tenfold::Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// `stream` is a stream of CUDA's driver that lives as long as `owner`, and so does its context. It is not the default
    /// stream that each thread has of its own, and nobody captures it into a graph while this device is used.
    ///
    /// # Errors
    ///
    /// There is no driver, or it knows no such stream.
    pub unsafe fn from_stream(stream: *mut c_void, owner: impl Send + Sync + 'static) -> Result<Self, Error> {
        // SAFETY: the caller's.
        let context = unsafe { Context::share(stream, Box::new(owner)) }.map_err(fault)?;
        Ok(Self { context: Arc::new(context), store: Store::default() })
    }

    /// The driver's handle of the stream in which this device works, for other libraries: what they submit to it runs in
    /// order with calls and copies of this device.
    pub fn raw_stream(&self) -> *mut c_void {
        self.context.stream
    }

    /// The driver's handle of the context in which this device works.
    pub fn raw_context(&self) -> *mut c_void {
        self.context.raw
    }
}

impl<T: Element, S: Shape> DeviceTensor<Cuda, T, S> {
    /// A tensor in another library's memory, without a copy. `owner` is whatever keeps that memory; it is dropped once the
    /// tensor is, and work that was submitted with it is done.
    ///
    /// # Safety
    ///
    /// At `address`, in memory that the device reaches, lie as many elements as the extents say as long as `owner` lives,
    /// each of them valid for its type. Nobody else writes them meanwhile, nor reads them while they are written here:
    /// what happens before this call, and between calls that use the tensor, is ordered by the device's stream.
    ///
    /// # Errors
    ///
    /// The extents are not those of the type, or the address is no multiple of 16.
    pub unsafe fn from_address(
        device: &Cuda,
        address: u64,
        extents: S::Extents,
        owner: impl Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let extents = S::check(extents.as_ref())?;
        let len = elements(extents.as_ref()).ok_or(Error::Overflow { what: "tensor" })?;
        let bytes = (len as u64).checked_mul(size_of::<T>() as u64).ok_or(Error::Overflow { what: "tensor" })?;
        if !address.is_multiple_of(ALIGN) {
            return Err(fault(DeviceFault::Misaligned { address }));
        }
        // SAFETY: the caller's.
        let memory = Arc::new(unsafe { Memory::share(&device.context, address, bytes, Box::new(owner)) });
        Ok(Self::from_buffer(CudaBuffer { memory, len, elements: PhantomData }, extents))
    }

    /// Where its elements lie in the memory of the device, for other libraries: a `CUdeviceptr`. It is theirs as long as
    /// the tensor is not dropped, in the order of [`Cuda::raw_stream`]; to write there takes what `&mut` stands for.
    pub fn address(&self) -> u64 {
        self.buffer().memory.at
    }
}
