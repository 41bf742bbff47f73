//! Memory of the processor's that the device reads and writes by itself, so that copies need not be waited for.

use core::ptr::NonNull;
use std::{
    sync::{Arc, Mutex},
    vec::Vec,
};

use super::{
    api::{Handle, NOT_READY},
    context::Context,
};
use crate::{DeviceFault, device::store::lock};

/// A copy to the device of more bytes takes longer than the wait for it.
const MOST: usize = 4 << 20;

/// Bytes that are kept.
const KEPT: usize = 64 << 20;

/// What was used for copies, the last of which may be on their way.
#[derive(Default)]
pub(super) struct Staging(Mutex<Vec<Slot>>);

/// A piece of memory, and the event behind the last copy from or to it.
#[derive(Clone, Copy)]
struct Slot {
    at: NonNull<u8>,
    bytes: usize,
    event: Handle,
}

// SAFETY: the memory is the slot's alone, and the driver's handles may be used by any thread.
unsafe impl Send for Slot {}

impl Slot {
    fn new(context: &Context, bytes: usize) -> Result<Self, DeviceFault> {
        let (mut at, mut event) = (core::ptr::null_mut(), core::ptr::null_mut());
        // SAFETY: the driver writes one address.
        context.within("cuMemHostAlloc", |api| unsafe { (api.host_allocate)(&mut at, bytes, 0) })?;
        let at = NonNull::new(at.cast::<u8>()).ok_or(DeviceFault::OutOfMemory { bytes: bytes as u64 })?;
        let mut slot = Self { at, bytes, event };
        // SAFETY: the driver writes one handle. The event measures no time.
        let made = context.within("cuEventCreate", |api| unsafe { (api.event_create)(&mut event, 2) });
        slot.event = event;
        match made {
            Ok(()) => Ok(slot),
            Err(why) => {
                slot.free(context);
                Err(why)
            }
        }
    }

    fn is_done(&self, context: &Context) -> Result<bool, DeviceFault> {
        // SAFETY: the event is there.
        match context.within("cuEventQuery", |api| unsafe { (api.event_query)(self.event) }) {
            Ok(()) => Ok(true),
            Err(DeviceFault::Driver { code: NOT_READY, .. }) => Ok(false),
            Err(why) => Err(why),
        }
    }

    /// Puts the event behind what was submitted.
    fn mark(&self, context: &Context) -> Result<(), DeviceFault> {
        // SAFETY: the event and the stream are there.
        let marked = context.within("cuEventRecord", |api| unsafe { (api.event_record)(self.event, context.stream) });
        // Where no event says that a copy is done, it is waited for.
        marked.inspect_err(|_| {
            let _ = context.wait();
        })
    }

    /// The caller has waited for the last copy.
    fn free(self, context: &Context) {
        if !self.event.is_null() {
            // SAFETY: nobody else has the event.
            let _ = context.within("cuEventDestroy", |api| unsafe { (api.event_destroy)(self.event) });
        }
        // SAFETY: nobody else has the memory.
        let _ = context.within("cuMemFreeHost", |api| unsafe { (api.host_free)(self.at.as_ptr().cast()) });
    }
}

/// How much is taken for so many bytes: few different sizes, so that what is kept is of use.
fn class(bytes: usize) -> usize {
    if bytes <= MOST { bytes.next_power_of_two().max(4096) } else { bytes }
}

impl Staging {
    /// A piece that no copy uses: one that is kept, or a new one. None if all that may be kept is in use.
    fn take(&self, context: &Context, bytes: usize) -> Result<Option<Slot>, DeviceFault> {
        let class = class(bytes);
        let mut slots = lock(&self.0);
        for at in 0..slots.len() {
            if slots[at].bytes == class && slots[at].is_done(context)? {
                return Ok(Some(slots.remove(at)));
            }
        }
        let kept: usize = slots.iter().map(|slot| slot.bytes).sum();
        drop(slots);
        if kept + class > KEPT {
            return Ok(None);
        }
        Slot::new(context, class).map(Some)
    }

    fn keep(&self, slot: Slot) {
        lock(&self.0).push(slot);
    }

    /// Copies bytes to the device behind what was submitted, without waiting for it; `false` if that cannot be.
    pub(super) fn upload(&self, context: &Context, to: u64, data: &[u8]) -> Result<bool, DeviceFault> {
        if data.len() > MOST {
            return Ok(false);
        }
        let slot = match self.take(context, data.len()) {
            Ok(Some(slot)) => slot,
            Ok(None) | Err(DeviceFault::OutOfMemory { .. }) => return Ok(false),
            Err(why) => return Err(why),
        };
        let (from, stream) = (slot.at.as_ptr(), context.stream);
        // SAFETY: the slot has so many bytes, which nobody else uses.
        unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), from, data.len()) };
        let copied = context.within("cuMemcpyHtoDAsync", |api| {
            // SAFETY: there are so many bytes on both sides, and the slot is not used again until the copy is done.
            unsafe { (api.copy_to_device)(to, from.cast(), data.len(), stream) }
        });
        let marked = copied.and_then(|()| slot.mark(context));
        self.keep(slot);
        marked.map(|()| true)
    }

    /// Gives all back. The caller has waited for the device.
    pub(super) fn free(&self, context: &Context) {
        let slots = core::mem::take(&mut *lock(&self.0));
        slots.into_iter().for_each(|slot| slot.free(context));
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}

/// Bytes on their way from the device.
pub struct Fetch {
    context: Arc<Context>,
    slot: Slot,
    len: usize,
}

impl Fetch {
    /// Copies bytes from the device behind what was submitted.
    pub(super) fn new(context: &Arc<Context>, from: u64, len: usize) -> Result<Self, DeviceFault> {
        let kept = if len <= MOST { context.staging.take(context, len)? } else { None };
        let slot = kept.map_or_else(|| Slot::new(context, class(len)), Ok)?;
        let (to, stream) = (slot.at.as_ptr(), context.stream);
        let fetch = Self { context: Arc::clone(context), slot, len };
        context.within("cuMemcpyDtoHAsync", |api| {
            // SAFETY: there are so many bytes on both sides, and the slot is not used until the copy is done.
            unsafe { (api.copy_to_host)(to.cast(), from, len, stream) }
        })?;
        slot.mark(context)?;
        Ok(fetch)
    }

    pub(super) fn is_of(&self, context: &Arc<Context>) -> bool {
        Arc::ptr_eq(&self.context, context)
    }

    /// Waits for the copy and gives its bytes.
    pub(super) fn finish(self, data: &mut [u8]) -> Result<(), DeviceFault> {
        let slot = self.slot;
        if data.len() != self.len {
            return Err(DeviceFault::Operands);
        }
        // SAFETY: the event is there.
        self.context.within("cuEventSynchronize", |api| unsafe { (api.event_synchronize)(slot.event) })?;
        // SAFETY: the slot has so many bytes, and the copy into it is done.
        unsafe { core::ptr::copy_nonoverlapping(slot.at.as_ptr(), data.as_mut_ptr(), data.len()) };
        Ok(())
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        if self.len <= MOST {
            return self.context.staging.keep(self.slot);
        }
        let _ = self.context.wait();
        self.slot.free(&self.context);
    }
}
