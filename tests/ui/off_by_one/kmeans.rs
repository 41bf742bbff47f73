//! A step of k-means: the centroid behind the last.

use tenfold::prelude::*;

#[tensor_fn(dims(K >= 1))]
fn kmeans(x: Tensor<f32, N, D>, old: Tensor<f32, K, D>) -> Tensor<i32, N> {
    let distance = compute([N, K], |n, k| {
        sum(0..D, |d| square(x[[n, d]] - old[[k + 1, d]])) // off by one
    });
    argmin(distance, axis = -1) as i32
}

fn main() {}
