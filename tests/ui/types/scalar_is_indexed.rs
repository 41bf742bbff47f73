use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, k: f32) -> Tensor<f32, N> {
    compute(|i| x[[i]] * k[[0]])
}

fn main() {}
