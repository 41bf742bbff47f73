use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>) -> Tensor<f32, 8> {
    let y: Tensor<f32, 4> = sum(x, axis = 0);
    let z: Tensor<i32, 8> = sum(x, axis = 0);
    sum(x, axis = 0)
}

fn main() {}
