use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, 8>) -> f32 {
    x[[8]] + x[[-1]]
}

fn main() {}
