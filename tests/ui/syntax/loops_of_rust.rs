use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    loop {}
    for v in x {}
    while let Some(y) = x {}
    x
}

fn main() {}
