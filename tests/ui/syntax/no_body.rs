use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N>;

#[tensor_fn(onnx = "net.onnx")]
fn g(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x
}

fn main() {}
