use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<N, f32>, y: Tensor, z: Tensor<4>) -> Tensor<f32, N> {
    x
}

fn main() {}
