//! Tensors that own their elements: one vector in row-major order, and its extents.

use crate::{
    AdmitsAll, AsTensor, Dyn, DynTensor, DynTensorMut, Element, Fixed, FixedShape, IntoShape, Mismatch, Shape,
    TensorMut, TensorRef, format,
    shape::{elements, offset},
    view::{at, check, tensors},
};
use alloc::{vec, vec::Vec};
use core::{
    array::from_fn,
    fmt,
    ops::{Index, IndexMut},
};

/// A tensor that owns its elements.
///
/// It comes from and goes into nested arrays and vectors, and prints as in `NumPy`.
///
/// ```
/// use tenfold::{Dyn, Fixed, Tensor};
///
/// let mut x = Tensor::from([[1, 2, 3], [4, 5, 6]]);
/// x[[0, 1]] = 20;
/// assert_eq!(format!("{x}"), "[[ 1, 20,  3],\n [ 4,  5,  6]]");
/// assert_eq!(<[[i32; 3]; 2]>::from(x.clone()), [[1, 20, 3], [4, 5, 6]]);
///
/// let y: Tensor<i32, (Dyn, Dyn)> = Tensor::new(vec![1, 2, 3, 4], [2, 2])?;
/// let y: Tensor<i32, (Dyn, Fixed<2>)> = y.with_shape()?;
/// assert_eq!(y.rows(), [[1, 2], [3, 4]]);
/// assert_eq!(y.into_vec(), [1, 2, 3, 4]);
/// # Ok::<(), tenfold::Mismatch>(())
/// ```
pub struct Tensor<T: Element, S: Shape> {
    data: Vec<T>,
    extents: S::Extents,
}

impl<T: Element, S: Shape> Tensor<T, S> {
    /// The tensor of these elements in row-major order.
    ///
    /// ```
    /// use tenfold::{Dyn, Tensor};
    ///
    /// let x: Tensor<i32, (Dyn, Dyn)> = Tensor::new(vec![1, 2, 3, 4], [2, 2])?;
    /// assert_eq!(x, [[1, 2], [3, 4]]);
    /// assert!(Tensor::<i32, (Dyn,)>::new(vec![1, 2], [3]).is_err());
    /// # Ok::<(), tenfold::Mismatch>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The extents are not those of the type, or not as many as there are elements.
    pub fn new(data: Vec<T>, extents: S::Extents) -> Result<Self, Mismatch> {
        Ok(Self { extents: check::<S>(extents, data.len())?, data })
    }

    /// A tensor whose every element is the same.
    ///
    /// ```
    /// use tenfold::{Dyn, Tensor};
    ///
    /// let ones: Tensor<f32, (Dyn, Dyn)> = Tensor::full([2, 3], 1.0)?;
    /// assert_eq!(ones, [[1.0; 3]; 2]);
    /// # Ok::<(), tenfold::Mismatch>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The extents are not those of the type, or their elements are more than a vector may hold. Where the allocator
    /// has not as much memory, the program ends as with `vec!`.
    pub fn full(extents: S::Extents, value: T) -> Result<Self, Mismatch> {
        let extents = S::check(extents.as_ref())?;
        let holds = |len: &usize| len.checked_mul(size_of::<T>()).is_some_and(|bytes| bytes <= isize::MAX as usize);
        let len = elements(extents.as_ref()).filter(holds).ok_or(Mismatch::Elements { shape: None, found: 0 })?;
        Ok(Self { data: vec![value; len], extents })
    }

    /// A tensor of zeros.
    ///
    /// ```
    /// use tenfold::{Dyn, Tensor};
    ///
    /// assert_eq!(Tensor::<u8, (Dyn, Dyn)>::zeros([1, 2])?, [[0, 0]]);
    /// assert!(Tensor::<f64, (Dyn,)>::zeros([usize::MAX / 2]).is_err());
    /// # Ok::<(), tenfold::Mismatch>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`full`](Self::full).
    pub fn zeros(extents: S::Extents) -> Result<Self, Mismatch> {
        Self::full(extents, T::default())
    }

