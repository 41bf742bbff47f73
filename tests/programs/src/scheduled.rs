//! Functions with schedules beside them; each must compute what it would without.

use tenfold::prelude::*;

/// Blurs by nine; tiles whose size does not divide the axis.
#[tensor_fn]
#[schedule(|s| {
    let [i, j] = s.loops("blur");
    let [jo, ji] = s.split(j, [_, 16]);
    s.parallel(i);
    s.vectorize(ji);
})]
pub fn blur(x: Tensor<f32, H, W>) -> Tensor<f32, { H - 2 }, { W - 2 }> {
    compute(|i, j| sum(0..3, 0..3, |u, v| x[[i + u, j + v]]) / 9.0)
}

/// A product of matrices, tiled, its start outside of the loop, columns innermost.
#[tensor_fn(dims(K >= 1))]
#[schedule(target = "nvptx", |s| {
    let [i, j, k] = s.loops("product");
    s.bind(i, "blockIdx.x");
})]
#[schedule(|s| {
    let [i, j, k] = s.loops("product");
    let [io, jo, ii, ji] = s.tile([i, j], [4, 8]);
    s.reorder([k, ii, ji]);
    let start = s.decompose_reduction("product", k);
    s.vectorize(ji);
    s.unroll(ii);
})]
pub fn product(a: Tensor<f32, M, K>, b: Tensor<f32, K, N>) -> Tensor<f32, M, N> {
    compute([M, N], |i, j| sum(0..K, |k| a[[i, k]] * b[[k, j]]))
}

/// One loop of two.
#[tensor_fn]
#[schedule(target = "x86-64", |s| {
    let both = s.loops("flat");
    let f = s.fuse(both);
    let [fo, fi] = s.split(f, [_, 4]);
    s.unroll(fi);
})]
pub fn flat(x: Tensor<f32, M, N>) -> Tensor<f32, M, N> {
    compute(|i, j| x[[i, j]] * 2.0 + 1.0)
}
