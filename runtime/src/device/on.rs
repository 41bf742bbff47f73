//! A call on a chosen device: what each function's `on` holds.

#[cfg(feature = "std")]
use super::recorded::Recordings;
#[cfg(feature = "alloc")]
use super::{Cpu, DeviceTensor};
use super::{Device, DeviceCode, DeviceFault, Operands, Stream};
use crate::{DeviceKind, Error, Function, Status};
#[cfg(feature = "alloc")]
use crate::{Element, Shape};

/// A function on a device, with what its caller chose.
#[doc(hidden)]
pub struct On<'d, D: Device> {
    device: &'d D,
    function: Function,
    /// The variant that was chosen; the one that fits best if none was.
    variant: Option<&'static str>,
    /// Whether the processor does what the device refuses.
    or_host: bool,
    /// Where calls are recorded, what they submit.
    #[cfg(feature = "std")]
    recordings: Option<Recordings<D>>,
}

impl<'d, D: Device> On<'d, D> {
    /// The function on the device, with the variant that fits best.
    pub fn new(device: &'d D, function: Function) -> Self {
        Self {
            device,
            function,
            variant: None,
            or_host: false,
            #[cfg(feature = "std")]
            recordings: None,
        }
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

    /// Chooses a stream, on whose device the function runs.
    #[must_use]
    pub fn stream(self, stream: &Stream<'d, D>) -> Self {
        Self {
            device: stream.device(),
            // What was recorded is of the device that was.
            #[cfg(feature = "std")]
            recordings: self.recordings.map(|_| Recordings::default()),
            ..self
        }
    }

    /// Keeps what calls submit, and submits it again for calls that are the same. Without the standard library nothing is
    /// kept, and there is no device.
    #[must_use]
    pub fn recorded(self) -> Self {
        Self {
            #[cfg(feature = "std")]
            recordings: Some(Recordings::default()),
            ..self
        }
    }

    /// Has the processor do what the device refuses.
    #[must_use]
    pub fn or_host(self) -> Self {
        Self { or_host: true, ..self }
    }

    /// Makes a call on the processor with the variant that was chosen.
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

    /// Whether the function's code for the processor does the work.
    pub fn is_host(&self) -> bool {
        self.device.kind() == DeviceKind::Cpu
    }

    /// That the function's code for the processor can do the work.
    ///
    /// # Errors
    ///
    /// The device is another.
    pub fn host(&self) -> Result<(), Error> {
        if self.is_host() { Ok(()) } else { Err(self.no_code()) }
    }

    fn no_code(&self) -> Error {
        Error::Device { kind: self.device.kind(), why: DeviceFault::NoCode }
    }

    /// Runs what was compiled for the device, or submits it; none if the device refuses and the processor is to do it.
    ///
    /// # Safety
    ///
    /// That of [`Device`]'s `run`.
    ///
    /// # Errors
    ///
    /// The device cannot run it, or has failed.
    #[allow(unsafe_code, reason = "types do not say what a program writes")]
    pub unsafe fn submit(&self, code: DeviceCode, operands: &Operands<'_, D::Memory>) -> Result<Option<Status>, Error> {
        // SAFETY: the caller's.
        match unsafe { self.run_device(code, operands) } {
            Err(Error::Device { why, .. }) if self.or_host && why.is_refusal() => Ok(None),
            other => other.map(Some),
        }
    }

    /// # Safety
    ///
    /// That of [`Device`]'s `run`.
    #[allow(unsafe_code, reason = "types do not say what a program writes")]
    unsafe fn run_device(&self, code: DeviceCode, operands: &Operands<'_, D::Memory>) -> Result<Status, Error> {
        #[cfg(feature = "std")]
        if let Some(recordings) = &self.recordings {
            // SAFETY: the caller's.
            return unsafe { recordings.run(self.device, code, operands) };
        }
        // SAFETY: the caller's.
        unsafe { self.device.run(code, operands) }
    }
}

#[cfg(feature = "alloc")]
impl<D: Device> On<'_, D> {
    /// The same function on the processor, with the variant that was chosen.
    #[must_use]
    pub fn on_host(&self) -> On<'static, Cpu> {
        On { variant: self.variant, ..On::new(&Cpu, self.function) }
    }

    /// Where a tensor lies, and how many bytes it has.
    ///
    /// # Errors
    ///
    /// No program can use it.
    pub fn memory<'t, T: Element, S: Shape>(
        &self,
        tensor: &'t DeviceTensor<D, T, S>,
    ) -> Result<(&'t D::Memory, usize), Error> {
        tensor.memory().ok_or_else(|| self.no_code())
    }

    /// A copy of a tensor for the processor.
    ///
    /// # Errors
    ///
    /// There is no memory left, or the device has failed.
    pub fn fetch<T: Element, S: Shape>(
        &self,
        tensor: &DeviceTensor<D, T, S>,
    ) -> Result<DeviceTensor<Cpu, T, S>, Error> {
        DeviceTensor::upload(&Cpu, tensor.download(self.device)?.view())
    }

    /// Puts what the processor made in the place of a tensor.
    ///
    /// # Errors
    ///
    /// The device has no memory left, or has failed.
    pub fn store<T: Element, S: Shape>(
        &self,
        made: &DeviceTensor<Cpu, T, S>,
        to: &mut DeviceTensor<D, T, S>,
    ) -> Result<(), Error> {
        to.write(self.device, made.download(&Cpu)?.view())
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::{Signature, Variant, rt, variants};

    #[test]
    fn the_processor_takes_the_variant_that_was_chosen() {
        let info = rt::FunctionInfo {
            signature: &Signature { name: "f", params: &[], results: &[], facts: &[] },
            workspace_bytes: Some(0),
            weight_bytes: 0,
            variants: &[Variant { name: "baseline", features: &[] }],
            call: |_| Ok(()),
        };
        let chosen = On::new(&Cpu, rt::function(info)).variant("baseline").expect("there is one").or_host();
        let found = chosen.on_host().run(|| {
            assert_eq!(variants::current(), "baseline");
            Ok(())
        });
        assert_eq!(found, Ok(()));
    }
}
