//! Insertion: the place behind the last.

use tenfold::prelude::*;

#[tensor_fn(dims(K = 8))]
fn largest(x: Tensor<f32, N>) -> Tensor<f32, K> {
    let mut value = full([K], f32::NEG_INFINITY);
    for n in 0..N {
        let mut v = x[[n]];
        for k in 0..K {
            if v > value[[k]] {
                (value[[k + 1]], v) = (v, value[[k]]); // off by one
            }
        }
    }
    value
}

fn main() {}
