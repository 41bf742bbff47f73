//! Generic tensor functions: their instances, and calls of them.

use tenfold::prelude::*;

/// `a` times `x` plus `y`.
#[tensor_fn(T = [f32, f64, f16, i32])]
pub fn axpy<T>(a: T, x: Tensor<T, N>, y: Tensor<T, N>) -> Tensor<T, N> {
    a * x + y
}

/// The mean of `K` neighbours.
#[tensor_fn(K = [3, 5])]
pub fn blur<const K: usize>(x: Tensor<f32, N>) -> Tensor<f32, { N - K + 1 }> {
    compute(|i| sum(0..K, |k| x[[i + k]]) / (K as f32))
}

/// The products of all pairs and the sum of the first operand; every dim is fixed, so it cannot fail.
#[tensor_fn(T = [f32, i64], K = [2, 3])]
pub fn pairs<T, const K: usize>(x: Tensor<T, K>, y: Tensor<T, { K - 1 }>) -> (Tensor<T, K, { K - 1 }>, T) {
    (compute([K, K - 1], |i, j| x[[i]] * y[[j]]), sum(x))
}

/// Puts a number in front of those that are kept, and gives the one that falls out.
#[tensor_fn(T = [f32, u8], K = [1, 4])]
pub fn push<T, const K: usize>(kept: &mut Tensor<T, K>, next: T) -> T {
    let last = kept[[K - 1]];
    kept[[..]] = compute([K], |i| if i == 0 { next } else { kept[[i - 1]] });
    last
}

/// Calls that name their instances.
#[tensor_fn]
pub fn smooth(x: Tensor<f32, N>) -> Tensor<f32, { N - 6 }> {
    self::blur::<3>(self::blur::<5>(x))
}

/// A generic function calls one for its own parameter, which the operands say.
#[tensor_fn(T = [f64, i32])]
pub fn double<T>(x: Tensor<T, N>) -> Tensor<T, N> {
    self::axpy(1, x, self::axpy::<T>(0, x, x))
}

/// A function outside is called with what each instance has.
#[tensor_fn(T = [f32, i32])]
pub fn reversed<T>(x: Tensor<T, N>) -> Tensor<T, N> {
    let y: Tensor<T, N> = extern_call!(self::backwards, x);
    y
}

/// From the last to the first.
pub fn backwards<T: Copy>(x: &[T], y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x.iter().rev()) {
        *y = *x;
    }
}
