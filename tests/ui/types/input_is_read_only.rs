use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x[[0]] = 1.0;
    x = x * 2.0;
    let y = x + 1.0;
    y[[0]] = 1.0;
    y
}

fn main() {}
