//! What may be passed where a signature has a tensor, without a copy.
//!
//! A function that can fail takes [`AsTensor`] and checks at the call what the types leave open; a
//! function that cannot takes [`AsFixed`], which the types settle. `AsStrided` stands for
//! parameters of type `Strided`. What is known not to fit (another rank, dtype or fixed extent)
//! does not compile.

mod arrays;
#[cfg(feature = "ndarray")]
mod ndarray;
mod references;
mod scalars;
mod tensors;

use crate::{Element, FixedShape, Mismatch, Shape, StridedRef, TensorMut, TensorRef};

/// Holds for what may be passed for an input `Tensor<T, …>` of the shape `S`.
///
/// ```
/// use tenfold::{AsTensor, Dyn, Fixed, view};
///
/// fn rows(x: &(impl AsTensor<f32, (Dyn, Fixed<2>)> + ?Sized)) -> usize {
///     x.as_tensor().map_or(0, |x| x.shape()[0])
/// }
///
/// assert_eq!(rows(&[[1.0, 2.0], [3.0, 4.0]]), 2);
/// assert_eq!(rows(&[[1.0, 2.0]][..]), 1);
/// assert_eq!(rows(&vec![[1.0, 2.0]; 5]), 5);
/// assert_eq!(rows(&view(&[1.0; 6], [3, 2])?), 3);
/// # Ok::<(), tenfold::Mismatch>(())
/// ```
///
/// Another fixed extent is an error of rustc's:
///
/// ```compile_fail
/// # use tenfold::{AsTensor, Dyn, Fixed};
/// # fn rows(x: &(impl AsTensor<f32, (Dyn, Fixed<2>)> + ?Sized)) {}
/// rows(&[[1.0, 2.0, 3.0]]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor of `{T}` with the axes `{S}`",
    label = "not the tensor that the signature takes",
    note = "a tensor is a nested array, a slice or vector of arrays, `tenfold::view(slice, shape)` or a `tenfold::Tensor`"
)]
pub trait AsTensor<T: Element, S: Shape> {
    /// The view.
    ///
    /// # Errors
    ///
    /// The extents, the dtype or the layout are not those of the signature.
    fn as_tensor(&self) -> Result<TensorRef<'_, T, S>, Mismatch>;
}

/// Holds for what may be passed for a result or state `&mut Tensor<T, …>` of the shape `S`.
///
/// ```
/// use tenfold::{AsTensorMut, Dyn, Element};
///
/// fn clear(y: &mut (impl AsTensorMut<u8, (Dyn, Dyn)> + ?Sized)) {
///     y.as_tensor_mut().unwrap().as_mut_slice().fill(0);
/// }
///
/// let mut y = [[1, 2], [3, 4]];
/// clear(&mut y);
/// assert_eq!(y, [[0, 0], [0, 0]]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor of `{T}` with the axes `{S}` that can be written",
    label = "not the tensor that the signature takes",
    note = "a tensor to be written is a nested array, a slice or vector of arrays, `tenfold::view_mut(slice, shape)` or a `tenfold::Tensor`"
)]
pub trait AsTensorMut<T: Element, S: Shape>: AsTensor<T, S> {
    /// The view.
    ///
    /// # Errors
    ///
    /// The extents, the dtype or the layout are not those of the signature.
    fn as_tensor_mut(&mut self) -> Result<TensorMut<'_, T, S>, Mismatch>;
}

/// Holds for what may be passed for an input `Strided<T, …>` of the shape `S`.
///
/// ```
/// use tenfold::{AsStrided, Dyn, StridedRef};
///
/// fn strides(x: &(impl AsStrided<i16, (Dyn, Dyn)> + ?Sized)) -> [isize; 2] {
///     x.as_strided().map_or([0; 2], |x| x.strides())
/// }
///
/// assert_eq!(strides(&[[1, 2, 3], [4, 5, 6]]), [3, 1]);
/// assert_eq!(strides(&StridedRef::new(&[1, 2, 3, 4], [2, 2], [1, 2], 0)?), [1, 2]);
/// # Ok::<(), tenfold::Mismatch>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a strided tensor of `{T}` with the axes `{S}`",
    label = "not the tensor that the signature takes",
    note = "a strided tensor is a `tenfold::StridedRef`, or anything that is a tensor without gaps"
)]
pub trait AsStrided<T: Element, S: Shape> {
    /// The view.
    ///
    /// # Errors
    ///
    /// The extents or the dtype are not those of the signature.
    fn as_strided(&self) -> Result<StridedRef<'_, T, S>, Mismatch>;
}

/// [`AsTensor`] where the type says every extent, so that nothing can fail.
///
/// ```
/// use tenfold::{AsFixed, Fixed};
///
/// fn first(x: &(impl AsFixed<f32, (Fixed<2>, Fixed<2>)> + ?Sized)) -> f32 {
///     x.as_fixed()[[0, 0]]
/// }
///
/// assert_eq!(first(&[[1.0, 2.0], [3.0, 4.0]]), 1.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor of `{T}` whose type says that its axes are `{S}`",
    label = "not the tensor that the signature takes",
    note = "every dim of this function is fixed: pass a nested array, or a view after `with_shape`"
)]
pub trait AsFixed<T: Element, S: FixedShape> {
    /// The view.
    fn as_fixed(&self) -> TensorRef<'_, T, S>;
}

/// [`AsTensorMut`] where the type says every extent, so that nothing can fail.
///
/// ```
/// use tenfold::{AsFixedMut, Fixed};
///
/// fn clear(y: &mut (impl AsFixedMut<u8, (Fixed<2>, Fixed<2>)> + ?Sized)) {
///     y.as_fixed_mut().as_mut_slice().fill(0);
/// }
///
/// let mut y = [[1, 2], [3, 4]];
/// clear(&mut y);
/// assert_eq!(y, [[0, 0], [0, 0]]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor of `{T}` whose type says that its axes are `{S}` and that can be written",
    label = "not the tensor that the signature takes",
    note = "every dim of this function is fixed: pass a nested array, or a view after `with_shape`"
)]
pub trait AsFixedMut<T: Element, S: FixedShape> {
    /// The view.
    fn as_fixed_mut(&mut self) -> TensorMut<'_, T, S>;
}

/// [`AsStrided`] where the type says every extent, so that nothing can fail.
///
/// ```
/// use tenfold::{AsFixedStrided, Fixed};
///
/// fn last(x: &(impl AsFixedStrided<f32, (Fixed<2>, Fixed<3>)> + ?Sized)) -> Option<f32> {
///     x.as_fixed_strided().get([1, 2]).copied()
/// }
///
/// assert_eq!(last(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), Some(6.0));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a strided tensor of `{T}` whose type says that its axes are `{S}`",
    label = "not the tensor that the signature takes",
    note = "every dim of this function is fixed: pass a nested array, or a view after `with_shape`"
)]
pub trait AsFixedStrided<T: Element, S: FixedShape> {
    /// The view.
    fn as_fixed_strided(&self) -> StridedRef<'_, T, S>;
}
