use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, 8>, n: usize) -> Tensor<f32, 4> {
    let a = x[[6..2]];
    let b = x[[n..n + 4]];
    x[[5..9]]
}

fn main() {}
