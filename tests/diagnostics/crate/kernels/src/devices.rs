//! What a device does not take, at the place of it.

use tenfold::prelude::*;

#[tensor_fn(targets("cpu", "spirv"))]
pub fn remainders(x: Tensor<f32, 8>) -> Tensor<f32, 8> {
    let y = x % 3.0;
    y + 1.0
}

#[tensor_fn(targets("cpu", "nvptx:sm_90"))]
pub fn chips(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x * 2.0
}

#[tensor_fn(targets("cpu", "nvptx:sm_80", "spirv"))]
pub fn turns(x: Tensor<f32, 4>, n: usize) -> Tensor<f32, 4> {
    let mut y = x;
    for i in 0..n {
        y = softmax(y * (i as f32), axis = 0);
    }
    y
}
