//! Shapes as types: a tuple with one [`Dyn`] or [`Fixed<N>`](Fixed) per axis, of rank 0 to 8.
//!
//! The types say what rustc can check; the extents beside a tensor's elements say the rest. This
//! module knows nothing of elements.

use crate::Mismatch;
use core::fmt;

mod sealed {
    pub trait Dim {}
    pub trait Shape {}
}

/// An axis whose extent is known when the program runs.
///
/// ```
/// use tenfold::{Dim, Dyn, Tensor};
///
/// assert_eq!(Dyn::EXTENT, None);
/// let x: Tensor<i32, (Dyn,)> = vec![1, 2, 3].into();
/// assert_eq!(x.shape(), [3]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dyn;

/// An axis of `N` elements.
///
/// ```
/// use tenfold::{Dim, Fixed, Tensor};
///
/// assert_eq!(Fixed::<3>::EXTENT, Some(3));
/// let x: Tensor<i32, (Fixed<3>,)> = [1, 2, 3].into();
/// assert_eq!(x.shape(), [3]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fixed<const N: usize>;

/// One axis of a [`Shape`]: [`Dyn`] or [`Fixed<N>`](Fixed).
///
/// ```
/// use tenfold::{Dim, Dyn, Fixed};
///
/// fn says<D: Dim>(_: D) -> bool {
///     D::EXTENT.is_some()
/// }
///
/// assert!(says(Fixed::<4>) && !says(Dyn));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an axis of a shape",
    note = "an axis is `tenfold::Dyn` or `tenfold::Fixed<N>`"
)]
pub trait Dim: Copy + Default + fmt::Debug + Send + Sync + sealed::Dim + 'static {
    /// The extent, if the type says it.
    const EXTENT: Option<usize>;
}

impl sealed::Dim for Dyn {}
impl Dim for Dyn {
    const EXTENT: Option<usize> = None;
}

impl<const N: usize> sealed::Dim for Fixed<N> {}
impl<const N: usize> Dim for Fixed<N> {
    const EXTENT: Option<usize> = Some(N);
}

/// Holds where an axis of type `Given` may be passed for an axis of this type.
///
/// [`Dyn`] admits every axis. [`Fixed<N>`](Fixed) admits itself, and [`Dyn`], whose extent is then
/// checked at the call; another fixed extent does not compile.
///
/// ```
/// use tenfold::{Admits, Dim, Dyn, Fixed};
///
/// fn pass<Takes: Admits<Given>, Given: Dim>(_: Takes, _: Given) {}
///
/// pass(Dyn, Fixed::<3>);
/// pass(Fixed::<3>, Dyn);
/// ```
///
/// ```compile_fail
/// # use tenfold::{Admits, Dim, Fixed};
/// # fn pass<Takes: Admits<Given>, Given: Dim>(_: Takes, _: Given) {}
/// pass(Fixed::<3>, Fixed::<4>);
/// ```
#[diagnostic::on_unimplemented(
    message = "an axis is `{Given}` where the tensor function takes `{Self}`",
    label = "an axis has another extent than the signature says"
)]
pub trait Admits<Given: Dim>: Dim {}

#[diagnostic::do_not_recommend]
impl<Given: Dim> Admits<Given> for Dyn {}
#[diagnostic::do_not_recommend]
impl<const N: usize> Admits<Self> for Fixed<N> {}
#[diagnostic::do_not_recommend]
impl<const N: usize> Admits<Dyn> for Fixed<N> {}

/// Holds where a tensor of the shape `Given` may be passed for this shape: axis by axis,
/// [`Admits`].
///
/// ```
/// use tenfold::{AdmitsAll, Dyn, Fixed, Shape};
///
/// fn pass<Takes: AdmitsAll<Given>, Given: Shape>(_: Takes, _: Given) {}
///
/// pass((Dyn, Fixed::<3>), (Fixed::<2>, Dyn));
/// ```
#[diagnostic::on_unimplemented(
    message = "a tensor has the axes `{Given}` where the tensor function takes `{Self}`",
    label = "a tensor of another rank"
)]
pub trait AdmitsAll<Given: Shape>: Shape {}

