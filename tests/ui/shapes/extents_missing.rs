use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let y = compute(|i| x[[i]] * 2.0);
    y + x
}

fn main() {}
