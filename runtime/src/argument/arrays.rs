//! Nested arrays, slices of arrays and vectors of arrays, of every rank.

use crate::{
    Admits, AsFixed, AsFixedMut, AsFixedStrided, AsStrided, AsTensor, AsTensorMut, Dim, Dyn, Element, Fixed, Is,
    Mismatch, StridedRef, TensorMut, TensorRef,
    dispatch::{cast, cast_mut},
};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// `array!(U, [I J])` is the type `[[U; J]; I]`.
macro_rules! array {
    ($u:ty, []) => { $u };
    ($u:ty, [$n:ident $($rest:ident)*]) => { [array!($u, [$($rest)*]); $n] };
}

/// `flat!(x, as_flattened, [b c])` flattens once for each name.
macro_rules! flat {
    ($x:expr, $flatten:ident, []) => { $x };
    ($x:expr, $flatten:ident, [$b:ident $($rest:ident)*]) => {
        flat!($x.$flatten(), $flatten, [$($rest)*])
    };
}

/// Impls for one rank. `$a` and `$n` are the first axis, `$b` and `$m` the others.
macro_rules! rank {
    ($a:ident $n:ident; $($b:ident $m:ident)*) => {
        impl<T, U, $a, $($b,)* const $n: usize, $(const $m: usize),*> AsTensor<T, ($a, $($b,)*)>
            for array!(U, [$n $($m)*])
        where
            T: Element,
            U: Is<T>,
            $a: Dim + Admits<Fixed<$n>>,
            $($b: Dim + Admits<Fixed<$m>>,)*
        {
            fn as_tensor(&self) -> Result<TensorRef<'_, T, ($a, $($b,)*)>, Mismatch> {
                Ok(TensorRef::trusted(cast(flat!(self.as_slice(), as_flattened, [$($b)*])), [$n, $($m),*]))
            }
        }

        impl<T, U, $a, $($b,)* const $n: usize, $(const $m: usize),*> AsTensorMut<T, ($a, $($b,)*)>
            for array!(U, [$n $($m)*])
        where
            T: Element,
            U: Is<T>,
            $a: Dim + Admits<Fixed<$n>>,
            $($b: Dim + Admits<Fixed<$m>>,)*
        {
            fn as_tensor_mut(&mut self) -> Result<TensorMut<'_, T, ($a, $($b,)*)>, Mismatch> {
                let flat = flat!(self.as_mut_slice(), as_flattened_mut, [$($b)*]);
                Ok(TensorMut::trusted(cast_mut(flat), [$n, $($m),*]))
            }
        }

        impl<T, U, const $n: usize, $(const $m: usize),*> AsFixed<T, (Fixed<$n>, $(Fixed<$m>,)*)>
            for array!(U, [$n $($m)*])
        where
            T: Element,
            U: Is<T>,
        {
            fn as_fixed(&self) -> TensorRef<'_, T, (Fixed<$n>, $(Fixed<$m>,)*)> {
                TensorRef::trusted(cast(flat!(self.as_slice(), as_flattened, [$($b)*])), [$n, $($m),*])
            }
        }

        impl<T, U, const $n: usize, $(const $m: usize),*> AsFixedMut<T, (Fixed<$n>, $(Fixed<$m>,)*)>
            for array!(U, [$n $($m)*])
        where
            T: Element,
            U: Is<T>,
        {
            fn as_fixed_mut(&mut self) -> TensorMut<'_, T, (Fixed<$n>, $(Fixed<$m>,)*)> {
                let flat = flat!(self.as_mut_slice(), as_flattened_mut, [$($b)*]);
                TensorMut::trusted(cast_mut(flat), [$n, $($m),*])
            }
        }

        impl<T, U, const $n: usize, $(const $m: usize),*>
            AsFixedStrided<T, (Fixed<$n>, $(Fixed<$m>,)*)> for array!(U, [$n $($m)*])
        where
            T: Element,
            U: Is<T>,
        {
            fn as_fixed_strided(&self) -> StridedRef<'_, T, (Fixed<$n>, $(Fixed<$m>,)*)> {
                self.as_fixed().strided()
            }
        }

        impl<T, U, $a, $($b,)* $(const $m: usize),*> AsTensor<T, ($a, $($b,)*)>
            for [array!(U, [$($m)*])]
        where
            T: Element,
            U: Is<T>,
            $a: Dim + Admits<Dyn>,
            $($b: Dim + Admits<Fixed<$m>>,)*
        {
            fn as_tensor(&self) -> Result<TensorRef<'_, T, ($a, $($b,)*)>, Mismatch> {
                TensorRef::new(cast(flat!(self, as_flattened, [$($b)*])), [self.len(), $($m),*])
            }
        }

        impl<T, U, $a, $($b,)* $(const $m: usize),*> AsTensorMut<T, ($a, $($b,)*)>
            for [array!(U, [$($m)*])]
        where
            T: Element,
            U: Is<T>,
            $a: Dim + Admits<Dyn>,
            $($b: Dim + Admits<Fixed<$m>>,)*
        {
            fn as_tensor_mut(&mut self) -> Result<TensorMut<'_, T, ($a, $($b,)*)>, Mismatch> {
                let len = self.len();
                TensorMut::new(cast_mut(flat!(self, as_flattened_mut, [$($b)*])), [len, $($m),*])
            }
        }

        strided!([$a $($b)*] [$n $($m)*] array!(U, [$n $($m)*]), Fixed<$n>, $(Fixed<$m>),*);
        strided!([$a $($b)*] [$($m)*] [array!(U, [$($m)*])], Dyn, $(Fixed<$m>),*);

        #[cfg(feature = "alloc")]
        impl<T, U, $a, $($b,)* $(const $m: usize),*> AsTensor<T, ($a, $($b,)*)>
            for Vec<array!(U, [$($m)*])>
        where
            T: Element,
            U: Is<T>,
            $a: Dim + Admits<Dyn>,
            $($b: Dim + Admits<Fixed<$m>>,)*
        {
            fn as_tensor(&self) -> Result<TensorRef<'_, T, ($a, $($b,)*)>, Mismatch> {
                self.as_slice().as_tensor()
            }
        }

        #[cfg(feature = "alloc")]
        impl<T, U, $a, $($b,)* $(const $m: usize),*> AsTensorMut<T, ($a, $($b,)*)>
            for Vec<array!(U, [$($m)*])>
        where
            T: Element,
            U: Is<T>,
            $a: Dim + Admits<Dyn>,
            $($b: Dim + Admits<Fixed<$m>>,)*
        {
            fn as_tensor_mut(&mut self) -> Result<TensorMut<'_, T, ($a, $($b,)*)>, Mismatch> {
                self.as_mut_slice().as_tensor_mut()
            }
        }

        #[cfg(feature = "alloc")]
        strided!([$a $($b)*] [$($m)*] Vec<array!(U, [$($m)*])>, Dyn, $(Fixed<$m>),*);
    };
}

/// What is a tensor without gaps is a strided one.
macro_rules! strided {
    ([$($d:ident)*] [$($n:ident)*] $tensor:ty, $($given:ty),* $(,)?) => {
        impl<T, U, $($d,)* $(const $n: usize),*> AsStrided<T, ($($d,)*)> for $tensor
        where
            T: Element,
            U: Is<T>,
            $($d: Dim + Admits<$given>,)*
        {
            fn as_strided(&self) -> Result<StridedRef<'_, T, ($($d,)*)>, Mismatch> {
                Ok(self.as_tensor()?.strided())
            }
        }
    };
}

rank!(A I; );
rank!(A I; B J);
rank!(A I; B J C K);
rank!(A I; B J C K D L);
rank!(A I; B J C K D L E M);
rank!(A I; B J C K D L E M F N);
rank!(A I; B J C K D L E M F N G O);
rank!(A I; B J C K D L E M F N G O H P);
