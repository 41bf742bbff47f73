//! Names of other libraries lead to ours.

use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>, y: Tensor<f32, N, 8>) -> Tensor<f32, N, 8> {
    let a = cat([x, y], axis = 0);
    let b = permute(x, axes = [1, 0]);
    let c = leakyrelu(x);
    a + c
}

fn main() {}
