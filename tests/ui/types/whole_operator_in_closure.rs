use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>) -> Tensor<f32, N> {
    compute(|i| sum(x[[i, ..]], axis = 0))
}

fn main() {}
