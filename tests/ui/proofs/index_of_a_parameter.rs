use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, pos: usize) -> f32 {
    x[[pos]]
}

fn main() {}
