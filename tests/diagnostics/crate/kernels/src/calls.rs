//! Calls of other tensor functions.

use tenfold::prelude::*;

#[tensor_fn]
pub fn layer(x: Tensor<f32, B, I>, w: Tensor<f32, I, O>) -> Tensor<f32, B, O> {
    relu(matmul(x, w))
}

#[tensor_fn(dims(N >= 3))]
pub fn blur(x: Tensor<f32, N>) -> Tensor<f32, { N - 2 }> {
    compute(|i| sum(0..3, |u| x[[i + u]]) / 3.0)
}

#[tensor_fn]
pub fn count(n: usize, total: &mut Tensor<f32, 1>) -> Tensor<f32, 1> {
    total[[..]] = total + (n as f32);
    total
}

/// Rust's own.
pub fn plain(x: f32) -> f32 {
    x
}

#[tensor_fn]
pub fn wrong_shape(x: Tensor<f32, B, 64>, w: Tensor<f32, 32, 10>) -> Tensor<f32, B, 10> {
    self::layer(x, w)
}

#[tensor_fn]
pub fn two_dims(x: Tensor<f32, B, N>, w: Tensor<f32, M, 10>) -> Tensor<f32, B, 10> {
    self::layer(x, w)
}

#[tensor_fn]
pub fn wrong_dtype(x: Tensor<f64, B, 64>, w: Tensor<f32, 64, 10>) -> Tensor<f32, B, 10> {
    self::layer(x, w)
}

#[tensor_fn]
pub fn wrong_rank(x: Tensor<f32, 64>, w: Tensor<f32, 64, 10>) -> Tensor<f32, 1, 10> {
    self::layer(x, w)
}

#[tensor_fn]
pub fn wrong_number(x: Tensor<f32, B, 64>) -> Tensor<f32, B, 10> {
    self::layer(x)
}

#[tensor_fn]
pub fn wrong_result(x: Tensor<f32, B, 64>, w: Tensor<f32, 64, 10>) -> Tensor<f32, B, 12> {
    crate::calls::layer(x, w)
}

#[tensor_fn]
pub fn misspelt(x: Tensor<f32, B, 64>, w: Tensor<f32, 64, 10>) -> Tensor<f32, B, 10> {
    self::leyer(x, w)
}

#[tensor_fn]
pub fn another_module(x: Tensor<f32, B, 64>, w: Tensor<f32, 64, 10>) -> Tensor<f32, B, 10> {
    crate::nn::layer(x, w)
}

#[tensor_fn]
pub fn of_rust(x: Tensor<f32, N>) -> Tensor<f32, N> {
    compute(|i| self::plain(x[[i]]))
}

#[tensor_fn]
pub fn fact(x: Tensor<f32, N>) -> Tensor<f32, { N - 2 }> {
    self::blur(x)
}

#[tensor_fn]
pub fn below_zero(n: usize, total: &mut Tensor<f32, 1>) -> Tensor<f32, 1> {
    self::count(n - 1, &mut total)
}

#[tensor_fn]
pub fn state_as_input(n: usize, total: &mut Tensor<f32, 1>) -> Tensor<f32, 1> {
    self::count(n, total)
}

#[tensor_fn]
pub fn input_as_state(n: usize, total: Tensor<f32, 1>) -> Tensor<f32, 1> {
    self::count(n, &mut total)
}

#[tensor_fn]
pub fn tensor_in_closure(x: Tensor<f32, B, 64>, w: Tensor<f32, 64, 10>) -> Tensor<f32, B, 10> {
    compute(|b, o| self::layer(x, w)[[b, o]])
}

#[tensor_fn]
pub fn itself(x: Tensor<f32, N>) -> Tensor<f32, N> {
    self::itself(x * 0.5)
}

#[tensor_fn]
pub fn even(x: Tensor<f32, N>) -> Tensor<f32, N> {
    self::odd(x)
}

#[tensor_fn]
pub fn odd(x: Tensor<f32, N>) -> Tensor<f32, N> {
    self::even(x)
}

/// Wrong in itself: its callers say nothing.
#[tensor_fn]
pub fn broken(x: Tensor<f32, N>) -> Tensor<f32, N> {
    compute(|i| x[[i + 1]])
}

#[tensor_fn]
pub fn of_broken(x: Tensor<f32, N>) -> Tensor<f32, N> {
    self::broken(x)
}

/// Three quarters of what one function may write out.
#[tensor_fn]
pub fn copies(x: Tensor<f32, N>) -> Tensor<f32, N> {
    #[unroll]
    for _ in 0..15000 {}
    x
}

#[tensor_fn]
pub fn too_many_copies(x: Tensor<f32, N>) -> Tensor<f32, N> {
    self::copies(self::copies(x))
}
