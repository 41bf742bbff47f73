//! From what a caller passes to what an entry point takes, and back.

use crate::{
    AsFixed, AsFixedMut, AsFixedStrided, AsStrided, AsTensor, AsTensorMut, AsWorkspace, Element, Error, FixedShape,
    ScalarBits, Shape, StridedRef, TensorMut, TensorRef, element::Bits as _, workspace::aligned,
};
use tenfold_abi::Status;

/// An input of a function that can fail.
///
/// # Errors
///
/// It is not the tensor of the signature.
#[inline]
pub fn input<'a, T: Element, S: Shape>(
    param: &'static str,
    tensor: &'a (impl AsTensor<T, S> + ?Sized),
) -> Result<TensorRef<'a, T, S>, Error> {
    tensor.as_tensor().map_err(|why| why.of(param))
}

/// An input of type `Strided` of a function that can fail.
///
/// # Errors
///
/// It is not the tensor of the signature.
#[inline]
pub fn strided<'a, T: Element, S: Shape>(
    param: &'static str,
    tensor: &'a (impl AsStrided<T, S> + ?Sized),
) -> Result<StridedRef<'a, T, S>, Error> {
    tensor.as_strided().map_err(|why| why.of(param))
}

/// State of a function that can fail.
///
/// # Errors
///
/// It is not the tensor of the signature.
#[inline]
pub fn state<'a, T: Element, S: Shape>(
    param: &'static str,
    tensor: &'a mut (impl AsTensorMut<T, S> + ?Sized),
) -> Result<TensorMut<'a, T, S>, Error> {
    tensor.as_tensor_mut().map_err(|why| why.of(param))
}

/// A result of a function that can fail, with the extents that it must have.
///
/// # Errors
///
/// It is not the tensor of the signature.
#[inline]
pub fn result<'a, T: Element, S: Shape>(
    name: &'static str,
    tensor: &'a mut (impl AsTensorMut<T, S> + ?Sized),
    extents: S::Extents,
    dims: &[&'static str],
) -> Result<TensorMut<'a, T, S>, Error> {
    let tensor = tensor.as_tensor_mut().map_err(|why| why.of(name))?;
    room(name, tensor.shape().as_ref(), extents.as_ref(), dims)?;
    Ok(tensor)
}

/// That a result has the extents that it must have.
///
/// # Errors
///
/// It has others.
#[inline]
pub fn room(name: &'static str, found: &[usize], expected: &[usize], dims: &[&'static str]) -> Result<(), Error> {
    for (axis, ((&found, &expected), &dim)) in found.iter().zip(expected).zip(dims).enumerate() {
        if found != expected {
            let expected = expected as i64;
            return Err(Error::Dim { param: name, axis, found, dim, expected, from: None });
        }
    }
    Ok(())
}

/// An input of a function that cannot fail.
#[inline]
pub fn fixed<T: Element, S: FixedShape>(tensor: &(impl AsFixed<T, S> + ?Sized)) -> TensorRef<'_, T, S> {
    tensor.as_fixed()
}

/// An input of type `Strided` of a function that cannot fail.
#[inline]
pub fn fixed_strided<T: Element, S: FixedShape>(tensor: &(impl AsFixedStrided<T, S> + ?Sized)) -> StridedRef<'_, T, S> {
    tensor.as_fixed_strided()
}

/// State or a result of a function that cannot fail.
#[inline]
pub fn fixed_mut<T: Element, S: FixedShape>(tensor: &mut (impl AsFixedMut<T, S> + ?Sized)) -> TensorMut<'_, T, S> {
    tensor.as_fixed_mut()
}

/// An index value. One that a `ptrdiff_t` does not hold is taken as the greatest that it does,
/// which no extent exceeds.
#[inline]
#[must_use]
pub fn index(value: impl Index) -> i64 {
    value.index()
}

/// `usize` and `isize`.
pub trait Index {
    /// The value.
    fn index(self) -> i64;
}

impl Index for usize {
    #[inline]
    fn index(self) -> i64 {
        self.min(isize::MAX.cast_unsigned()) as i64
    }
}

impl Index for isize {
    #[inline]
    fn index(self) -> i64 {
        self as i64
    }
}

/// A scalar as an entry point takes it.
#[inline]
#[must_use]
pub fn scalar<T: Element>(value: T) -> T::Abi {
    value.to_abi()
}

/// A scalar as a device takes it.
#[inline]
#[must_use]
pub fn scalar_bits<T: Element>(value: T) -> ScalarBits {
    ScalarBits { dtype: T::DTYPE, bits: value.to_abi().bits() }
}

/// The strides of a tensor in row-major order, as a device takes them.
#[inline]
#[must_use]
pub fn steps<const N: usize>(extents: [usize; N]) -> [i64; N] {
    let mut steps = [1_i64; N];
    for axis in (1..N).rev() {
        steps[axis - 1] = steps[axis].saturating_mul(extents[axis] as i64);
    }
    steps
}

/// The pointer to a workspace of at least this many bytes.
///
/// `needed` is the value of an expression over dims; `None`, which does not fit, is more than any
/// workspace has.
///
/// # Errors
///
/// The workspace is smaller.
#[inline]
pub fn workspace(workspace: &mut (impl AsWorkspace + ?Sized), needed: usize) -> Result<*mut u8, Error> {
    Ok(aligned(workspace.bytes(), needed)?.as_mut_ptr().cast())
}

/// What an entry point returned, with the texts of the function's run-time checks.
///
/// # Errors
///
/// A check did not hold, or the entry point failed otherwise.
#[inline]
pub fn finish(status: i32, checks: &[&'static str]) -> Result<(), Error> {
    match Status(status) {
        Status::OK => Ok(()),
        status => Err(failed(status, checks)),
    }
}

#[cold]
fn failed(status: Status, checks: &[&'static str]) -> Error {
    match status.failed_check().and_then(|at| checks.get(at)) {
        Some(&text) => Error::Check { text },
        None => Error::Kernel(status),
    }
}
