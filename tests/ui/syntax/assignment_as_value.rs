use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let mut y = x;
    let z = y = x;
    z
}

fn main() {}
