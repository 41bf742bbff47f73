//! Running sum: up to and including the end.

use tenfold::prelude::*;

#[tensor_fn]
fn prefix_sum(x: Tensor<f32, N>) -> Tensor<f32, { N + 1 }> {
    compute(|n| {
        fold(0..n + 1, 0.0, |acc, i| {
            acc + x[[i]] // off by one
        })
    })
}

fn main() {}