/// The shape of a tensor: a tuple of [`Dim`]s, up to rank 8. Rank 0 is `()`.
///
/// ```
/// use tenfold::{Dyn, Fixed, Shape};
///
/// type Images = (Dyn, Fixed<28>, Fixed<28>);
/// assert_eq!(Images::RANK, 3);
/// assert_eq!(Images::EXTENTS, [None, Some(28), Some(28)]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the shape of a tensor",
    note = "a shape is a tuple of up to 8 of `tenfold::Dyn` and `tenfold::Fixed<N>`; of one axis, `(Dyn,)`"
)]
pub trait Shape: Copy + Default + fmt::Debug + Send + Sync + sealed::Shape + 'static {
    /// How many axes there are.
    const RANK: usize;
    /// The extents that the type says.
    const EXTENTS: &'static [Option<usize>];
    /// An array of one extent per axis: `[usize; RANK]`.
    type Extents: Copy
        + Default
        + fmt::Debug
        + PartialEq
        + Send
        + Sync
        + AsRef<[usize]>
        + AsMut<[usize]>
        + IntoIterator<Item = usize>
        + 'static;
    /// An array of one stride per axis, in elements: `[isize; RANK]`.
    type Strides: Copy + Default + fmt::Debug + PartialEq + Send + Sync + AsRef<[isize]> + AsMut<[isize]> + 'static;

    /// The extents, if there are as many and each is what the type says.
    ///
    /// # Errors
    ///
    /// Another rank, or the first axis with another extent.
    fn check(extents: &[usize]) -> Result<Self::Extents, Mismatch> {
        if extents.len() != Self::RANK {
            return Err(Mismatch::Rank { expected: Self::RANK, found: extents.len() });
        }
        for (axis, (&found, expected)) in extents.iter().zip(Self::EXTENTS).enumerate() {
            match *expected {
                Some(expected) if expected != found => {
                    return Err(Mismatch::Extent { axis, expected, found });
                }
                Some(_) | None => {}
            }
        }
        let mut checked = Self::Extents::default();
        checked.as_mut().copy_from_slice(extents);
        Ok(checked)
    }
}

/// A [`Shape`] whose every axis is [`Fixed`].
///
/// ```
/// use tenfold::{Fixed, FixedShape};
///
/// type Matrix = (Fixed<2>, Fixed<3>);
/// assert_eq!(Matrix::FIXED, [2, 3]);
/// assert_eq!(Matrix::ELEMENTS, 6);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has an axis whose extent is not fixed",
    note = "every axis must be `tenfold::Fixed<N>`"
)]
pub trait FixedShape: Shape {
    /// The extents.
    const FIXED: Self::Extents;
    /// How many elements there are.
    const ELEMENTS: usize;
}

/// What names an extent in [`view`](crate::view): a `usize`, or [`Fixed<N>`](Fixed) so that the
/// type says it too.
///
/// ```
/// use tenfold::{Fixed, IntoDim};
///
/// assert_eq!(5.extent(), Fixed::<5>.extent());
/// ```
pub trait IntoDim: Copy {
    /// The axis as a type.
    type Dim: Dim;
    /// Its extent.
    fn extent(self) -> usize;
}

impl IntoDim for usize {
    type Dim = Dyn;
    fn extent(self) -> usize {
        self
    }
}

impl<const N: usize> IntoDim for Fixed<N> {
    type Dim = Self;
    fn extent(self) -> usize {
        N
    }
}

