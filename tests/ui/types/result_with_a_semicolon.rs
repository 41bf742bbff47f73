use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let y = x * 2.0;
    relu(y);
}

fn main() {}
