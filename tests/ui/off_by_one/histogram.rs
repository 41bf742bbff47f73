//! Histogram: a byte has 256 values.

use tenfold::prelude::*;

#[tensor_fn]
fn histogram(image: Tensor<u8, H, W>) -> Tensor<u32, 256> {
    let mut bins = zeros::<u32>([256]);
    for i in 0..H {
        for j in 0..W {
            bins[[image[[i, j]] as usize + 1]] += 1; // off by one
        }
    }
    bins
}

fn main() {}