    /// For callers that know that the extents fit.
    pub(crate) fn trusted(data: Vec<T>, extents: S::Extents) -> Self {
        debug_assert_eq!(elements(extents.as_ref()), Some(data.len()));
        Self { data, extents }
    }

    /// The elements in row-major order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// The elements in row-major order.
    ///
    /// ```
    /// use tenfold::Tensor;
    ///
    /// let mut x = Tensor::from([[1, 2], [3, 4]]);
    /// x.as_mut_slice().reverse();
    /// assert_eq!(x, [[4, 3], [2, 1]]);
    /// ```
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The elements in row-major order.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// The tensor, borrowed.
    ///
    /// ```
    /// use tenfold::Tensor;
    ///
    /// let x = Tensor::from([[1, 2], [3, 4]]);
    /// assert_eq!(x.view().get([1, 0]), Some(&3));
    /// ```
    #[must_use]
    pub fn view(&self) -> TensorRef<'_, T, S> {
        TensorRef::trusted(&self.data, self.extents)
    }

    /// The tensor, borrowed to be written.
    pub fn view_mut(&mut self) -> TensorMut<'_, T, S> {
        TensorMut::trusted(&mut self.data, self.extents)
    }

    /// The same tensor with extents that another type says.
    ///
    /// ```
    /// use tenfold::{Dyn, Fixed, Tensor};
    ///
    /// let x: Tensor<i32, (Dyn,)> = vec![1, 2].into();
    /// let y: Tensor<i32, (Fixed<2>,)> = x.clone().with_shape()?;
    /// assert!(x.with_shape::<(Fixed<3>,)>().is_err());
    /// # Ok::<(), tenfold::Mismatch>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An extent is not what the type says.
    pub fn with_shape<S2: AdmitsAll<S>>(self) -> Result<Tensor<T, S2>, Mismatch> {
        Ok(Tensor { extents: S2::check(self.extents.as_ref())?, data: self.data })
    }

    /// The same elements in row-major order with another shape.
    ///
    /// ```
    /// use tenfold::Tensor;
    ///
    /// let x = Tensor::from(vec![1, 2, 3, 4, 5, 6]);
    /// assert_eq!(x.reshape([2, 3])?, [[1, 2, 3], [4, 5, 6]]);
    /// # Ok::<(), tenfold::Mismatch>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The shape has another number of elements.
    pub fn reshape<X: IntoShape>(self, shape: X) -> Result<Tensor<T, X::Shape>, Mismatch> {
        Tensor::new(self.data, shape.extents())
    }
}

tensors!({} Tensor<T, S>;);

impl<T: Element, const N: usize> Tensor<T, (Dyn, Fixed<N>)> {
    /// The rows, each as an array.
    #[must_use]
    pub fn rows(&self) -> &[[T; N]] {
        match N {
            0 => &[],
            _ => self.data.as_chunks().0,
        }
    }
}

impl<T: Element> From<Vec<T>> for Tensor<T, (Dyn,)> {
    fn from(data: Vec<T>) -> Self {
        let extents = [data.len()];
        Self { data, extents }
    }
}

impl<T: Element, S: Shape> From<Tensor<T, S>> for Vec<T> {
    fn from(tensor: Tensor<T, S>) -> Self {
        tensor.data
    }
}

impl<T: Element, S: Shape> From<TensorRef<'_, T, S>> for Tensor<T, S> {
    fn from(tensor: TensorRef<'_, T, S>) -> Self {
        Self { data: tensor.as_slice().to_vec(), extents: tensor.shape() }
    }
}

impl<T: Element, S: Shape> Clone for Tensor<T, S> {
    fn clone(&self) -> Self {
        Self { data: self.data.clone(), extents: self.extents }
    }
}

impl<T: Element, S: FixedShape> Default for Tensor<T, S> {
    fn default() -> Self {
        Self { data: vec![T::default(); S::ELEMENTS], extents: S::FIXED }
    }
}

