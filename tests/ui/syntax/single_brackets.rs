use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, m: Tensor<f32, N, 8>) -> Tensor<f32, N> {
    compute(|i| x[i] + m[i][0])
}

fn main() {}
