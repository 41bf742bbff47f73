use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    x + [0.5; 4]
}

fn main() {}
