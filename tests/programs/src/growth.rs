//! Counters that only grow, conditions that guard their right side, and reductions of tensors with a closure.

use tenfold::prelude::*;

/// The sum up to the first element that is not positive: the counter is never negative.
#[tensor_fn]
pub fn up_to(x: Tensor<f32, N>) -> (f32, i64) {
    let mut k = 0;
    let mut total = 0.0f32;
    while k < N && x[[k]] > 0.0 {
        total += x[[k]];
        k += 1;
    }
    (total, k as i64)
}

/// Merges two sorted lists, with a counter into each.
#[tensor_fn]
pub fn merged(a: Tensor<i32, N>, b: Tensor<i32, M>) -> Tensor<i32, { N + M }> {
    let mut all = zeros::<i32>([N + M]);
    let (mut i, mut j) = (0, 0);
    for k in 0..N + M {
        if i < N && (j >= M || a[[i]] <= b[[j]]) {
            all[[k]] = a[[i]];
            i = i + 1;
        } else {
            if j < M {
                all[[k]] = b[[j]];
                j += 1;
            }
        }
    }
    all
}

/// Rows are multiplied until a product is large: the counter of a loop over whole tensors.
#[tensor_fn]
pub fn rows(x: Tensor<f32, N, 4>) -> (Tensor<f32, 4>, i64) {
    let mut k = 0;
    let mut y = ones::<f32>([4]);
    while k < N && max(y) < 100.0 {
        y = softmax(x[[k, ..]], axis = 0) + y * x[[k, ..]];
        k += 1;
    }
    (y, k as i64)
}

/// The right side, a product of all rows, is evaluated only where the left side asks for it.
#[tensor_fn]
pub fn steep(x: Tensor<f32, N, 4>, n: usize) -> (Tensor<f32, 4>, i64) {
    let (mut calls, mut y) = (0, zeros::<f32>([4]));
    if n > 2 && any(matmul(x, ones::<f32>([4, 4])) > 8.0) {
        y = softmax(y, axis = 0);
        calls += 1;
    }
    if n == 0 || all(matmul(x, ones::<f32>([4, 4])) > 8.0) {
        y = y + 1.0;
        calls += 2;
    }
    (y, calls as i64)
}

/// A product of matrices, which no operator is.
#[tensor_fn]
pub fn chain(x: Tensor<f32, K, 2, 2>) -> Tensor<f32, 2, 2> {
    reduce(0..K, eye::<f32>(2, 2), |k| x[[k, .., ..]], |a, b| matmul(a, b))
}

/// The greatest row by its sum, and which: tuples of tensors.
#[tensor_fn(dims(K >= 1))]
pub fn heaviest(x: Tensor<f32, K, 3>) -> (Tensor<f32, 3>, f32) {
    reduce(
        0..K,
        (x[[0, ..]], sum(x[[0, ..]])),
        |k| (x[[k, ..]], sum(x[[k, ..]])),
        |a, b| {
            let ((p, s), (q, t)) = (a, b);
            if t > s { (q, t) } else { (p, s) }
        },
    )
}
