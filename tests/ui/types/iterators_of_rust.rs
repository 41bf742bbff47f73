use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let n = x.len();
    let y = x.clone();
    x.iter().map(2.0)
}

fn main() {}
