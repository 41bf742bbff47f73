use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>, k: i32) -> Tensor<f32, N, 8> {
    softmax(x, axis = k)
}

fn main() {}
