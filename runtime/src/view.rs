//! Tensors that borrow their elements: a slice in row-major order, and its extents.

use crate::{
    AdmitsAll, AsTensor, Element, IntoShape, Mismatch, Shape, StridedRef, format,
    shape::{elements, offset},
};
use core::{
    fmt,
    ops::{Index, IndexMut},
};

/// A borrowed tensor that is read only. It is `Send` and `Sync` as a slice is.
///
/// ```
/// use tenfold::{Dyn, Fixed, TensorRef, view};
///
/// let rows: TensorRef<'_, i32, (Dyn, Fixed<2>)> = view(&[1, 2, 3, 4, 5, 6], [3, 2])?.with_shape()?;
/// assert_eq!(rows.shape(), [3, 2]);
/// assert_eq!(rows[[2, 0]], 5);
/// assert_eq!(rows.get([3, 0]), None);
/// assert_eq!(rows, [[1, 2], [3, 4], [5, 6]]);
/// # Ok::<(), tenfold::Mismatch>(())
/// ```
pub struct TensorRef<'a, T: Element, S: Shape> {
    data: &'a [T],
    extents: S::Extents,
}

/// A borrowed tensor that is written. It is `Send` and `Sync` as a slice is.
///
/// ```
/// use tenfold::view_mut;
///
/// let mut data = [0; 6];
/// view_mut(&mut data, [2, 3])?[[1, 2]] = 7;
/// assert_eq!(data, [0, 0, 0, 0, 0, 7]);
/// # Ok::<(), tenfold::Mismatch>(())
/// ```
pub struct TensorMut<'a, T: Element, S: Shape> {
    data: &'a mut [T],
    extents: S::Extents,
}

/// A slice with a shape: extents as an array, or a tuple in which [`Fixed`](crate::Fixed) says
/// what the type should know.
///
/// ```
/// use tenfold::{Dyn, Fixed, TensorRef, view};
///
/// let data = [0.0_f32; 12];
/// let _: TensorRef<'_, f32, (Dyn, Dyn)> = view(&data, [3, 4])?;
/// let _: TensorRef<'_, f32, (Dyn, Fixed<4>)> = view(&data, (3, Fixed::<4>))?;
/// # Ok::<(), tenfold::Mismatch>(())
/// ```
///
/// # Errors
///
/// The shape has another number of elements than the slice.
pub fn view<T: Element, X: IntoShape>(data: &[T], shape: X) -> Result<TensorRef<'_, T, X::Shape>, Mismatch> {
    TensorRef::new(data, shape.extents())
}

/// A slice with a shape, to be written; see [`view`].
///
/// ```
/// use tenfold::view_mut;
///
/// let mut data = [0; 4];
/// let mut square = view_mut(&mut data, [2, 2])?;
/// square[[1, 0]] = 5;
/// assert_eq!(data, [0, 0, 5, 0]);
/// # Ok::<(), tenfold::Mismatch>(())
/// ```
///
/// # Errors
///
/// The shape has another number of elements than the slice.
pub fn view_mut<T: Element, X: IntoShape>(data: &mut [T], shape: X) -> Result<TensorMut<'_, T, X::Shape>, Mismatch> {
    TensorMut::new(data, shape.extents())
}

/// The extents, if the type of the shape allows them and they hold `found` elements.
pub(crate) fn check<S: Shape>(extents: S::Extents, found: usize) -> Result<S::Extents, Mismatch> {
    let extents = S::check(extents.as_ref())?;
    match elements(extents.as_ref()) {
        Some(shape) if shape == found => Ok(extents),
        shape => Err(Mismatch::Elements { shape, found }),
    }
}

impl<'a, T: Element, S: Shape> TensorRef<'a, T, S> {
    /// The tensor of these elements in row-major order.
    ///
    /// # Errors
    ///
    /// The extents are not those of the type, or not as many as there are elements.
    pub fn new(data: &'a [T], extents: S::Extents) -> Result<Self, Mismatch> {
        Ok(Self { data, extents: check::<S>(extents, data.len())? })
    }

    /// For callers whose types say that the extents fit.
    pub(crate) fn trusted(data: &'a [T], extents: S::Extents) -> Self {
        debug_assert_eq!(elements(extents.as_ref()), Some(data.len()));
        Self { data, extents }
    }

    /// The elements in row-major order.
    #[must_use]
    pub fn as_slice(&self) -> &'a [T] {
        self.data
    }

    /// The first element; dangling if there is none.
    #[doc(hidden)]
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.data.as_ptr()
    }

    /// The same elements with a stride per axis.
    ///
    /// ```
    /// let x = tenfold::view(&[1, 2, 3, 4, 5, 6], [2, 3])?;
    /// assert_eq!(x.strided().strides(), [3, 1]);
    /// # Ok::<(), tenfold::Mismatch>(())
    /// ```
    #[must_use]
    pub fn strided(&self) -> StridedRef<'a, T, S> {
        StridedRef::row_major(self.data, self.extents)
    }

    /// The same tensor with extents that another type says.
    ///
    /// # Errors
    ///
    /// An extent is not what the type says.
    pub fn with_shape<S2: AdmitsAll<S>>(self) -> Result<TensorRef<'a, T, S2>, Mismatch> {
        Ok(TensorRef { data: self.data, extents: S2::check(self.extents.as_ref())? })
    }
}

