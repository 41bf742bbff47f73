use tenfold::prelude::*;

#[tensor_fn]
async fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x
}

#[tensor_fn]
const fn g(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x
}

#[tensor_fn]
unsafe fn h(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x
}

fn main() {}
