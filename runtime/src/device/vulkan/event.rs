//! Points in the work of the queue, and when it came to them.

use core::time::Duration;
use std::sync::Arc;

use ash::vk;

use super::{queue::Kept, shared::Shared};
use crate::DeviceFault;

/// A point in the work of the queue.
pub struct Event {
    shared: Arc<Shared>,
    ticket: u64,
    /// None where the queue does not measure time.
    time: Option<Arc<Time>>,
}

/// Where the device writes the time at which it came to an event.
pub(super) struct Time {
    shared: Arc<Shared>,
    pool: vk::QueryPool,
}

impl Drop for Time {
    fn drop(&mut self) {
        // SAFETY: the submission that writes it holds it, so it is done or was never made.
        unsafe { self.shared.raw.destroy_query_pool(self.pool, None) };
    }
}

impl Time {
    fn new(shared: &Arc<Shared>) -> Result<Self, DeviceFault> {
        let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(1);
        // SAFETY: the device lives.
        let pool = unsafe { shared.raw.create_query_pool(&info, None) };
        let pool = pool.map_err(|code| shared.fault("vkCreateQueryPool", code))?;
        Ok(Self { shared: Arc::clone(shared), pool })
    }

    /// What the device has written, in its own unit.
    fn read(&self) -> Result<u64, DeviceFault> {
        let (mut found, flags) = ([0_u64], vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT);
        // SAFETY: the pool lives, and its one number is written by a submission that was made.
        let read = unsafe { self.shared.raw.get_query_pool_results(self.pool, 0, &mut found, flags) };
        read.map_err(|code| self.shared.fault("vkGetQueryPoolResults", code))?;
        Ok(found[0])
    }
}

impl Event {
    /// The point behind what was submitted.
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self, DeviceFault> {
        shared.alive()?;
        if shared.clock.bits == 0 {
            let ticket = shared.queue().last();
            return Ok(Self { shared: Arc::clone(shared), ticket, time: None });
        }
        shared.wait_for_room()?;
        let time = Arc::new(Time::new(shared)?);
        let kept = Kept { time: Some(Arc::clone(&time)), ..Kept::default() };
        let ticket = shared.submit(kept, |device, command| {
            // SAFETY: the pool is kept until the commands are done, and has this one number.
            unsafe {
                device.cmd_reset_query_pool(command, time.pool, 0, 1);
                device.cmd_write_timestamp(command, vk::PipelineStageFlags::BOTTOM_OF_PIPE, time.pool, 0);
            }
        })?;
        Ok(Self { shared: Arc::clone(shared), ticket, time: Some(time) })
    }

    pub(super) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    pub(super) fn is_done(&self) -> Result<bool, DeviceFault> {
        self.shared.is_done(self.ticket)
    }

    pub(super) fn wait(&self) -> Result<(), DeviceFault> {
        self.shared.wait(self.ticket)
    }

    /// The time to another event of the same device, both of which are done.
    pub(super) fn until(&self, to: &Self) -> Result<Duration, DeviceFault> {
        let (Some(begin), Some(end)) = (&self.time, &to.time) else { return Err(DeviceFault::NoTimer) };
        if self.ticket >= to.ticket {
            return Ok(Duration::ZERO);
        }
        Ok(self.shared.clock.between(begin.read()?, end.read()?))
    }
}

/// How a queue measures time.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    /// Of a number that it writes; 0 if it writes none. Then it begins again with 0.
    pub(super) bits: u32,
    /// Nanoseconds of 1.
    pub(super) period: f32,
}

impl Clock {
    fn between(self, begin: u64, end: u64) -> Duration {
        let ticks = end.wrapping_sub(begin) & (u64::MAX >> (64 - self.bits.clamp(1, 64)));
        Duration::try_from_secs_f64(ticks as f64 * f64::from(self.period) / 1e9).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_may_begin_again() {
        let clock = Clock { bits: 36, period: 2.0 };
        assert_eq!(clock.between(5, 25), Duration::from_nanos(40));
        assert_eq!(clock.between((1 << 36) - 5, 5), Duration::from_nanos(20));
        assert_eq!(Clock { bits: 64, period: 1.0 }.between(u64::MAX, 9), Duration::from_nanos(10));
    }
}
