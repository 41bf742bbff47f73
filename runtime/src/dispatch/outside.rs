//! What `extern_call!` hands to a function of the user's crate: views of what compiled code lends for one call.
//!
//! The attribute prints a shim per call. The shim makes a view per tensor, here, and passes each as what the function
//! takes; what fits what is decided by the traits below, so that rustc says what does not, at the path in the source.

use crate::{Dim, Dyn, Element, Fixed, Shape, TensorMut, TensorRef};
use core::slice;

/// One call of a function outside. What it is handed lives as long as this does.
#[derive(Debug)]
pub struct Call;

impl Call {
    /// A tensor that is read.
    ///
    /// # Safety
    ///
    /// `first` points to as many elements as the extents say, aligned, which nothing writes during the call; the
    /// extents are those of the shape. It may dangle if there are none.
    #[inline]
    #[must_use]
    pub unsafe fn read<T: Element, S: Shape>(&self, first: *const T, extents: S::Extents) -> TensorRef<'_, T, S> {
        let data = match count::<S>(extents) {
            0 => &[],
            // SAFETY: the caller vouches for as many elements, unwritten while `self` lends them
            elements => unsafe { slice::from_raw_parts(first, elements) },
        };
        TensorRef::trusted(data, extents)
    }

    /// A tensor that is read and written.
    ///
    /// # Safety
    ///
    /// As of [`Call::read`], and nothing else reads it during the call.
    #[inline]
    #[must_use]
    pub unsafe fn update<T: Element, S: Shape>(&self, first: *mut T, extents: S::Extents) -> TensorMut<'_, T, S> {
        let data = match count::<S>(extents) {
            0 => &mut [],
            // SAFETY: the caller vouches for as many elements, which nothing else reaches while `self` lends them
            elements => unsafe { slice::from_raw_parts_mut(first, elements) },
        };
        TensorMut::trusted(data, extents)
    }

    /// A tensor that is filled: it holds zeros, since memory that nobody wrote is no element.
    ///
    /// # Safety
    ///
    /// As of [`Call::update`], but that the elements need not hold anything.
    #[inline]
    #[must_use]
    pub unsafe fn fill<T: Element, S: Shape>(&self, first: *mut T, extents: S::Extents) -> TensorMut<'_, T, S> {
        let elements = count::<S>(extents);
        if elements > 0 {
            // SAFETY: the caller vouches for room for as many; all bits 0 is the 0 of every element, and `false`
            unsafe { first.write_bytes(0, elements) };
        }
        // SAFETY: the elements hold something now, and the rest is what the caller vouches for
        unsafe { self.update(first, extents) }
    }
}

/// How many elements there are; the compiled code that calls has proven that it fits.
fn count<S: Shape>(extents: S::Extents) -> usize {
    extents.into_iter().fold(1, usize::wrapping_mul)
}

/// A scalar as compiled code passes it.
#[inline]
#[must_use]
pub fn value<T: Element>(abi: T::Abi) -> T {
    T::from_abi(abi)
}

/// A tensor that is read, as what the function takes.
#[inline]
#[must_use]
pub fn operand<'c, T: Element, S: Shape, P: FromOperand<'c, T, S>>(view: TensorRef<'c, T, S>) -> P {
    P::from_operand(view)
}

/// A tensor that is written, as what the function takes.
#[inline]
#[must_use]
pub fn target<'c, T: Element, S: Shape, P: FromTarget<'c, T, S>>(view: TensorMut<'c, T, S>) -> P {
    P::from_target(view)
}

/// What a function called by `extern_call!` may take for a tensor that it reads.
#[diagnostic::on_unimplemented(
    message = "`extern_call!` passes a tensor of `{T}` with the axes `{S}`, and the function takes `{Self}`",
    label = "this function takes something else",
    note = "for a tensor that it reads it may take `&[{T}]`, `tenfold::TensorRef<'_, {T}, {S}>` (with `Dyn` for any axis), or a reference to nested arrays where every axis is fixed"
)]
pub trait FromOperand<'c, T: Element, S: Shape>: Sized {
    /// Makes it.
    fn from_operand(view: TensorRef<'c, T, S>) -> Self;
}

/// What a function called by `extern_call!` may take for a tensor that it writes.
#[diagnostic::on_unimplemented(
    message = "`extern_call!` passes a tensor of `{T}` with the axes `{S}` to be written, and the function takes `{Self}`",
    label = "this function takes something else",
    note = "for a tensor that it writes it may take `&mut [{T}]`, `tenfold::TensorMut<'_, {T}, {S}>` (with `Dyn` for any axis), a reference to nested arrays where every axis is fixed, or `&mut {T}` for a scalar"
)]
pub trait FromTarget<'c, T: Element, S: Shape>: Sized {
    /// Makes it.
    fn from_target(view: TensorMut<'c, T, S>) -> Self;
}

