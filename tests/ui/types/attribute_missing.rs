use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>) -> Tensor<f32, 8, N> {
    transpose(x, axes = [0.5, 1])
}

fn main() {}
