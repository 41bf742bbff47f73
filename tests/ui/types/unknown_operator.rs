use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>) -> Tensor<f32, N, 8> {
    softmx(x, axis = -1)
}

fn main() {}
