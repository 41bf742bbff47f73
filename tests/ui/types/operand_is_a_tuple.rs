use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>) -> Tensor<f32, N, 8> {
    let pair = (x, x);
    concat(pair, axis = 0)
}

fn main() {}
