use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let a = "text";
    let b = 'a';
    x
}

fn main() {}
