//! A decoding step of attention: one group of heads too many.

use tenfold::prelude::*;

#[tensor_fn(dims(H = 8, G = 4, S = 2048, D = 64))]
fn attend(q: Tensor<f32, H, D>, keys: Tensor<f32, G, S, D>) -> Tensor<f32, H, S> {
    compute(|h, t| {
        sum(0..D, |d| q[[h, d]] * keys[[(h + 1) / (H / G), t, d]]) // off by one
    })
}

fn main() {}
