//! The pool that memory of a device comes from.
//!
//! The driver's own pool gives everything that is free back to the system at each wait, so that the next call would have
//! it mapped anew; and other users of CUDA share it. This one keeps what it has until memory is short.

use cudarc::driver::sys;

use super::{api::Handle, context::Context};
use crate::DeviceFault;

/// A pool of a context, or none: then memory comes from the driver's own.
pub(super) struct Pool(Handle);

impl Pool {
    pub(super) const NONE: Self = Self(core::ptr::null_mut());

    /// A pool on the device of a context. Without one there is memory as well.
    pub(super) fn new(context: &Context) -> Self {
        let props = sys::CUmemPoolProps {
            allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: sys::CUmemLocation {
                type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: context.info.index as i32,
            },
            win32SecurityAttributes: core::ptr::null_mut(),
            reserved: [0; 64],
        };
        let (mut raw, mut all) = (core::ptr::null_mut(), u64::MAX);
        // SAFETY: the driver writes one handle.
        let made = context.within("cuMemPoolCreate", |api| unsafe { (api.pool_create)(&mut raw, &props) });
        if made.is_err() {
            return Self::NONE;
        }
        let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD as i32;
        // SAFETY: the pool is there, and this attribute is a number of 64 bits. Where it stays 0 the pool keeps nothing.
        let _ = context.within("cuMemPoolSetAttribute", |api| unsafe {
            (api.pool_set)(raw, threshold, core::ptr::from_mut(&mut all).cast())
        });
        Self(raw)
    }

    /// So many bytes for work that is submitted from now on.
    pub(super) fn allocate(&self, context: &Context, bytes: usize) -> Result<u64, DeviceFault> {
        let (mut at, stream) = (0, context.stream);
        context.within("cuMemAllocAsync", |api| {
            // SAFETY: the driver writes one address; the pool, if there is one, is there.
            unsafe {
                match self.0.is_null() {
                    true => (api.allocate)(&mut at, bytes, stream),
                    false => (api.allocate_from)(&mut at, bytes, self.0, stream),
                }
            }
        })?;
        Ok(at)
    }

    /// Gives back to the system what nobody uses.
    pub(super) fn trim(&self, context: &Context) {
        if !self.0.is_null() {
            // SAFETY: the pool is there.
            let _ = context.within("cuMemPoolTrimTo", |api| unsafe { (api.pool_trim)(self.0, 0) });
        }
    }

    /// Gives it back, with all that it keeps.
    ///
    /// # Safety
    ///
    /// Nobody takes memory of it any more.
    pub(super) unsafe fn destroy(&self, context: &Context) {
        if !self.0.is_null() {
            // SAFETY: as the caller says; memory that work still uses goes when that is done.
            let _ = context.within("cuMemPoolDestroy", |api| unsafe { (api.pool_destroy)(self.0) });
        }
    }
}
