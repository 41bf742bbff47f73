//! `ndarray`'s arrays and views: as tensors if they lie in standard layout, as strided ones always.

use crate::{
    Admits, AsStrided, AsTensor, AsTensorMut, Dim, Dyn, Element, Is, Mismatch, Shape, StridedRef, TensorMut, TensorRef,
    dispatch::{cast, cast_mut, ndarray},
};
use ::ndarray::{ArrayBase, Data, DataMut, Dim as NdDim};

macro_rules! ranks {
    ($($rank:literal: $($d:ident)*;)*) => {$(
        impl<T, U, X, $($d),*> AsTensor<T, ($($d,)*)> for ArrayBase<X, NdDim<[usize; $rank]>>
        where
            T: Element,
            U: Is<T>,
            X: Data<Elem = U>,
            $($d: Dim + Admits<Dyn>,)*
        {
            fn as_tensor(&self) -> Result<TensorRef<'_, T, ($($d,)*)>, Mismatch> {
                let extents = <($($d,)*)>::check(self.shape())?;
                TensorRef::new(cast(self.as_slice().ok_or(Mismatch::Layout)?), extents)
            }
        }

        impl<T, U, X, $($d),*> AsTensorMut<T, ($($d,)*)> for ArrayBase<X, NdDim<[usize; $rank]>>
        where
            T: Element,
            U: Is<T>,
            X: DataMut<Elem = U>,
            $($d: Dim + Admits<Dyn>,)*
        {
            fn as_tensor_mut(&mut self) -> Result<TensorMut<'_, T, ($($d,)*)>, Mismatch> {
                let extents = <($($d,)*)>::check(self.shape())?;
                TensorMut::new(cast_mut(self.as_slice_mut().ok_or(Mismatch::Layout)?), extents)
            }
        }

        impl<T, U, X, $($d),*> AsStrided<T, ($($d,)*)> for ArrayBase<X, NdDim<[usize; $rank]>>
        where
            T: Element,
            U: Is<T>,
            X: Data<Elem = U>,
            $($d: Dim + Admits<Dyn>,)*
        {
            fn as_strided(&self) -> Result<StridedRef<'_, T, ($($d,)*)>, Mismatch> {
                ndarray::strided(self)
            }
        }
    )*};
}

ranks! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
}
