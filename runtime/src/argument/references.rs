//! References to tensors, and tensors in boxes, are tensors.

use crate::{
    AsFixed, AsFixedMut, AsFixedStrided, AsStrided, AsTensor, AsTensorMut, Element, FixedShape, Mismatch, Shape,
    StridedRef, TensorMut, TensorRef,
};
#[cfg(feature = "alloc")]
use alloc::boxed::Box;

macro_rules! read {
    ($($pointer:ty),*) => {$(
        impl<T: Element, S: Shape, X: AsTensor<T, S> + ?Sized> AsTensor<T, S> for $pointer {
            fn as_tensor(&self) -> Result<TensorRef<'_, T, S>, Mismatch> {
                (**self).as_tensor()
            }
        }

        impl<T: Element, S: Shape, X: AsStrided<T, S> + ?Sized> AsStrided<T, S> for $pointer {
            fn as_strided(&self) -> Result<StridedRef<'_, T, S>, Mismatch> {
                (**self).as_strided()
            }
        }

        impl<T: Element, S: FixedShape, X: AsFixed<T, S> + ?Sized> AsFixed<T, S> for $pointer {
            fn as_fixed(&self) -> TensorRef<'_, T, S> {
                (**self).as_fixed()
            }
        }

        impl<T: Element, S: FixedShape, X: AsFixedStrided<T, S> + ?Sized> AsFixedStrided<T, S>
            for $pointer
        {
            fn as_fixed_strided(&self) -> StridedRef<'_, T, S> {
                (**self).as_fixed_strided()
            }
        }
    )*};
}

macro_rules! write {
    ($($pointer:ty),*) => {$(
        impl<T: Element, S: Shape, X: AsTensorMut<T, S> + ?Sized> AsTensorMut<T, S> for $pointer {
            fn as_tensor_mut(&mut self) -> Result<TensorMut<'_, T, S>, Mismatch> {
                (**self).as_tensor_mut()
            }
        }

        impl<T: Element, S: FixedShape, X: AsFixedMut<T, S> + ?Sized> AsFixedMut<T, S>
            for $pointer
        {
            fn as_fixed_mut(&mut self) -> TensorMut<'_, T, S> {
                (**self).as_fixed_mut()
            }
        }
    )*};
}

read!(&X, &mut X);
write!(&mut X);
#[cfg(feature = "alloc")]
read!(Box<X>);
#[cfg(feature = "alloc")]
write!(Box<X>);
