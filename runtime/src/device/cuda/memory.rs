//! Memory of a device, from the pool that the driver keeps for its stream.

use core::ffi::c_void;
use std::sync::Arc;

use super::context::{Context, Owner};
use crate::DeviceFault;

/// Memory of a device. What was submitted before it is dropped may still use it: it goes back in the stream's order.
pub struct Memory {
    pub(super) context: Arc<Context>,
    pub(super) at: u64,
    pub(super) bytes: u64,
    /// Whose memory it is, where that is not the pool's.
    owner: Option<Owner>,
}

impl Memory {
    /// So many bytes.
    pub(super) fn new(context: &Arc<Context>, bytes: u64) -> Result<Self, DeviceFault> {
        let none = DeviceFault::OutOfMemory { bytes };
        let room = usize::try_from(bytes.max(1)).map_err(|_| none)?;
        let ask = || context.pool.allocate(context, room);
        let made = match ask() {
            // What is still on its way to the pool, or what the pool keeps, may be what is missing.
            Err(DeviceFault::OutOfMemory { .. }) => context.wait().and_then(|()| {
                context.pool.trim(context);
                ask()
            }),
            made => made,
        };
        let at = made.map_err(|why| if matches!(why, DeviceFault::OutOfMemory { .. }) { none } else { why })?;
        Ok(Self { context: Arc::clone(context), at, bytes, owner: None })
    }

    /// Another library's memory.
    ///
    /// # Safety
    ///
    /// So many bytes lie there as long as their owner lives.
    pub(super) unsafe fn share(context: &Arc<Context>, at: u64, bytes: u64, owner: Owner) -> Self {
        Self { context: Arc::clone(context), at, bytes, owner: Some(owner) }
    }

    /// Copies bytes into it, behind what was submitted before.
    pub(super) fn write(&self, data: &[u8]) -> Result<(), DeviceFault> {
        if data.len() as u64 > self.bytes {
            return Err(DeviceFault::Operands);
        }
        if self.context.staging.upload(&self.context, self.at, data)? {
            return Ok(());
        }
        let (from, stream) = (data.as_ptr().cast::<c_void>(), self.context.stream);
        self.context.within("cuMemcpyHtoDAsync", |api| {
            // SAFETY: there are so many bytes on both sides, and the copy is waited for.
            unsafe { (api.copy_to_device)(self.at, from, data.len(), stream) }
        })?;
        self.context.wait()
    }

    /// Makes each byte 0.
    pub(super) fn clear(&self) -> Result<(), DeviceFault> {
        let (bytes, stream) = (self.bytes as usize, self.context.stream);
        // SAFETY: there are so many bytes.
        self.context.within("cuMemsetD8Async", |api| unsafe { (api.fill)(self.at, 0, bytes, stream) })
    }

    /// Copies bytes out of it, behind what was submitted before.
    pub(super) fn read(&self, data: &mut [u8]) -> Result<(), DeviceFault> {
        if data.len() as u64 > self.bytes {
            return Err(DeviceFault::Operands);
        }
        let (to, len, stream) = (data.as_mut_ptr().cast::<c_void>(), data.len(), self.context.stream);
        // SAFETY: there are so many bytes on both sides, and the copy is waited for.
        self.context.within("cuMemcpyDtoHAsync", |api| unsafe { (api.copy_to_host)(to, self.at, len, stream) })?;
        self.context.wait()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.owner.is_some() {
            // What was submitted may still use it.
            let _ = self.context.wait();
            return;
        }
        let stream = self.context.stream;
        // SAFETY: nobody else has the memory, and what uses it stands before this in the stream.
        let _ = self.context.within("cuMemFreeAsync", |api| unsafe { (api.free)(self.at, stream) });
    }
}

/// Memory is the same if it lies in the same place; its elements say nothing.
impl PartialEq for Memory {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl core::fmt::Debug for Memory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Memory({} bytes)", self.bytes)
    }
}
