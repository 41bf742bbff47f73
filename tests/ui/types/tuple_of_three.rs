use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let (a, b, c) = (x, x);
    let (d, e) = x;
    a
}

fn main() {}
