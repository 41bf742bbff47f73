//! Slices of any `bytemuck::Pod` type as tensors of the elements that they are made of.

use crate::{Element, Mismatch, Shape, TensorMut, TensorRef, bf16, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f16};
use bytemuck::{Pod, Zeroable, try_cast_slice, try_cast_slice_mut};

macro_rules! pod {
    ($($float:ty)*) => {$(
        // SAFETY: a transparent wrapper of a `u16` or a `u8`, of which every value is valid.
        unsafe impl Zeroable for $float {}
        // SAFETY: as above.
        unsafe impl Pod for $float {}
    )*};
}

pod!(f16 bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz);

impl<'a, T: Element + Pod, S: Shape> TensorRef<'a, T, S> {
    /// The tensor of the elements that values of any `Pod` type are made of, in row-major order.
    ///
    /// ```
    /// use tenfold::{Dyn, Fixed, TensorRef};
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(C)]
    /// struct Point { x: f32, y: f32 }
    /// # unsafe impl bytemuck::Zeroable for Point {}
    /// # unsafe impl bytemuck::Pod for Point {}
    ///
    /// let points = [Point { x: 1.0, y: 2.0 }, Point { x: 3.0, y: 4.0 }];
    /// let points: TensorRef<'_, f32, (Dyn, Fixed<2>)> = TensorRef::from_pod(&points, [2, 2])?;
    /// assert_eq!(points, [[1.0, 2.0], [3.0, 4.0]]);
    /// # Ok::<(), tenfold::Mismatch>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The memory is not aligned for the elements or not a whole number of them, or the shape has
    /// another number of elements.
    pub fn from_pod<P: Pod>(data: &'a [P], extents: S::Extents) -> Result<Self, Mismatch> {
        Self::new(try_cast_slice(data).map_err(|_| Mismatch::Cast)?, extents)
    }
}

impl<'a, T: Element + Pod, S: Shape> TensorMut<'a, T, S> {
    /// The tensor of the elements that values of any `Pod` type are made of, in row-major order.
    ///
    /// # Errors
    ///
    /// As for [`TensorRef::from_pod`].
    pub fn from_pod<P: Pod>(data: &'a mut [P], extents: S::Extents) -> Result<Self, Mismatch> {
        Self::new(try_cast_slice_mut(data).map_err(|_| Mismatch::Cast)?, extents)
    }
}
