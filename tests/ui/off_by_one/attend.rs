//! A decoding step of attention: the key behind the newest one.

use tenfold::prelude::*;

#[tensor_fn(dims(H = 8, G = 4, S = 2048, D = 64))]
fn attend(q: Tensor<f32, H, D>, pos: usize, keys: &mut Tensor<f32, G, S, D>) -> Tensor<f32, H, { pos + 1 }> {
    assert!(pos < S, "the cache is full");
    compute(|h, t| {
        sum(0..D, |d| q[[h, d]] * keys[[h / (H / G), t + 1, d]]) // off by one
    })
}

fn main() {}
