//! Tensors and scalars whose types are known when the program runs, for calls by name.

use crate::{
    AsStrided, AsTensor, AsTensorMut, DType, Element, IntoShape, Mismatch, Shape, StridedRef, TensorMut, TensorRef,
    bf16, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f16, i4, u4, view::check,
};
use core::fmt;
use tenfold_abi::MAX_RANK;

macro_rules! dtypes {
    ($($variant:ident $t:ty;)*) => {
        /// Elements of any type.
        #[doc(hidden)]
        #[derive(Clone, Copy)]
        pub enum Data<'a> {
            $($variant(&'a [$t]),)*
        }

        /// Elements of any type, to be written.
        #[doc(hidden)]
        pub enum DataMut<'a> {
            $($variant(&'a mut [$t]),)*
        }

        /// A scalar of any type.
        ///
        /// ```
        /// use tenfold::{DType, Scalar};
        ///
        /// assert_eq!(Scalar::from(0.5_f32).dtype(), Some(DType::F32));
        /// assert_eq!(Scalar::from(3_usize).dtype(), None);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Scalar {
            $(
                #[doc = concat!("One of `", stringify!($t), "`.")]
                $variant($t),
            )*
            /// An index value: a `usize` or an `isize`.
            Index(i64),
        }

        impl Data<'_> {
            fn dtype(&self) -> DType {
                match self {
                    $(Self::$variant(_) => DType::$variant,)*
                }
            }

            fn len(&self) -> usize {
                match self {
                    $(Self::$variant(data) => data.len(),)*
                }
            }
        }

        impl DataMut<'_> {
            fn as_ref(&self) -> Data<'_> {
                match self {
                    $(Self::$variant(data) => Data::$variant(data),)*
                }
            }

            fn reborrow(&mut self) -> DataMut<'_> {
                match self {
                    $(Self::$variant(data) => DataMut::$variant(data),)*
                }
            }
        }

        impl Scalar {
            /// The type; none for an index value.
            #[must_use]
            pub fn dtype(&self) -> Option<DType> {
                match self {
                    $(Self::$variant(_) => Some(DType::$variant),)*
                    Self::Index(_) => None,
                }
            }
        }

        $(impl From<$t> for Scalar {
            fn from(value: $t) -> Self {
                Self::$variant(value)
            }
        })*
    };
}

dtypes! {
    Bool bool;
    I8 i8;
    U8 u8;
    I16 i16;
    U16 u16;
    I32 i32;
    U32 u32;
    I64 i64;
    U64 u64;
    F16 f16;
    BF16 bf16;
    F32 f32;
    F64 f64;
    F8E4M3FN f8e4m3fn;
    F8E4M3FNUZ f8e4m3fnuz;
    F8E5M2 f8e5m2;
    F8E5M2FNUZ f8e5m2fnuz;
    I4 i4;
    U4 u4;
}

impl From<usize> for Scalar {
    fn from(value: usize) -> Self {
        Self::Index(crate::rt::index(value))
    }
}

impl From<isize> for Scalar {
    fn from(value: isize) -> Self {
        Self::Index(crate::rt::index(value))
    }
}

/// Extents of any number of axes.
#[derive(Clone, Copy)]
struct Extents {
    rank: usize,
    extents: [usize; MAX_RANK],
}

impl Extents {
    fn new(of: &[usize]) -> Self {
        let mut extents = [0; MAX_RANK];
        extents[..of.len()].copy_from_slice(of);
        Self { rank: of.len(), extents }
    }

    fn as_slice(&self) -> &[usize] {
        &self.extents[..self.rank]
    }
}

/// A borrowed tensor whose dtype and shape are known when the program runs.
///
/// ```
/// use tenfold::{AsTensor, DType, Dyn, DynTensor, Fixed};
///
/// let x = DynTensor::new(&[1.0_f32, 2.0, 3.0, 4.0], [2, 2])?;
/// assert_eq!((x.dtype(), x.shape()), (DType::F32, &[2, 2][..]));
/// assert!(AsTensor::<f32, (Dyn, Fixed<2>)>::as_tensor(&x).is_ok());
/// let wrong = AsTensor::<i32, (Dyn, Dyn)>::as_tensor(&x).unwrap_err();
/// assert_eq!(wrong.to_string(), "the elements are `f32`, but the signature says `i32`");
/// # Ok::<(), tenfold::Mismatch>(())
/// ```
#[derive(Clone, Copy)]
pub struct DynTensor<'a> {
    data: Data<'a>,
    extents: Extents,
}

/// A borrowed tensor to be written, whose dtype and shape are known when the program runs.
///
/// ```
/// use tenfold::{DType, DynTensorMut};
///
/// let mut y = [0_i64; 6];
/// let y = DynTensorMut::new(&mut y, [3, 2])?;
/// assert_eq!((y.dtype(), y.shape()), (DType::I64, &[3, 2][..]));
/// # Ok::<(), tenfold::Mismatch>(())
/// ```
pub struct DynTensorMut<'a> {
    data: DataMut<'a>,
    extents: Extents,
}

impl<'a> DynTensor<'a> {
    /// The tensor of these elements in row-major order.
    ///
    /// # Errors
    ///
    /// The shape has another number of elements than there are.
    pub fn new<T: Element, X: IntoShape>(data: &'a [T], shape: X) -> Result<Self, Mismatch> {
        TensorRef::new(data, shape.extents()).map(|it: TensorRef<'a, T, X::Shape>| it.into())
    }

    /// The type of the elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    /// One extent per axis.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.extents.as_slice()
    }
}

