//! Both places are named where the dims come from.

use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, B, N>, bias: Tensor<f32, M>) -> Tensor<f32, B, N> {
    x + bias
}

fn main() {}
