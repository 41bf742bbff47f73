use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let v = 1.0 + |a| a;
    compute(move |i| -> f32 { x[[i]] })
}

fn main() {}
