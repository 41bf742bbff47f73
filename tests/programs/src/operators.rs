//! Operators with operands that are left out and several results, as a user writes them.

use tenfold::prelude::*;

/// A step of attention over a cache, without a mask.
#[tensor_fn(dims(D = 4))]
pub fn step(
    q: Tensor<f32, 1, 2, 1, D>,
    k: Tensor<f32, 1, 1, 1, D>,
    v: Tensor<f32, 1, 1, 1, D>,
    keys: Tensor<f32, 1, 1, T, D>,
    values: Tensor<f32, 1, 1, T, D>,
) -> (Tensor<f32, 1, 2, 1, D>, Tensor<f32, 1, 1, { T + 1 }, D>) {
    let (y, keys, _) = attention(q, k, v, [], keys, values, is_causal = true);
    (y, keys)
}

/// An LSTM that goes on from a state, with neither biases nor lengths.
#[tensor_fn(dims(I = 2, H = 3))]
pub fn remember(
    x: Tensor<f32, T, 1, I>,
    w: Tensor<f32, 1, { 4 * H }, I>,
    r: Tensor<f32, 1, { 4 * H }, H>,
    h: Tensor<f32, 1, 1, H>,
    c: Tensor<f32, 1, 1, H>,
) -> (Tensor<f32, 1, 1, H>, Tensor<f32, 1, 1, H>) {
    let (_, h, c) = lstm(x, w, r, [], [], h, c);
    (h, c)
}

/// Twice the size, then the mean of each quarter, by letters.
#[tensor_fn(dims(H >= 1, W >= 1))]
pub fn quarters(x: Tensor<f32, N, 1, H, W>) -> Tensor<f32, N, 2, 2> {
    let large = resize(x, [2 * H, 2 * W], axes = [2, 3], mode = "linear");
    einsum(adaptive_average_pool(large, [2, 2]), equation = "nchw->nhw")
}

/// The elements other than 0, how many there are, and their sum: only as many are read as there are.
#[tensor_fn]
pub fn chosen(x: Tensor<f32, N>) -> (Tensor<f32, N>, i64, f32) {
    let (places, count) = nonzero(x);
    let some = take(x, places[[0, 0..count]]);
    let mut kept = zeros::<f32>([N]);
    kept[[0..count]] = some;
    (kept, count, sum(some))
}

/// How often each row stands, the rows in the order in which they first stand.
#[tensor_fn]
pub fn tally(x: Tensor<u8, N, D>) -> (Tensor<u8, N, D>, Tensor<i64, N>, i64) {
    unique(x, axis = 0, sorted = false, return_counts = true)
}
