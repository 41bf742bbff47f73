use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, y: Tensor<f32, { N as f32 }>, z: Tensor<f32, { sqrt(N) }>) -> Tensor<f32, { N * 0.5 }> {
    x
}

fn main() {}
