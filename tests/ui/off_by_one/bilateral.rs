//! Bilateral filter: the weight behind the last.

use tenfold::prelude::*;

#[tensor_fn]
fn bilateral(x: Tensor<f32, H, W>, sigma: f32) -> Tensor<f32, H, W> {
    const G: Tensor<f32, 5> = [0.135, 0.607, 1.0, 0.607, 0.135];
    compute(|i, j| {
        let (num, den) = sum(0..5, 0..5, |u, v| {
            let p = x.get_clamped([i + u - 2, j + v - 2]);
            let w = G[[u]] * G[[v + 1]] * exp(-0.5 * square((p - x[[i, j]]) / sigma)); // off by one
            (w * p, w)
        });
        num / den
    })
}

fn main() {}