impl<'c, T: Element, S: Shape> FromOperand<'c, T, S> for &'c [T] {
    #[inline]
    fn from_operand(view: TensorRef<'c, T, S>) -> Self {
        view.as_slice()
    }
}

impl<'c, T: Element, S: Shape> FromTarget<'c, T, S> for &'c mut [T] {
    #[inline]
    fn from_target(view: TensorMut<'c, T, S>) -> Self {
        view.into_mut_slice()
    }
}

impl<'c, T: Element, S: Shape, W: Widens<S>> FromOperand<'c, T, S> for TensorRef<'c, T, W> {
    #[inline]
    fn from_operand(view: TensorRef<'c, T, S>) -> Self {
        let extents = W::widened(view.shape());
        TensorRef::trusted(view.as_slice(), extents)
    }
}

impl<'c, T: Element, S: Shape, W: Widens<S>> FromTarget<'c, T, S> for TensorMut<'c, T, W> {
    #[inline]
    fn from_target(view: TensorMut<'c, T, S>) -> Self {
        let extents = W::widened(view.shape());
        TensorMut::trusted(view.into_mut_slice(), extents)
    }
}

impl<'c, T: Element> FromTarget<'c, T, ()> for &'c mut T {
    #[inline]
    fn from_target(view: TensorMut<'c, T, ()>) -> Self {
        // SAFETY: a tensor of rank 0 has one element, which the view had to itself
        unsafe { &mut *view.into_mut_slice().as_mut_ptr() }
    }
}

/// Nested arrays: as many elements, in the same order.
macro_rules! arrays {
    ($([$($N:ident)+] $array:ty;)*) => {$(
        impl<'c, T: Element, $(const $N: usize),+> FromOperand<'c, T, ($(Fixed<$N>,)+)> for &'c $array {
            #[inline]
            fn from_operand(view: TensorRef<'c, T, ($(Fixed<$N>,)+)>) -> Self {
                // SAFETY: the slice has the product of the extents, which the type says
                unsafe { &*view.as_slice().as_ptr().cast() }
            }
        }

        impl<'c, T: Element, $(const $N: usize),+> FromTarget<'c, T, ($(Fixed<$N>,)+)> for &'c mut $array {
            #[inline]
            fn from_target(view: TensorMut<'c, T, ($(Fixed<$N>,)+)>) -> Self {
                // SAFETY: the slice has the product of the extents, and the view had it to itself
                unsafe { &mut *view.into_mut_slice().as_mut_ptr().cast() }
            }
        }
    )*};
}

arrays! {
    [A] [T; A];
    [A B] [[T; B]; A];
    [A B C] [[[T; C]; B]; A];
    [A B C D] [[[[T; D]; C]; B]; A];
}

/// A shape that says no more than the shape `Given`: axis by axis the same, or [`Dyn`].
#[diagnostic::on_unimplemented(
    message = "the function takes a tensor with the axes `{Self}`, and `extern_call!` passes one with `{Given}`",
    label = "this function takes another shape",
    note = "an axis that the tensor function does not fix is `tenfold::Dyn`; `Dyn` also takes a fixed one"
)]
pub trait Widens<Given: Shape>: Shape {
    /// The same extents.
    fn widened(extents: Given::Extents) -> Self::Extents;
}

/// An axis that says no more than the axis `Given`.
pub trait WidensAxis<Given: Dim>: Dim {}
impl<Given: Dim> WidensAxis<Given> for Dyn {}
impl<const N: usize> WidensAxis<Self> for Fixed<N> {}

macro_rules! widens {
    ($($($D:ident $G:ident),*;)*) => {$(
        impl<$($G: Dim, $D: WidensAxis<$G>),*> Widens<($($G,)*)> for ($($D,)*) {
            #[inline]
            fn widened(extents: <($($G,)*) as Shape>::Extents) -> <Self as Shape>::Extents {
                extents
            }
        }
    )*};
}

widens! {
    ;
    A A1;
    A A1, B B1;
    A A1, B B1, C C1;
    A A1, B B1, C C1, D D1;
    A A1, B B1, C C1, D D1, E E1;
    A A1, B B1, C C1, D D1, E E1, F F1;
    A A1, B B1, C C1, D D1, E E1, F F1, G G1;
    A A1, B B1, C C1, D D1, E E1, F F1, G G1, H H1;
}
