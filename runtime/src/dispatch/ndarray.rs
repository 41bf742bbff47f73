//! Views of `ndarray`, which may have gaps and negative strides.

use crate::{Element, Is, Mismatch, Shape, StridedRef};
use ::ndarray::{ArrayBase, Data, Dimension};

/// The same elements with `ndarray`'s own strides.
pub(crate) fn strided<T: Element, U: Is<T>, X: Data<Elem = U>, D: Dimension, S: Shape>(
    array: &ArrayBase<X, D>,
) -> Result<StridedRef<'_, T, S>, Mismatch> {
    let extents = S::check(array.shape())?;
    let mut strides = S::Strides::default();
    strides.as_mut().copy_from_slice(array.strides());
    // SAFETY: the array is borrowed, has an element at each index, and `U` is stored as `T` is.
    Ok(unsafe { StridedRef::from_raw(array.as_ptr().cast(), extents, strides) })
}
