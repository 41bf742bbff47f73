use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<float32, N>, n: i128) -> Tensor<f32, N> {
    x as f8
}

fn main() {}
