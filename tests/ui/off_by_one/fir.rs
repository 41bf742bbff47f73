//! Streaming FIR filter: the sample behind the newest.

use tenfold::prelude::*;

#[tensor_fn]
fn fir(x: Tensor<f32, N>, h: Tensor<f32, T>, tail: &mut Tensor<f32, { T - 1 }>) -> Tensor<f32, N> {
    let all = concat([tail, x], axis = 0);
    tail[[..]] = all[[N..]];
    compute(|n| {
        sum(0..T, |k| h[[k]] * all[[n + T - k]]) // off by one
    })
}

fn main() {}
