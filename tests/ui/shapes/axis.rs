use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>) -> Tensor<f32, N, 8> {
    let a = softmax(x, axis = 2);
    softmax(x, axis = -3)
}

fn main() {}
