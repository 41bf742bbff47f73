//! A function with errors keeps its name: its callers in Rust have no errors of their own.

use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 4> {
    softmx(x, axis = -1)
}

fn call() -> f32 {
    let y = f(&[[1.0f32; 4]; 2]).unwrap();
    y[[0, 0]]
}

fn main() {}
