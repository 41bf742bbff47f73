use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let a = 1 + ;
    let b = x[0];
    a
}

fn main() {}
