use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) {
    x * 2.0
}

fn main() {}