/// What names a shape in [`view`](crate::view): `[n, 64]`, or `(n, Fixed::<64>)` so that the type
/// says what is fixed.
///
/// ```
/// use tenfold::{Fixed, IntoShape};
///
/// assert_eq!([3, 64].extents(), (3, Fixed::<64>).extents());
/// ```
pub trait IntoShape {
    /// The shape as a type.
    type Shape: Shape;
    /// Its extents.
    fn extents(self) -> <Self::Shape as Shape>::Extents;
}

/// The product of extents, if it fits.
pub(crate) fn elements(extents: &[usize]) -> Option<usize> {
    // An extent of 0 makes the product 0 however large the others are.
    if extents.contains(&0) {
        return Some(0);
    }
    extents.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent))
}

/// The place of an element in row-major order, or the first axis whose index is outside.
pub(crate) fn offset(extents: &[usize], index: &[usize]) -> Result<usize, usize> {
    let mut offset = 0;
    for (axis, (&extent, &at)) in extents.iter().zip(index).enumerate() {
        if at >= extent {
            return Err(axis);
        }
        offset = offset * extent + at;
    }
    Ok(offset)
}

/// The strides of row-major order.
pub(crate) fn row_major<S: Shape>(extents: &S::Extents) -> S::Strides {
    let mut strides = S::Strides::default();
    let mut step = 1_isize;
    for (stride, &extent) in strides.as_mut().iter_mut().zip(extents.as_ref()).rev() {
        *stride = step;
        // Only the strides of an empty tensor can overflow, and nothing is read through them.
        step = step.wrapping_mul(extent.cast_signed());
    }
    strides
}

macro_rules! shapes {
    ($($rank:literal: $($D:ident $G:ident $N:ident $d:ident $dyn:ident),*;)*) => {$(
        impl<$($D: Dim),*> sealed::Shape for ($($D,)*) {}

        impl<$($D: Dim),*> Shape for ($($D,)*) {
            const RANK: usize = $rank;
            const EXTENTS: &'static [Option<usize>] = &[$($D::EXTENT),*];
            type Extents = [usize; $rank];
            type Strides = [isize; $rank];
        }

        impl<$($G: Dim, $D: Admits<$G>),*> AdmitsAll<($($G,)*)> for ($($D,)*) {}

        impl<$(const $N: usize),*> FixedShape for ($(Fixed<$N>,)*) {
            const FIXED: [usize; $rank] = [$($N),*];
            const ELEMENTS: usize = 1 $(* $N)*;
        }

        impl IntoShape for [usize; $rank] {
            type Shape = ($($dyn,)*);
            fn extents(self) -> [usize; $rank] {
                self
            }
        }

        impl<$($D: IntoDim),*> IntoShape for ($($D,)*) {
            type Shape = ($($D::Dim,)*);
            fn extents(self) -> [usize; $rank] {
                let ($($d,)*) = self;
                [$($d.extent()),*]
            }
        }
    )*};
}

shapes! {
    0: ;
    1: A A1 I a Dyn;
    2: A A1 I a Dyn, B B1 J b Dyn;
    3: A A1 I a Dyn, B B1 J b Dyn, C C1 K c Dyn;
    4: A A1 I a Dyn, B B1 J b Dyn, C C1 K c Dyn, D D1 L d Dyn;
    5: A A1 I a Dyn, B B1 J b Dyn, C C1 K c Dyn, D D1 L d Dyn, E E1 M e Dyn;
    6: A A1 I a Dyn, B B1 J b Dyn, C C1 K c Dyn, D D1 L d Dyn, E E1 M e Dyn, F F1 N f Dyn;
    7: A A1 I a Dyn, B B1 J b Dyn, C C1 K c Dyn, D D1 L d Dyn, E E1 M e Dyn, F F1 N f Dyn,
       G G1 O g Dyn;
    8: A A1 I a Dyn, B B1 J b Dyn, C C1 K c Dyn, D D1 L d Dyn, E E1 M e Dyn, F F1 N f Dyn,
       G G1 O g Dyn, H H1 P h Dyn;
}
