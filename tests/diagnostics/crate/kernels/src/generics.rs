//! Generic functions: calls of instances that there are not, and what some instances alone get wrong.

use tenfold::prelude::*;

#[tensor_fn(T = [f32, f64], K = [2, 3])]
pub fn scaled<T, const K: usize>(x: Tensor<T, N, K>, a: T) -> Tensor<T, N, K> {
    a * x
}

#[tensor_fn(T = [f32])]
pub fn ones_of<T>(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x + (ones::<T>([N]) as f32)
}

#[tensor_fn]
pub fn another_dtype(x: Tensor<i32, N, 2>) -> Tensor<i32, N, 2> {
    self::scaled(x, 2)
}

#[tensor_fn]
pub fn another_constant(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 4> {
    self::scaled(x, 2.0)
}

#[tensor_fn]
pub fn nothing_says_it(x: Tensor<f32, N>) -> Tensor<f32, N> {
    self::ones_of(x)
}

#[tensor_fn]
pub fn too_many(x: Tensor<f32, N>) -> Tensor<f32, N> {
    self::ones_of::<f32, 3>(x)
}

#[tensor_fn]
pub fn no_dtype(x: Tensor<f32, N>) -> Tensor<f32, N> {
    self::ones_of::<3>(x)
}

#[tensor_fn]
pub fn no_generic(x: Tensor<f32, N>) -> Tensor<f32, N> {
    self::whole::<f32>(x)
}

#[tensor_fn]
pub fn whole(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x
}

#[tensor_fn(T = [f32, i32, u8])]
pub fn broken_in_some<T>(x: Tensor<T, N>) -> Tensor<T, N> {
    exp(x)
}

#[tensor_fn(T = [f32, f64], workspace <= "1K", dims(N <= 200))]
pub fn too_large_in_one<T>(x: Tensor<T, N>) -> T {
    let y = sort(x);
    sum(sort(y * y, descending = true) * y)
}
