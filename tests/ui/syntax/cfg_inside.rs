use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    #[cfg(debug_assertions)]
    let x = x * 2.0;
    x
}

fn main() {}
