//! Tensors that borrow their elements with a stride per axis, for parameters of type `Strided`.

use crate::{AdmitsAll, Element, IntoShape, Mismatch, Shape, shape::row_major};
use core::{fmt, marker::PhantomData};

/// A borrowed tensor that is read only, with a stride per axis, counted in elements.
///
/// ```
/// use tenfold::StridedRef;
///
/// // The second and fourth column of a 2 x 4 matrix, last row first.
/// let data = [0, 1, 2, 3, 4, 5, 6, 7];
/// let columns = StridedRef::new(&data, [2, 2], [-4, 2], 5)?;
/// assert_eq!(columns.get([0, 0]), Some(&5));
/// assert_eq!(columns.get([1, 1]), Some(&3));
/// # Ok::<(), tenfold::Mismatch>(())
/// ```
pub struct StridedRef<'a, T: Element, S: Shape> {
    /// Where the element at index 0 lies; may dangle if there is no element.
    first: *const T,
    extents: S::Extents,
    strides: S::Strides,
    borrow: PhantomData<&'a [T]>,
}

// SAFETY: it reads elements, which are `Send` and `Sync`, and nothing else.
unsafe impl<T: Element, S: Shape> Send for StridedRef<'_, T, S> {}
// SAFETY: as above.
unsafe impl<T: Element, S: Shape> Sync for StridedRef<'_, T, S> {}

impl<T: Element, S: Shape> Clone for StridedRef<'_, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, S: Shape> Copy for StridedRef<'_, T, S> {}

impl<'a, T: Element, S: Shape> StridedRef<'a, T, S> {
    /// The tensor whose element at index 0 is `data[start]`. Strides may be negative, or 0.
    ///
    /// # Errors
    ///
    /// An element lies outside of `data`.
    pub fn new<X: IntoShape<Shape = S>>(
        data: &'a [T],
        shape: X,
        strides: S::Strides,
        start: usize,
    ) -> Result<Self, Mismatch> {
        let extents = shape.extents();
        match range(extents.as_ref(), strides.as_ref(), start) {
            Some((first, last)) if first >= 0 && last < data.len() as i128 => {
                let first = data.as_ptr().wrapping_add(start);
                Ok(Self { first, extents, strides, borrow: PhantomData })
            }
            None => Ok(Self { first: data.as_ptr(), extents, strides, borrow: PhantomData }),
            Some(_) => Err(Mismatch::Strides),
        }
    }

    /// A tensor without gaps.
    pub(crate) fn row_major(data: &'a [T], extents: S::Extents) -> Self {
        let strides = row_major::<S>(&extents);
        Self { first: data.as_ptr(), extents, strides, borrow: PhantomData }
    }

    /// For views of other crates.
    ///
    /// # Safety
    ///
    /// Every index inside of the extents leads to an element that is borrowed for `'a`.
    #[cfg(feature = "ndarray")]
    pub(crate) unsafe fn from_raw(first: *const T, extents: S::Extents, strides: S::Strides) -> Self {
        Self { first, extents, strides, borrow: PhantomData }
    }

    /// One extent per axis.
    #[must_use]
    pub fn shape(&self) -> S::Extents {
        self.extents
    }

    /// One stride per axis, in elements.
    #[must_use]
    pub fn strides(&self) -> S::Strides {
        self.strides
    }

    /// The element at an index, if it is inside.
    #[must_use]
    pub fn get(&self, index: S::Extents) -> Option<&'a T> {
        let mut at = 0;
        let axes = self.extents.as_ref().iter().zip(self.strides.as_ref());
        for ((&extent, &stride), index) in axes.zip(index) {
            if index >= extent {
                return None;
            }
            at += index.cast_signed() * stride;
        }
        // SAFETY: the index is inside of each axis, so what was checked when this was made holds.
        Some(unsafe { &*self.first.offset(at) })
    }

    /// The same tensor with extents that another type says.
    ///
    /// # Errors
    ///
    /// An extent is not what the type says.
    pub fn with_shape<S2: AdmitsAll<S>>(self) -> Result<StridedRef<'a, T, S2>, Mismatch> {
        let mut strides = S2::Strides::default();
        let extents = S2::check(self.extents.as_ref())?;
        strides.as_mut().copy_from_slice(self.strides.as_ref());
        Ok(StridedRef { first: self.first, extents, strides, borrow: PhantomData })
    }

    /// Where the element at index 0 lies; may dangle if there is no element.
    #[doc(hidden)]
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.first
    }
}

/// The least and the greatest place of an element; none if there is no element.
fn range(extents: &[usize], strides: &[isize], start: usize) -> Option<(i128, i128)> {
    let (mut first, mut last) = (start as i128, start as i128);
    for (&extent, &stride) in extents.iter().zip(strides) {
        let reach = (extent as i128 - 1) * stride as i128;
        match extent {
            0 => return None,
            _ if reach < 0 => first = first.saturating_add(reach),
            _ => last = last.saturating_add(reach),
        }
    }
    Some((first, last))
}

impl<T: Element, S: Shape> fmt::Debug for StridedRef<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StridedRef")
            .field("shape", &self.extents)
            .field("strides", &self.strides)
            .finish_non_exhaustive()
    }
}
