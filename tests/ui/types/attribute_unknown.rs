use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>) -> Tensor<f32, N, 8> {
    let a = softmax(x, axes = -1);
    softmax(x, dim = -1)
}

fn main() {}
