use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>, bias: Tensor<f32, 7>) -> Tensor<f32, N, 8> {
    x + bias
}

fn main() {}
