use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let [a, b] = x;
    let Some(c) = x;
    for (i, j) in 0..N {}
    x
}

fn main() {}
