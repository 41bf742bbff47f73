//! Tensors in the memory of a device.

use super::Device;
use crate::{
    AdmitsAll, AsStrided, AsTensor, AsTensorMut, Element, Error, Mismatch, Shape, StridedRef, Tensor, TensorMut,
    TensorRef, shape::elements,
};
use core::fmt;

/// A tensor in the memory of a device.
///
/// ```
/// use tenfold::{Cpu, DeviceTensor, Dyn, Fixed, Tensor};
///
/// let x: Tensor<f32, (Dyn, Fixed<2>)> = vec![[1.0, 2.0], [3.0, 4.0]].into();
/// let there = DeviceTensor::upload(&Cpu, x.view())?;
/// assert_eq!(there.shape(), [2, 2]);
/// assert_eq!(there.download(&Cpu)?, x);
/// # Ok::<(), tenfold::Error>(())
/// ```
pub struct DeviceTensor<D: Device, T: Element, S: Shape> {
    buffer: D::Buffer<T>,
    extents: S::Extents,
}

impl<D: Device, T: Element, S: Shape> DeviceTensor<D, T, S> {
    /// Copies a tensor to the device.
    ///
    /// # Errors
    ///
    /// The device has no memory left, or has failed.
    pub fn upload(device: &D, tensor: TensorRef<'_, T, S>) -> Result<Self, Error> {
        Ok(Self { buffer: device.upload(tensor.as_slice())?, extents: tensor.shape() })
    }

    /// Copies a tensor into the memory of this one, whose extents it has. Work that was submitted before sees what was there.
    ///
    /// ```
    /// use tenfold::{Cpu, DeviceTensor, Dyn, Tensor};
    ///
    /// let (one, other): (Tensor<f32, (Dyn,)>, Tensor<f32, (Dyn,)>) = (vec![1.0, 2.0].into(), vec![3.0, 4.0].into());
    /// let mut there = DeviceTensor::upload(&Cpu, one.view())?;
    /// there.write(&Cpu, other.view())?;
    /// assert_eq!(there.download(&Cpu)?, other);
    /// # Ok::<(), tenfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The extents differ; or the device has no memory left, or has failed.
    pub fn write(&mut self, device: &D, tensor: TensorRef<'_, T, S>) -> Result<(), Error> {
        let extents = tensor.shape();
        let pairs = self.extents.as_ref().iter().zip(extents.as_ref()).enumerate();
        for (axis, (&expected, &found)) in pairs {
            if expected != found {
                return Err(Error::Tensor(Mismatch::Extent { axis, expected, found }));
            }
        }
        device.write(&mut self.buffer, tensor.as_slice())
    }

    /// A tensor in the memory of the device, each element of which is 0: room for a result.
    ///
    /// ```
    /// use tenfold::{Cpu, DeviceTensor, Dyn};
    ///
    /// let room = DeviceTensor::<Cpu, f32, (Dyn,)>::zeros(&Cpu, [3])?;
    /// assert_eq!(room.download(&Cpu)?, [0.0; 3]);
    /// # Ok::<(), tenfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The device has no memory left, or has failed; or the extents are not those of the type.
    pub fn zeros(device: &D, extents: S::Extents) -> Result<Self, Error> {
        let extents = S::check(extents.as_ref())?;
        let len = elements(extents.as_ref()).ok_or(Error::Overflow { what: "tensor" })?;
        Ok(Self { buffer: device.zeros(len)?, extents })
    }

    #[cfg(feature = "cuda")]
    pub(super) fn from_buffer(buffer: D::Buffer<T>, extents: S::Extents) -> Self {
        Self { buffer, extents }
    }

    #[cfg(feature = "cuda")]
    pub(super) fn buffer(&self) -> &D::Buffer<T> {
        &self.buffer
    }

    /// Its memory and how many bytes it has, where programs can use it.
    #[doc(hidden)]
    #[must_use]
    pub fn memory(&self) -> Option<(&D::Memory, usize)> {
        Some((D::memory(&self.buffer)?, self.len() * size_of::<T>()))
    }

