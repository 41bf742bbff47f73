use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, 4> {
    x[[0..4]]
}

fn main() {}
