//! A call whose commands are recorded once and submitted again and again.

use std::sync::Arc;

use ash::vk;

use super::{Vulkan, call, memory::Memory, queue::Kept, shared::Shared};
use crate::{DeviceCode, DeviceFault, Operands, Status};

/// Commands, and what they name. Submissions of them hold them.
pub struct Recording {
    shared: Arc<Shared>,
    pub(super) command: vk::CommandBuffer,
    pub(super) kept: Kept,
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Each submission that is on its way holds this, so none is.
        self.shared.queue().give_back(self.command);
    }
}

/// Records a call; none if it has nothing to do. Or gives the status of a check that does not hold.
pub(super) fn record(
    device: &Vulkan,
    code: DeviceCode,
    operands: &Operands<'_, Arc<Memory>>,
) -> Result<Result<Option<Arc<Recording>>, Status>, DeviceFault> {
    let shared = &device.shared;
    let ready = match call::prepare(device, code, operands)? {
        Ok(ready) => ready,
        Err(status) => return Ok(Err(status)),
    };
    if ready.launches.is_empty() {
        return Ok(Ok(None));
    }
    let (kept, sets) = ready.kept()?;
    let command = shared.queue().record_again(shared, |device, command| ready.commands(device, command, &sets))?;
    Ok(Ok(Some(Arc::new(Recording { shared: Arc::clone(shared), command, kept }))))
}

/// Submits a recorded call.
pub(super) fn replay(device: &Vulkan, recording: &Option<Arc<Recording>>) -> Result<(), DeviceFault> {
    let shared = &device.shared;
    shared.alive()?;
    let Some(recording) = recording else { return Ok(()) };
    shared.wait_for_room()?;
    shared.submit_again(recording).map(drop)
}
