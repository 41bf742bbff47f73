use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>) -> Tensor<f32, N, 8> {
    let a = matmul(x);
    let b = relu(x, x);
    maximum(x)
}

fn main() {}