impl<T: Element, S: Shape> Clone for TensorRef<'_, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, S: Shape> Copy for TensorRef<'_, T, S> {}

impl<'a, T: Element, S: Shape> TensorMut<'a, T, S> {
    /// The tensor of these elements in row-major order.
    ///
    /// # Errors
    ///
    /// The extents are not those of the type, or not as many as there are elements.
    pub fn new(data: &'a mut [T], extents: S::Extents) -> Result<Self, Mismatch> {
        Ok(Self { extents: check::<S>(extents, data.len())?, data })
    }

    /// For callers whose types say that the extents fit.
    pub(crate) fn trusted(data: &'a mut [T], extents: S::Extents) -> Self {
        debug_assert_eq!(elements(extents.as_ref()), Some(data.len()));
        Self { data, extents }
    }

    /// The elements in row-major order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        self.data
    }

    /// The elements in row-major order.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.data
    }

    /// The first element; dangling if there is none.
    #[doc(hidden)]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.data.as_mut_ptr()
    }

    /// The elements for as long as they are borrowed.
    #[must_use]
    pub fn into_mut_slice(self) -> &'a mut [T] {
        self.data
    }

    /// The tensor, read only.
    #[must_use]
    pub fn as_ref(&self) -> TensorRef<'_, T, S> {
        TensorRef { data: self.data, extents: self.extents }
    }

    /// The same tensor, borrowed for a shorter time.
    pub fn reborrow(&mut self) -> TensorMut<'_, T, S> {
        TensorMut { data: self.data, extents: self.extents }
    }

    /// The same tensor with extents that another type says.
    ///
    /// # Errors
    ///
    /// An extent is not what the type says.
    pub fn with_shape<S2: AdmitsAll<S>>(self) -> Result<TensorMut<'a, T, S2>, Mismatch> {
        Ok(TensorMut { data: self.data, extents: S2::check(self.extents.as_ref())? })
    }
}

impl<T: Element, S: Shape> IndexMut<S::Extents> for TensorMut<'_, T, S> {
    fn index_mut(&mut self, index: S::Extents) -> &mut T {
        let at = at::<S>(&self.extents, &index);
        &mut self.data[at]
    }
}

/// The place of an element.
///
/// # Panics
///
/// The index is outside, as with a slice.
#[track_caller]
pub(crate) fn at<S: Shape>(extents: &S::Extents, index: &S::Extents) -> usize {
    match offset(extents.as_ref(), index.as_ref()) {
        Ok(at) => at,
        Err(axis) => panic!(
            "index {} is outside of axis {axis}, which has {} elements",
            index.as_ref()[axis],
            extents.as_ref()[axis]
        ),
    }
}

/// What every tensor that lies in row-major order can do.
macro_rules! tensors {
    ($({$($g:tt)*} $tensor:ty;)*) => {$(
        impl<$($g)* T: Element, S: Shape> $tensor {
            /// One extent per axis.
            #[must_use]
            pub fn shape(&self) -> S::Extents {
                self.extents
            }

            /// How many elements there are.
            #[must_use]
            pub fn len(&self) -> usize {
                self.as_slice().len()
            }

            /// Whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.as_slice().is_empty()
            }

            /// The element at an index, if it is inside.
            #[must_use]
            pub fn get(&self, index: S::Extents) -> Option<&T> {
                let at = offset(self.extents.as_ref(), index.as_ref()).ok()?;
                self.as_slice().get(at)
            }

            /// The elements in row-major order.
            pub fn iter(&self) -> core::slice::Iter<'_, T> {
                self.as_slice().iter()
            }
        }

        impl<$($g)* T: Element, S: Shape> Index<S::Extents> for $tensor {
            type Output = T;

            fn index(&self, index: S::Extents) -> &T {
                &self.as_slice()[at::<S>(&self.extents, &index)]
            }
        }

        impl<$($g)* T: Element, S: Shape> fmt::Debug for $tensor {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                format::tensor(self.as_slice(), self.extents.as_ref(), f)
            }
        }

        impl<$($g)* T: Element, S: Shape> fmt::Display for $tensor {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                format::tensor(self.as_slice(), self.extents.as_ref(), f)
            }
        }

        /// Equal to a nested array of the same shape and elements.
        impl<$($g)* T: Element, S: Shape, A, const N: usize> PartialEq<[A; N]> for $tensor
        where
            [A; N]: AsTensor<T, S>,
        {
            fn eq(&self, other: &[A; N]) -> bool {
                other.as_tensor().is_ok_and(|other| {
                    self.extents == other.shape() && self.as_slice() == other.as_slice()
                })
            }
        }
    )*};
}
#[cfg(feature = "alloc")]
pub(crate) use tensors;

tensors! {
    {'a,} TensorRef<'a, T, S>;
    {'a,} TensorMut<'a, T, S>;
}

impl<T: Element, S: Shape, S2: Shape> PartialEq<TensorRef<'_, T, S2>> for TensorRef<'_, T, S> {
    fn eq(&self, other: &TensorRef<'_, T, S2>) -> bool {
        self.extents.as_ref() == other.extents.as_ref() && self.data == other.data
    }
}
