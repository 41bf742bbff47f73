//! Points in the work of a device: to wait for, and to measure the time between.

use core::{fmt, time::Duration};

use super::{Device, Stream};
use crate::Error;

/// A point in the work of a device: behind what was submitted before it, and before what was submitted later.
///
/// ```
/// use tenfold::{Cpu, Device, DeviceTensor, Dyn};
///
/// let stream = Cpu.stream()?;
/// let begin = stream.event()?;
/// let x = DeviceTensor::<Cpu, f32, (Dyn,)>::zeros(&Cpu, [3])?; // or the call of a function
/// let end = stream.event()?;
/// println!("{:?} on the device", end.since(&begin)?);
/// # Ok::<(), tenfold::Error>(())
/// ```
pub struct Event<'d, D: Device> {
    device: &'d D,
    raw: D::Event,
}

impl<'d, D: Device> Stream<'d, D> {
    /// The point at which all is done that was submitted to the device until now.
    ///
    /// # Errors
    ///
    /// The device has no memory left, or has failed.
    pub fn event(&self) -> Result<Event<'d, D>, Error> {
        Ok(Event { device: self.device(), raw: self.device().event()? })
    }
}

impl<D: Device> Event<'_, D> {
    /// Whether all before it is done.
    ///
    /// # Errors
    ///
    /// The device has failed.
    pub fn is_done(&self) -> Result<bool, Error> {
        self.device.is_done(&self.raw)
    }

    /// Waits until all before it is done. What was submitted later may be on its way still.
    ///
    /// # Errors
    ///
    /// The device has failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.device.wait_for(&self.raw)
    }

    /// The time from an earlier event of the same device to this one, as the device measures it, once both are done; 0 if
    /// the other is later.
    ///
    /// # Errors
    ///
    /// The device has failed, measures no time, or is not the other's.
    pub fn since(&self, earlier: &Self) -> Result<Duration, Error> {
        earlier.synchronize()?;
        self.synchronize()?;
        self.device.between(&earlier.raw, &self.raw)
    }
}

impl<D: Device> fmt::Debug for Event<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({})", self.device.kind())
    }
}
