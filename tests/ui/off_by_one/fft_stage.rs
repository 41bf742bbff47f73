//! A stage of an FFT: the halves count from 1.

use tenfold::prelude::*;

#[tensor_fn]
fn fft_stage(x: Tensor<f32, 2, M, S, 2>) -> Tensor<f32, M, 2, S> {
    compute(|p, h, q| {
        let t = -f32::consts::PI * (p as f32) / (M as f32);
        x[[h + 1, p, q, 0]] * cos(t) // off by one
    })
}

fn main() {}
