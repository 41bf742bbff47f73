use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 3, 32>, w: Tensor<f32, 8, 3, 3, 3>) -> Tensor<f32, N, 8, 30, 30> {
    conv(x, w)
}

fn main() {}
