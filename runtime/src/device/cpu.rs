//! The processor that calls: its memory is the program's, and its work is done when a call returns.

use super::{Device, DeviceCode, DeviceFault, Operands, Stream, sealed};
#[cfg(feature = "alloc")]
use crate::Element;
use crate::{DeviceKind, Error, Status};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// The processor that calls.
///
/// ```
/// use tenfold::{Cpu, Device, DeviceKind};
///
/// assert_eq!(Cpu.kind(), DeviceKind::Cpu);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu;

impl sealed::Sealed for Cpu {}

impl Device for Cpu {
    #[cfg(feature = "alloc")]
    type Buffer<T: Element> = Vec<T>;
    #[cfg(feature = "alloc")]
    type Fetch<T: Element> = Vec<T>;
    type Memory = core::convert::Infallible;
    #[cfg(feature = "std")]
    type Recording = core::convert::Infallible;
    #[cfg(feature = "std")]
    type Event = std::time::Instant;

    fn kind(&self) -> DeviceKind {
        DeviceKind::Cpu
    }

    fn stream(&self) -> Result<Stream<'_, Self>, Error> {
        Ok(Stream::new(self))
    }

    fn synchronize(&self, _: &Stream<'_, Self>) -> Result<(), Error> {
        Ok(())
    }

    #[cfg(feature = "alloc")]
    fn upload<T: Element>(&self, data: &[T]) -> Result<Vec<T>, Error> {
        let mut buffer = Vec::new();
        let bytes = size_of_val(data);
        buffer.try_reserve_exact(data.len()).map_err(|_| Error::OutOfMemory { bytes })?;
        buffer.extend_from_slice(data);
        Ok(buffer)
    }

    #[cfg(feature = "alloc")]
    fn write<T: Element>(&self, to: &mut Vec<T>, data: &[T]) -> Result<(), Error> {
        to.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    #[cfg(feature = "alloc")]
    fn zeros<T: Element>(&self, len: usize) -> Result<Vec<T>, Error> {
        let mut buffer = Vec::new();
        let bytes = len.saturating_mul(size_of::<T>());
        buffer.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
        buffer.resize(len, T::default());
        Ok(buffer)
    }

    #[cfg(feature = "alloc")]
    fn download<T: Element>(&self, from: &Vec<T>, data: &mut [T]) -> Result<(), Error> {
        data.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    #[cfg(feature = "alloc")]
    fn fetch<T: Element>(&self, from: &Vec<T>) -> Result<Vec<T>, Error> {
        self.upload(from)
    }

    #[cfg(feature = "alloc")]
    fn fetched<T: Element>(&self, fetch: Vec<T>, data: &mut [T]) -> Result<(), Error> {
        self.download(&fetch, data)
    }

    #[cfg(feature = "alloc")]
    fn host<T: Element>(buffer: &Vec<T>) -> Option<&[T]> {
        Some(buffer)
    }

    #[cfg(feature = "alloc")]
    fn host_mut<T: Element>(buffer: &mut Vec<T>) -> Option<&mut [T]> {
        Some(buffer)
    }

    #[cfg(feature = "alloc")]
    fn memory<T: Element>(_: &Vec<T>) -> Option<&core::convert::Infallible> {
        None
    }

    #[allow(unsafe_code, reason = "the trait's; there is nothing to run")]
    unsafe fn run(&self, _: DeviceCode, _: &Operands<'_, core::convert::Infallible>) -> Result<Status, Error> {
        Err(Error::Device { kind: DeviceKind::Cpu, why: DeviceFault::NoCode })
    }

    #[cfg(feature = "std")]
    fn record(
        &self,
        _: DeviceCode,
        _: &Operands<'_, core::convert::Infallible>,
    ) -> Result<Result<core::convert::Infallible, Status>, Error> {
        Err(Error::Device { kind: DeviceKind::Cpu, why: DeviceFault::NoCode })
    }

    #[cfg(feature = "std")]
    #[allow(unsafe_code, reason = "the trait's; nothing is recorded")]
    unsafe fn replay(&self, recording: &mut core::convert::Infallible) -> Result<(), Error> {
        match *recording {}
    }

    #[cfg(feature = "std")]
    fn event(&self) -> Result<std::time::Instant, Error> {
        Ok(std::time::Instant::now())
    }

    #[cfg(feature = "std")]
    fn is_done(&self, _: &std::time::Instant) -> Result<bool, Error> {
        Ok(true)
    }

    #[cfg(feature = "std")]
    fn wait_for(&self, _: &std::time::Instant) -> Result<(), Error> {
        Ok(())
    }

    #[cfg(feature = "std")]
    fn between(&self, from: &std::time::Instant, to: &std::time::Instant) -> Result<core::time::Duration, Error> {
        Ok(to.saturating_duration_since(*from))
    }
}