impl<T: Element, S: Shape> IndexMut<S::Extents> for Tensor<T, S> {
    fn index_mut(&mut self, index: S::Extents) -> &mut T {
        let at = at::<S>(&self.extents, &index);
        &mut self.data[at]
    }
}

impl<T: Element, S: Shape, S2: Shape> PartialEq<Tensor<T, S2>> for Tensor<T, S> {
    fn eq(&self, other: &Tensor<T, S2>) -> bool {
        self.view() == other.view()
    }
}

impl<T: Element, S: Shape, S2: Shape> PartialEq<TensorRef<'_, T, S2>> for Tensor<T, S> {
    fn eq(&self, other: &TensorRef<'_, T, S2>) -> bool {
        self.view() == *other
    }
}

impl<T: Element, S: Shape> IntoIterator for Tensor<T, S> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> vec::IntoIter<T> {
        self.data.into_iter()
    }
}

impl<'a, T: Element, S: Shape> IntoIterator for &'a Tensor<T, S> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> core::slice::Iter<'a, T> {
        self.data.iter()
    }
}

impl<'a, T: Element, S: Shape> From<&'a Tensor<T, S>> for DynTensor<'a> {
    fn from(tensor: &'a Tensor<T, S>) -> Self {
        tensor.view().into()
    }
}

impl<'a, T: Element, S: Shape> From<&'a mut Tensor<T, S>> for DynTensorMut<'a> {
    fn from(tensor: &'a mut Tensor<T, S>) -> Self {
        tensor.view_mut().into()
    }
}

/// `array!(T, [I J])` is the type `[[T; J]; I]`.
macro_rules! array {
    ($t:ty, []) => { $t };
    ($t:ty, [$n:ident $($rest:ident)*]) => { [array!($t, [$($rest)*]); $n] };
}

/// Builds a nested array from an iterator.
macro_rules! collect {
    ($data:ident, []) => { $data.next().unwrap_or_default() };
    ($data:ident, [$n:ident $($rest:ident)*]) => { from_fn(|_| collect!($data, [$($rest)*])) };
}

macro_rules! arrays {
    ($($n:ident; $($d:ident $m:ident)*;)*) => {$(
        impl<T: Element, const $n: usize, $(const $m: usize),*> From<array!(T, [$n $($m)*])>
            for Tensor<T, (Fixed<$n>, $(Fixed<$m>,)*)>
        {
            fn from(array: array!(T, [$n $($m)*])) -> Self {
                crate::AsFixed::as_fixed(&array).into()
            }
        }

        impl<T: Element, const $n: usize, $(const $m: usize),*>
            From<Tensor<T, (Fixed<$n>, $(Fixed<$m>,)*)>> for array!(T, [$n $($m)*])
        {
            fn from(tensor: Tensor<T, (Fixed<$n>, $(Fixed<$m>,)*)>) -> Self {
                // The type says that there are as many elements as the array takes.
                let mut data = tensor.into_iter();
                collect!(data, [$n $($m)*])
            }
        }
    )*};
}

arrays! {
    I; ;
    I; B J;
    I; B J C K;
    I; B J C K D L;
    I; B J C K D L E M;
    I; B J C K D L E M F N;
    I; B J C K D L E M F N G O;
    I; B J C K D L E M F N G O H P;
}

/// Flattens a vector of nested arrays once for each name.
macro_rules! flat {
    ($rows:expr, []) => { $rows };
    ($rows:expr, [$d:ident $($rest:ident)*]) => { flat!($rows.into_flattened(), [$($rest)*]) };
}

macro_rules! vectors {
    ($($($m:ident)*;)*) => {$(
        impl<T: Element, $(const $m: usize),*> From<Vec<array!(T, [$($m)*])>>
            for Tensor<T, (Dyn, $(Fixed<$m>,)*)>
        {
            fn from(rows: Vec<array!(T, [$($m)*])>) -> Self {
                let extents = [rows.len(), $($m),*];
                Self { data: flat!(rows, [$($m)*]), extents }
            }
        }
    )*};
}

vectors! {
    J;
    J K;
    J K L;
    J K L M;
    J K L M N;
    J K L M N O;
    J K L M N O P;
}
