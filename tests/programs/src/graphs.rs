//! Branches and loops that use whole tensors, and shapes that are known only when the function runs.

use tenfold::prelude::*;

/// A loop that carries two tensors and a scalar that begins as a literal.
#[tensor_fn]
pub fn power_iteration(a: Tensor<f32, N, N>, x: Tensor<f32, N>) -> (Tensor<f32, N>, f32) {
    let mut v = x;
    let mut largest = 0.0;
    for _ in 0..20 {
        let w = matmul(a, v);
        largest = sqrt(sum(w * w));
        v = w / largest;
    }
    (v, largest)
}

/// Old and new values change places.
#[tensor_fn]
pub fn fibonacci(x: Tensor<i64, N>, y: Tensor<i64, N>, turns: usize) -> (Tensor<i64, N>, Tensor<i64, N>) {
    let (mut a, mut b) = (x, y);
    for _ in 0..turns {
        (a, b) = (b, a + b);
    }
    (a, b)
}

/// A `while` whose condition and body use whole tensors; it counts its turns.
#[tensor_fn]
pub fn halve(x: Tensor<f32, N>) -> (Tensor<f32, N>, i64) {
    let mut y = x;
    let mut turns = 0i64;
    while any(y > 1.0) {
        y = y * 0.5;
        turns += 1;
    }
    (y, turns)
}

/// Rows are written in the order of a loop, which reads what it wrote: in place.
#[tensor_fn(dims(N >= 1))]
pub fn running(x: Tensor<f32, N, M>) -> Tensor<f32, N, M> {
    let mut y = x;
    for i in 1..N {
        y[[i, ..]] = maximum(y[[i - 1, ..]] * 0.5, y[[i, ..]]);
    }
    y
}

/// State in a loop in a loop.
#[tensor_fn]
pub fn diffuse(grid: &mut Tensor<f32, H, W>, kernel: Tensor<f32, W, W>, turns: usize) {
    for _ in 0..turns {
        for _ in 0..2 {
            grid[[.., ..]] = matmul(grid, kernel);
        }
        grid[[.., ..]] = grid * 0.5;
    }
}

/// One of two graphs runs; which is known from data.
#[tensor_fn]
pub fn normalised(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let size = sqrt(sum(x * x));
    if size > 1.0 {
        let y = x / size;
        y * 2.0
    } else {
        x
    }
}

/// An index value that a branch decides, within bounds that are proven.
#[tensor_fn(dims(N >= 2))]
pub fn picked(x: Tensor<f32, N>) -> f32 {
    let i = if sum(x) > 0.0 { 0 } else { 1 };
    x[[i]]
}

/// A fold over tensors, rows first.
#[tensor_fn]
pub fn folded(x: Tensor<f32, N, M>) -> Tensor<f32, M> {
    fold(0..N, zeros::<f32>([M]), |acc, i| maximum(acc * 0.5, x[[i, ..]]))
}

/// A scan: a recurrent cell with its last state and all outputs.
#[tensor_fn]
pub fn recurrent(x: Tensor<f32, T, K>, w: Tensor<f32, K, K>) -> (Tensor<f32, K>, Tensor<f32, T, K>) {
    scan(0..T, zeros::<f32>([K]), |h, t| {
        let next = tanh(matmul(w, h) + x[[t, ..]]);
        (next, next * 2.0)
    })
}

/// A shape that is checked when the function runs.
#[tensor_fn]
pub fn matched(x: Tensor<f32, N>, y: Tensor<f32, M>) -> Tensor<f32, N> {
    let z = match_shape(y, [N]);
    x + z
}

/// An extent that data decides; its memory is that of its bound.
#[tensor_fn]
pub fn front(x: Tensor<f32, N>, count: i64) -> f32 {
    let n = clip(count, 0, N as i64) as usize;
    let part = exp(x[[0..n]]);
    sum(part / (1.0 + sum(part)))
}
