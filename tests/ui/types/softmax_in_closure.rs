use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>) -> Tensor<f32, N, 8> {
    compute(|i, j| softmax(x, axis = -1))
}

fn main() {}
