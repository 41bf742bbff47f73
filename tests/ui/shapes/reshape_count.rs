use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, B, 8, 8>) -> Tensor<f32, B, 65> {
    reshape(x, [B, 65])
}

fn main() {}
