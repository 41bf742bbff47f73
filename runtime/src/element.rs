//! The types that can be elements of a tensor, and the types that are stored like one.

use crate::{
    bf16, dynamic::Data, dynamic::DataMut, dynamic::Scalar, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f16, i4, u4,
};
use core::fmt;
use tenfold_abi::DType;

/// Keeps [`Element`] and [`Is`] to the types of this crate: casts of slices rest on them.
pub(crate) mod sealed {
    pub trait Sealed {}
    pub trait SealedIs<T> {}
}

/// The type of an element: `bool`, an integer of 8 to 64 bits, [`f16`](struct@f16), [`bf16`], `f32` or `f64`; and what is
/// only stored, a float of 8 bits ([`f8e4m3fn`], [`f8e4m3fnuz`], [`f8e5m2`], [`f8e5m2fnuz`]) or an integer of 4 ([`i4`],
/// [`u4`]).
///
/// ```
/// use tenfold::{DType, Element};
///
/// assert_eq!(<f32 as Element>::DTYPE, DType::F32);
/// assert_eq!(<tenfold::bf16 as Element>::DTYPE, DType::BF16);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a tensor",
    note = "an element is `bool`, an integer of 8 to 64 bits, `tenfold::f16`, `tenfold::bf16`, `f32` or `f64`, and to store `tenfold::f8e4m3fn` and the like, `tenfold::i4` or `tenfold::u4`"
)]
pub trait Element: Copy + Default + PartialEq + fmt::Debug + Send + Sync + Is<Self> + sealed::Sealed + 'static {
    /// The code of the type.
    const DTYPE: DType;

    /// How a scalar of the type is passed to an entry point.
    #[doc(hidden)]
    type Abi: Bits;

    #[doc(hidden)]
    fn to_abi(self) -> Self::Abi;

    #[doc(hidden)]
    fn from_abi(abi: Self::Abi) -> Self;

    #[doc(hidden)]
    fn data(slice: &[Self]) -> Data<'_>;

    #[doc(hidden)]
    fn data_mut(slice: &mut [Self]) -> DataMut<'_>;

    #[doc(hidden)]
    fn from_data(data: Data<'_>) -> Option<&[Self]>;

    #[doc(hidden)]
    fn from_data_mut(data: DataMut<'_>) -> Option<&mut [Self]>;

    #[doc(hidden)]
    fn from_scalar(scalar: Scalar) -> Option<Self>;
}

/// A scalar as an entry point takes it, whose bits a device takes: those of integers with their sign in 64.
#[doc(hidden)]
pub trait Bits: Copy {
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($t:ty, |$x:ident| $bits:expr;)*) => {$(
        impl Bits for $t {
            fn bits(self) -> u64 {
                let $x = self;
                $bits
            }
        }
    )*};
}

bits! {
    i8, |x| i64::from(x).cast_unsigned();
    u8, |x| u64::from(x);
    i16, |x| i64::from(x).cast_unsigned();
    u16, |x| u64::from(x);
    i32, |x| i64::from(x).cast_unsigned();
    u32, |x| u64::from(x);
    i64, |x| x.cast_unsigned();
    u64, |x| x;
    f32, |x| u64::from(x.to_bits());
    f64, |x| x.to_bits();
}

/// Holds for a type that is stored exactly as the element `T` is: `T` itself and, with feature
/// `half`, `half`'s floats for ours.
///
/// ```
/// use tenfold::Is;
///
/// fn stored_as<T>(_: impl Is<T>) {}
///
/// stored_as::<f32>(1.0_f32);
/// ```
#[diagnostic::on_unimplemented(
    message = "the elements are `{Self}` where the tensor function takes `{T}`",
    label = "elements of another type or rank",
    note = "nothing is converted at a call: convert the elements first, or change the signature"
)]
pub trait Is<T>: Copy + sealed::SealedIs<T> {}

macro_rules! elements {
    ($($t:ty, $variant:ident, $abi:ty, |$x:ident| $to:expr, |$bits:ident| $from:expr;)*) => {$(
        impl sealed::Sealed for $t {}
        impl sealed::SealedIs<$t> for $t {}
        #[diagnostic::do_not_recommend]
        impl Is<$t> for $t {}

        impl Element for $t {
            const DTYPE: DType = DType::$variant;
            type Abi = $abi;

            fn to_abi(self) -> $abi {
                let $x = self;
                $to
            }

            fn from_abi($bits: $abi) -> Self {
                $from
            }

            fn data(slice: &[Self]) -> Data<'_> {
                Data::$variant(slice)
            }

            fn data_mut(slice: &mut [Self]) -> DataMut<'_> {
                DataMut::$variant(slice)
            }

            fn from_data(data: Data<'_>) -> Option<&[Self]> {
                if let Data::$variant(slice) = data { Some(slice) } else { None }
            }

            fn from_data_mut(data: DataMut<'_>) -> Option<&mut [Self]> {
                if let DataMut::$variant(slice) = data { Some(slice) } else { None }
            }

            fn from_scalar(scalar: Scalar) -> Option<Self> {
                if let Scalar::$variant(value) = scalar { Some(value) } else { None }
            }
        }
    )*};
}

elements! {
    bool, Bool, u8, |x| x as u8, |x| x != 0;
    i8, I8, i8, |x| x, |x| x;
    u8, U8, u8, |x| x, |x| x;
    i16, I16, i16, |x| x, |x| x;
    u16, U16, u16, |x| x, |x| x;
    i32, I32, i32, |x| x, |x| x;
    u32, U32, u32, |x| x, |x| x;
    i64, I64, i64, |x| x, |x| x;
    u64, U64, u64, |x| x, |x| x;
    f16, F16, u16, |x| x.to_bits(), |x| f16::from_bits(x);
    bf16, BF16, u16, |x| x.to_bits(), |x| bf16::from_bits(x);
    f32, F32, f32, |x| x, |x| x;
    f64, F64, f64, |x| x, |x| x;
    f8e4m3fn, F8E4M3FN, u8, |x| x.to_bits(), |x| f8e4m3fn::from_bits(x);
    f8e4m3fnuz, F8E4M3FNUZ, u8, |x| x.to_bits(), |x| f8e4m3fnuz::from_bits(x);
    f8e5m2, F8E5M2, u8, |x| x.to_bits(), |x| f8e5m2::from_bits(x);
    f8e5m2fnuz, F8E5M2FNUZ, u8, |x| x.to_bits(), |x| f8e5m2fnuz::from_bits(x);
    i4, I4, i8, |x| x.get(), |x| i4::from_low_bits(x as u8);
    u4, U4, u8, |x| x.get(), |x| u4::from_low_bits(x);
}

#[cfg(feature = "half")]
mod with_half {
    impl super::sealed::SealedIs<crate::f16> for half::f16 {}
    impl super::Is<crate::f16> for half::f16 {}
    impl super::sealed::SealedIs<crate::bf16> for half::bf16 {}
    impl super::Is<crate::bf16> for half::bf16 {}
}