impl<'a> DynTensorMut<'a> {
    /// The tensor of these elements in row-major order.
    ///
    /// # Errors
    ///
    /// The shape has another number of elements than there are.
    pub fn new<T: Element, X: IntoShape>(data: &'a mut [T], shape: X) -> Result<Self, Mismatch> {
        TensorMut::new(data, shape.extents()).map(|it: TensorMut<'a, T, X::Shape>| it.into())
    }

    /// The type of the elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.data.as_ref().dtype()
    }

    /// One extent per axis.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.extents.as_slice()
    }

    /// The tensor, read only.
    #[must_use]
    pub fn as_ref(&self) -> DynTensor<'_> {
        DynTensor { data: self.data.as_ref(), extents: self.extents }
    }

    /// The same tensor, borrowed for a shorter time.
    pub fn reborrow(&mut self) -> DynTensorMut<'_> {
        DynTensorMut { data: self.data.reborrow(), extents: self.extents }
    }
}

impl<'a, T: Element, S: Shape> From<TensorRef<'a, T, S>> for DynTensor<'a> {
    fn from(tensor: TensorRef<'a, T, S>) -> Self {
        let extents = Extents::new(tensor.shape().as_ref());
        Self { data: T::data(tensor.as_slice()), extents }
    }
}

impl<'a, T: Element, S: Shape> From<TensorMut<'a, T, S>> for DynTensorMut<'a> {
    fn from(tensor: TensorMut<'a, T, S>) -> Self {
        let extents = Extents::new(tensor.shape().as_ref());
        Self { data: T::data_mut(tensor.into_mut_slice()), extents }
    }
}

impl<'a> DynTensor<'a> {
    /// The typed view, if dtype, rank and fixed extents are those of the types.
    ///
    /// # Errors
    ///
    /// One of them is another.
    pub fn typed<T: Element, S: Shape>(&self) -> Result<TensorRef<'a, T, S>, Mismatch> {
        let found = self.dtype();
        let extents = S::check(self.shape())?;
        let data = T::from_data(self.data).ok_or(Mismatch::DType { expected: T::DTYPE, found })?;
        TensorRef::new(data, extents)
    }
}

impl<'a> DynTensorMut<'a> {
    /// The typed view, if dtype, rank and fixed extents are those of the types.
    ///
    /// # Errors
    ///
    /// One of them is another.
    pub fn typed<T: Element, S: Shape>(self) -> Result<TensorMut<'a, T, S>, Mismatch> {
        let found = self.dtype();
        let extents = check::<S>(S::check(self.shape())?, self.data.as_ref().len())?;
        let data = T::from_data_mut(self.data).ok_or(Mismatch::DType { expected: T::DTYPE, found })?;
        TensorMut::new(data, extents)
    }
}

impl<T: Element, S: Shape> AsTensor<T, S> for DynTensor<'_> {
    fn as_tensor(&self) -> Result<TensorRef<'_, T, S>, Mismatch> {
        self.typed()
    }
}

impl<T: Element, S: Shape> AsStrided<T, S> for DynTensor<'_> {
    fn as_strided(&self) -> Result<StridedRef<'_, T, S>, Mismatch> {
        Ok(self.typed()?.strided())
    }
}

impl<T: Element, S: Shape> AsTensor<T, S> for DynTensorMut<'_> {
    fn as_tensor(&self) -> Result<TensorRef<'_, T, S>, Mismatch> {
        self.as_ref().typed()
    }
}

impl<T: Element, S: Shape> AsTensorMut<T, S> for DynTensorMut<'_> {
    fn as_tensor_mut(&mut self) -> Result<TensorMut<'_, T, S>, Mismatch> {
        self.reborrow().typed()
    }
}

impl fmt::Debug for DynTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynTensor<{}, {:?}>", self.dtype(), self.shape())
    }
}

impl fmt::Debug for DynTensorMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynTensorMut<{}, {:?}>", self.dtype(), self.shape())
    }
}

/// An argument of a call by name.
///
/// ```
/// use tenfold::{Arg, view, view_mut};
///
/// let mut state = [0.0_f32; 4];
/// let args = [
///     Arg::input(view(&[1.0_f32, 2.0], [2])?),
///     Arg::scalar(0.5_f32),
///     Arg::scalar(3_usize),
///     Arg::state(view_mut(&mut state, [4])?),
/// ];
/// # let _ = args;
/// # Ok::<(), tenfold::Mismatch>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Arg<'a> {
    /// An input.
    Input(DynTensor<'a>),
    /// State, which the function updates.
    State(DynTensorMut<'a>),
    /// A scalar or an index value.
    Scalar(Scalar),
}

impl<'a> Arg<'a> {
    /// An input.
    pub fn input(tensor: impl Into<DynTensor<'a>>) -> Self {
        Self::Input(tensor.into())
    }

    /// State, which the function updates.
    pub fn state(tensor: impl Into<DynTensorMut<'a>>) -> Self {
        Self::State(tensor.into())
    }

    /// A scalar or an index value.
    pub fn scalar(value: impl Into<Scalar>) -> Self {
        Self::Scalar(value.into())
    }

    /// What this is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Input(_) => "an input",
            Self::State(_) => "state",
            Self::Scalar(Scalar::Index(_)) => "an index value",
            Self::Scalar(_) => "a scalar",
        }
    }
}
