use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, B, K>, w: Tensor<f32, L, 10>) -> Tensor<f32, B, 10> {
    matmul(x, w)
}

fn main() {}
