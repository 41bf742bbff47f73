use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, 1, 2, 3, 4, 5, 6, 7, 8, 9>) -> f32 {
    0.0
}

fn main() {}
