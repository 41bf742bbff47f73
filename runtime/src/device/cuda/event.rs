//! Events of the driver's: points in the stream.

use core::time::Duration;
use std::sync::Arc;

use super::{
    api::{Handle, NOT_READY},
    context::Context,
};
use crate::DeviceFault;

/// A point in the stream of a context.
pub struct Event {
    context: Arc<Context>,
    raw: Handle,
}

// SAFETY: the driver's handles may be used by any thread, and by several at once, where the context is current.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// The point behind what was submitted.
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceFault> {
        let mut raw = core::ptr::null_mut();
        // SAFETY: the driver writes one handle.
        context.within("cuEventCreate", |api| unsafe { (api.event_create)(&mut raw, 0) })?;
        let event = Self { context: Arc::clone(context), raw };
        // SAFETY: the event and the stream are there.
        context.within("cuEventRecord", |api| unsafe { (api.event_record)(raw, context.stream) })?;
        Ok(event)
    }

    pub(super) fn is_of(&self, context: &Arc<Context>) -> bool {
        Arc::ptr_eq(&self.context, context)
    }

    pub(super) fn is_done(&self) -> Result<bool, DeviceFault> {
        // SAFETY: the event is there.
        match self.context.within("cuEventQuery", |api| unsafe { (api.event_query)(self.raw) }) {
            Ok(()) => Ok(true),
            Err(DeviceFault::Driver { code: NOT_READY, .. }) => Ok(false),
            Err(why) => Err(why),
        }
    }

    pub(super) fn wait(&self) -> Result<(), DeviceFault> {
        // SAFETY: the event is there.
        self.context.within("cuEventSynchronize", |api| unsafe { (api.event_synchronize)(self.raw) })
    }

    /// The time to another event of the same device, both of which are done.
    pub(super) fn until(&self, to: &Self) -> Result<Duration, DeviceFault> {
        let mut milliseconds = 0.0;
        self.context.within("cuEventElapsedTime", |api| {
            // SAFETY: both events are there, and the driver writes one number.
            unsafe { (api.event_elapsed)(&mut milliseconds, self.raw, to.raw) }
        })?;
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: nobody else has it; where it is still to come the driver frees it then.
        let _ = self.context.within("cuEventDestroy", |api| unsafe { (api.event_destroy)(self.raw) });
    }
}
