//! Calls from Rust with tensors that the signature does not take: errors of rustc, in our words.

use tenfold::prelude::*;

#[tensor_fn]
pub fn fixed(x: Tensor<f32, 2, 4>) -> Tensor<f32, 2, 4> {
    x * 2.0
}

#[tensor_fn]
pub fn named(x: Tensor<f32, N, 4>, s: &mut Tensor<f32, 4>) -> Tensor<f32, N, 4> {
    s[[..]] = s + sum(x, axis = 0);
    x * 2.0
}

pub fn wrong_extent() {
    let _ = fixed(&[[1.0f32; 3]; 2]);
}

pub fn wrong_named_extent(s: &mut [f32; 4]) {
    let _ = named(&[[1.0f32; 3]; 2], s);
}

pub fn wrong_dtype(s: &mut [f32; 4]) {
    let _ = named(&[[1.0f64; 4]; 2], s);
}

pub fn wrong_rank(s: &mut [f32; 4]) {
    let _ = named(&[1.0f32; 4], s);
}

pub fn wrong_state(s: &mut [f32; 5]) {
    let _ = named(&[[1.0f32; 4]; 2], s);
}

#[tensor_fn(T = [f32, f64], K = [2])]
pub fn generic<T, const K: usize>(x: Tensor<T, K>) -> Tensor<T, K> {
    x * x
}

pub fn missing_dtype() {
    let _ = generic::<i32, 2>(&[1, 2]);
}

pub fn missing_constant() {
    let _ = generic::<f32, 3>(&[1.0, 2.0, 3.0]);
}
