use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, B, 3, 32, 32>, w: Tensor<f32, 8, 1, 3, 3>) -> Tensor<f32, B, 8, 30, 30> {
    conv(x, w)
}

fn main() {}
