//! Views and owned tensors.

#[cfg(feature = "alloc")]
use crate::Tensor;
use crate::{
    AdmitsAll, AsFixed, AsFixedMut, AsFixedStrided, AsStrided, AsTensor, AsTensorMut, Element, FixedShape, Mismatch,
    Shape, StridedRef, TensorMut, TensorRef,
};

macro_rules! read {
    ($($tensor:ident<$($p:tt),*>;)*) => {$(
        impl<T: Element, S: Shape, S2: AdmitsAll<S>> AsTensor<T, S2> for $tensor<$($p),*> {
            fn as_tensor(&self) -> Result<TensorRef<'_, T, S2>, Mismatch> {
                TensorRef::trusted(self.as_slice(), self.shape()).with_shape::<S2>()
            }
        }

        impl<T: Element, S: Shape, S2: AdmitsAll<S>> AsStrided<T, S2> for $tensor<$($p),*> {
            fn as_strided(&self) -> Result<StridedRef<'_, T, S2>, Mismatch> {
                Ok(self.as_tensor()?.strided())
            }
        }

        impl<T: Element, S: FixedShape> AsFixed<T, S> for $tensor<$($p),*> {
            fn as_fixed(&self) -> TensorRef<'_, T, S> {
                TensorRef::trusted(self.as_slice(), S::FIXED)
            }
        }

        impl<T: Element, S: FixedShape> AsFixedStrided<T, S> for $tensor<$($p),*> {
            fn as_fixed_strided(&self) -> StridedRef<'_, T, S> {
                self.as_fixed().strided()
            }
        }
    )*};
}

macro_rules! write {
    ($($tensor:ident<$($p:tt),*>;)*) => {$(
        impl<T: Element, S: Shape, S2: AdmitsAll<S>> AsTensorMut<T, S2> for $tensor<$($p),*> {
            fn as_tensor_mut(&mut self) -> Result<TensorMut<'_, T, S2>, Mismatch> {
                let extents = S2::check(self.shape().as_ref())?;
                Ok(TensorMut::trusted(self.as_mut_slice(), extents))
            }
        }

        impl<T: Element, S: FixedShape> AsFixedMut<T, S> for $tensor<$($p),*> {
            fn as_fixed_mut(&mut self) -> TensorMut<'_, T, S> {
                TensorMut::trusted(self.as_mut_slice(), S::FIXED)
            }
        }
    )*};
}

read! {
    TensorRef<'_, T, S>;
    TensorMut<'_, T, S>;
}
write!(TensorMut<'_, T, S>;);
#[cfg(feature = "alloc")]
read!(Tensor<T, S>;);
#[cfg(feature = "alloc")]
write!(Tensor<T, S>;);

impl<T: Element, S: Shape, S2: AdmitsAll<S>> AsStrided<T, S2> for StridedRef<'_, T, S> {
    fn as_strided(&self) -> Result<StridedRef<'_, T, S2>, Mismatch> {
        self.with_shape()
    }
}

impl<T: Element, S: FixedShape> AsFixedStrided<T, S> for StridedRef<'_, T, S> {
    fn as_fixed_strided(&self) -> StridedRef<'_, T, S> {
        *self
    }
}
