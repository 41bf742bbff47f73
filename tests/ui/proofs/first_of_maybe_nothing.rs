use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> f32 {
    x[[0]]
}

fn main() {}
