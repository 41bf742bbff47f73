use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, s: &mut Tensor<f32, N>) {
    s = x;
    s += x;
}

fn main() {}