    /// Copies the tensor from the device.
    ///
    /// # Errors
    ///
    /// The device has failed.
    pub fn download(&self, device: &D) -> Result<Tensor<T, S>, Error> {
        let mut tensor = Tensor::zeros(self.extents)?;
        device.download(&self.buffer, tensor.as_mut_slice())?;
        Ok(tensor)
    }

    /// Begins to copy the tensor from the device, behind what was submitted until now; work that is submitted later does not
    /// wait for the copy, and the copy does not see what it writes.
    ///
    /// ```
    /// use tenfold::{Cpu, DeviceTensor, Dyn, Tensor};
    ///
    /// let (one, other): (Tensor<f32, (Dyn,)>, Tensor<f32, (Dyn,)>) = (vec![1.0, 2.0].into(), vec![3.0, 4.0].into());
    /// let mut there = DeviceTensor::upload(&Cpu, one.view())?;
    /// let pending = there.start_download(&Cpu)?;
    /// there.write(&Cpu, other.view())?; // or a call
    /// assert_eq!(pending.wait()?, one);
    /// # Ok::<(), tenfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There is no memory left, or the device has failed.
    pub fn start_download<'d>(&self, device: &'d D) -> Result<Download<'d, D, T, S>, Error> {
        Ok(Download { device, fetch: device.fetch(&self.buffer)?, extents: self.extents })
    }

    /// One extent per axis.
    #[must_use]
    pub fn shape(&self) -> S::Extents {
        self.extents
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        elements(self.extents.as_ref()).unwrap_or(0)
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A tensor on its way from a device: what [`DeviceTensor::start_download`] gives.
pub struct Download<'d, D: Device, T: Element, S: Shape> {
    device: &'d D,
    fetch: D::Fetch<T>,
    extents: S::Extents,
}

impl<D: Device, T: Element, S: Shape> Download<'_, D, T, S> {
    /// Waits for the copy, and not for what was submitted later.
    ///
    /// # Errors
    ///
    /// There is no memory left, or the device has failed.
    pub fn wait(self) -> Result<Tensor<T, S>, Error> {
        let mut tensor = Tensor::zeros(self.extents)?;
        self.device.fetched(self.fetch, tensor.as_mut_slice())?;
        Ok(tensor)
    }
}

impl<D: Device, T: Element, S: Shape> fmt::Debug for Download<'_, D, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Download<{}, {:?}>", T::DTYPE, self.extents.as_ref())
    }
}

impl<D: Device, T: Element, S: Shape, S2: AdmitsAll<S>> AsTensor<T, S2> for DeviceTensor<D, T, S> {
    fn as_tensor(&self) -> Result<TensorRef<'_, T, S2>, Mismatch> {
        let data = D::host(&self.buffer).ok_or(Mismatch::NotHost)?;
        TensorRef::new(data, S2::check(self.extents.as_ref())?)
    }
}

impl<D: Device, T: Element, S: Shape, S2: AdmitsAll<S>> AsTensorMut<T, S2> for DeviceTensor<D, T, S> {
    fn as_tensor_mut(&mut self) -> Result<TensorMut<'_, T, S2>, Mismatch> {
        let data = D::host_mut(&mut self.buffer).ok_or(Mismatch::NotHost)?;
        TensorMut::new(data, S2::check(self.extents.as_ref())?)
    }
}

impl<D: Device, T: Element, S: Shape, S2: AdmitsAll<S>> AsStrided<T, S2> for DeviceTensor<D, T, S> {
    fn as_strided(&self) -> Result<StridedRef<'_, T, S2>, Mismatch> {
        Ok(self.as_tensor()?.strided())
    }
}

impl<D: Device, T: Element, S: Shape> fmt::Debug for DeviceTensor<D, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceTensor<{}, {:?}>", T::DTYPE, self.extents.as_ref())
    }
}
