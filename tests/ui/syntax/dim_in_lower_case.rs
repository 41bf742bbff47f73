use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, n>) -> Tensor<f32, n> {
    x
}

fn main() {}
