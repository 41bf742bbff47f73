use tenfold::prelude::*;

#[tensor_fn]
fn f(N: usize, x: Tensor<f32, N>) -> Tensor<f32, N> {
    x
}

fn main() {}
