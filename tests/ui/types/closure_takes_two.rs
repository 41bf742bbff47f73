use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>) -> Tensor<f32, N, 8> {
    let gain = |v, k| v * k;
    let a = gain(x);
    compute(|i| x[[i, 0]])
}

fn main() {}
