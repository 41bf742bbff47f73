use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, { N / 2 }> {
    compute(|i| x[[2 * i]] + x[[2 * i + 2]])
}

fn main() {}
