//! A call on a chosen device: what each function's `on` holds.

use super::Device;
use crate::{DeviceKind, Error, Function, Mismatch};

/// A function on a device, with the variant that its caller chose.
#[doc(hidden)]
pub struct On<'d, D: Device> {
    device: &'d D,
    function: Function,
}

impl<'d, D: Device> On<'d, D> {
    /// The function on the device, with the variant that fits best.
    pub fn new(device: &'d D, function: Function) -> Self {
        Self { device, function }
    }

    /// The device.
    pub fn device(&self) -> &'d D {
        self.device
    }

    /// Chooses a variant by its name.
    ///
    /// # Errors
    ///
    /// There is none of this name.
    pub fn variant(self, name: &str) -> Result<Self, Error> {
        if self.function.variants().iter().any(|variant| variant.name == name) {
            return Ok(self);
        }
        Err(Error::NoVariant)
    }

    /// That the function's code for the processor can do the work.
    ///
    /// # Errors
    ///
    /// The device is another.
    pub fn host(&self) -> Result<(), Error> {
        match self.device.kind() {
            DeviceKind::Cpu => Ok(()),
            _ => Err(Mismatch::NotHost.into()),
        }
    }
}
