//! Three errors that have nothing to do with each other are reported in one run.

use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>, w: Tensor<f64, 8>) -> Tensor<f32, N, 4> {
    let a = x * w;
    let b = softmx(x, axis = -1);
    let c = compute([N, 8], |i, j| x[[i, j + 1]]);
    a + b + c
}

fn main() {}
