use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, 4, 8>, w: Tensor<f16, 8, 2>) -> Tensor<f32, 4, 2> {
    matmul(x, w)
}

fn main() {}
