//! What a function brings along for devices, and what a call of it hands to one.

use tenfold_abi::DType;

use super::DeviceFault;
use crate::{blob::Blob, program::Program};

/// What was compiled of a function for devices: the bytes of a blob at a multiple of 16, and the constants that its
/// programs count.
///
/// Kernels run unchecked, so the bytes must be those that the compiler wrote. That is why a value of this type is made
/// by emitted code, or by an unsafe function.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCode {
    blob: &'static [u8],
    constants: &'static [&'static [u8]],
}

impl DeviceCode {
    /// The code of a blob.
    ///
    /// # Safety
    ///
    /// The kernels in it stay inside of the buffers that the programs in it bind, end, and write each element of each
    /// result, for all operands with which they are called.
    #[allow(unsafe_code, reason = "what devices run is not checked")]
    #[must_use]
    pub const unsafe fn new(blob: &'static [u8], constants: &'static [&'static [u8]]) -> Self {
        Self { blob, constants }
    }

    /// What tells it from others: where the blob lies and where its constants are listed. The blob alone does not, since
    /// functions whose blobs are equal share one, and it holds no more of the constants than their lengths.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "devices need the standard library"))]
    pub(crate) fn key(&self) -> (usize, usize) {
        (self.blob.as_ptr() as usize, self.constants.as_ptr() as usize)
    }

    /// The constants.
    #[cfg_attr(not(any(feature = "cuda", feature = "vulkan")), expect(dead_code, reason = "devices are features"))]
    pub(crate) fn constants(&self) -> &'static [&'static [u8]] {
        self.constants
    }

    /// The program for devices that take this key.
    #[cfg_attr(not(any(feature = "cuda", feature = "vulkan")), expect(dead_code, reason = "devices are features"))]
    pub(crate) fn program(&self, key: &str) -> Result<Program<'static>, DeviceFault> {
        let blob = Blob::read(self.blob).map_err(DeviceFault::Blob)?;
        let module = blob.find(key).ok_or(DeviceFault::NoCode)?;
        Program::read(module.payload).map_err(DeviceFault::Program)
    }
}

/// A scalar as a kernel takes it: its bits, those of small integers with their sign in 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarBits {
    /// What it is.
    pub dtype: DType,
    /// Its bits, least byte first.
    pub bits: u64,
}

/// What a call hands to a device, in the order of the signature.
#[derive(Debug)]
pub struct Operands<'a, M> {
    /// Parameters that are tensors, and how many bytes each has.
    pub params: &'a [(&'a M, usize)],
    /// Results, and how many bytes each has.
    pub results: &'a [(&'a M, usize)],
    /// Parameters that are scalars.
    pub scalars: &'a [ScalarBits],
    /// Index parameters, then named dims that are not fixed, as an entry point takes them.
    pub dims: &'a [i64],
}
