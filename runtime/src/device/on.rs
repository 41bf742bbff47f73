//! A call on a chosen device: what each function's `on` holds.

use super::Device;
use crate::{DeviceKind, Error, Function, Mismatch};

/// A function on a device, with the variant that its caller chose.
#[doc(hidden)]
pub struct On<'d, D: Device> {
    device: &'d D,
    function: Function,
    /// The variant that was chosen; the one that fits best if none was.
    variant: Option<&'static str>,
}

impl<'d, D: Device> On<'d, D> {
    /// The function on the device, with the variant that fits best.
    pub fn new(device: &'d D, function: Function) -> Self {
        Self { device, function, variant: None }
    }

    /// The device.
    pub fn device(&self) -> &'d D {
        self.device
    }

    /// Chooses a variant by its name.
    ///
    /// # Errors
    ///
    /// There is none of this name, or the processor cannot run it.
    pub fn variant(self, name: &str) -> Result<Self, Error> {
        let found = self.function.variants().iter().find(|variant| variant.name == name).ok_or(Error::NoVariant)?;
        found.supported()?;
        Ok(Self { variant: Some(found.name), ..self })
    }

    /// Makes a call with the variant that was chosen.
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn run(&self, call: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        match self.variant {
            #[cfg(feature = "std")]
            Some(name) => crate::variants::force(name, call)?,
            // What nobody can look up is not chosen: there is one code.
            _ => call(),
        }
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
