use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, c: Tensor<f32, N>) -> Tensor<f32, N> {
    let a = !x;
    let b = x & c;
    select(c, x, x)
}

fn main() {}
