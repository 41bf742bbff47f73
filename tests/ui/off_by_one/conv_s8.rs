//! 3x3 convolution: the kernel counts from 1.

use tenfold::prelude::*;

#[tensor_fn]
fn conv_s8(x: Tensor<i8, N, H, W, C>, w: Tensor<i8, K, 3, 3, C>, zero: i8) -> Tensor<i32, N, H, W, K> {
    compute(|n, i, j, k| {
        sum(0..3, 0..3, 0..C, |u, v, c| {
            let p = x.get_or([n, i + u - 1, j + v - 1, c], zero);
            let weight = w[[k, u + 1, v, c]]; // off by one
            (p as i32 - zero as i32) * (weight as i32)
        })
    })
}

fn main() {}
