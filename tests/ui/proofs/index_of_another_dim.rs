use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, y: Tensor<f32, M>) -> Tensor<f32, N> {
    compute(|i| x[[i]] + y[[i]])
}

fn main() {}
