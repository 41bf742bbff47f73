//! A scalar is a tensor of rank 0.

use crate::{
    AsFixed, AsFixedMut, AsFixedStrided, AsStrided, AsTensor, AsTensorMut, Mismatch, StridedRef, TensorMut, TensorRef,
    bf16, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f16, i4, u4,
};
use core::slice::{from_mut, from_ref};

macro_rules! scalars {
    ($($t:ty)*) => {$(
        impl AsTensor<$t, ()> for $t {
            fn as_tensor(&self) -> Result<TensorRef<'_, $t, ()>, Mismatch> {
                Ok(self.as_fixed())
            }
        }

        impl AsTensorMut<$t, ()> for $t {
            fn as_tensor_mut(&mut self) -> Result<TensorMut<'_, $t, ()>, Mismatch> {
                Ok(self.as_fixed_mut())
            }
        }

        impl AsStrided<$t, ()> for $t {
            fn as_strided(&self) -> Result<StridedRef<'_, $t, ()>, Mismatch> {
                Ok(self.as_fixed_strided())
            }
        }

        impl AsFixed<$t, ()> for $t {
            fn as_fixed(&self) -> TensorRef<'_, $t, ()> {
                TensorRef::trusted(from_ref(self), [])
            }
        }

        impl AsFixedMut<$t, ()> for $t {
            fn as_fixed_mut(&mut self) -> TensorMut<'_, $t, ()> {
                TensorMut::trusted(from_mut(self), [])
            }
        }

        impl AsFixedStrided<$t, ()> for $t {
            fn as_fixed_strided(&self) -> StridedRef<'_, $t, ()> {
                self.as_fixed().strided()
            }
        }
    )*};
}

scalars!(bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz i4 u4);
