use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, w: Tensor<f32, 3>) -> Tensor<f32, N> {
    compute(|i| sum(0..4, |k| w[[k]]) + x[[i]])
}

fn main() {}
