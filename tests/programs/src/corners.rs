//! Small functions of corners that whole programs do not meet.

use tenfold::prelude::*;

/// Both ways to go round an axis, at indices beyond both ends.
#[tensor_fn(dims(N >= 1))]
pub fn wrapped(x: Tensor<f32, N>) -> (Tensor<f32, { N + 6 }>, Tensor<f32, { N + 6 }>) {
    (compute([N + 6], |i| x.get_wrapped([i - 3])), pad(x, pad_width = [[3, 3]], mode = "wrap"))
}

/// A fact about a remainder.
#[tensor_fn(dims(N % 3 == 0))]
pub fn thirds(x: Tensor<f32, N>) -> Tensor<f32, 3> {
    sum(reshape(x, [-1, 3]), axis = 0)
}

/// State of rank 0, which is assigned to like a scalar.
#[tensor_fn]
pub fn smooth(last: &mut Tensor<f32>, calls: &mut Tensor<u32>, x: Tensor<f32, N>) -> Tensor<f32, N> {
    let (end, all) = scan(0..N, last, |acc, i| {
        let next = acc + 0.5 * (x[[i]] - acc);
        (next, next)
    });
    last = end;
    calls += 1;
    all
}

/// Reductions that are the whole body, over an axis that may be empty.
#[tensor_fn]
pub fn rows(x: Tensor<f32, M, N>) -> (Tensor<f32, M>, Tensor<f32, M>, Tensor<f32, M>) {
    let (product, total) = compute([M], |i| (prod(0..N, |j| x[[i, j]]), sum(0..N, |j| x[[i, j]])));
    (compute([M], |i| sum(0..N, |j| x[[i, j]])), compute([M], |i| max(0..N, |j| x[[i, j]])), product + total)
}

/// An index value far beyond the axis: the sum of two is not taken modulo 2^64.
#[tensor_fn]
pub fn far(x: Tensor<f32, 4>, n: isize) -> Tensor<f32, 4> {
    compute(|i| x.get_or([n + i + 1], -1.0))
}

/// Bits of index values, of the graph and in a closure; the result is an index value again.
#[tensor_fn]
pub fn bits(x: Tensor<i64, 8>, n: usize, m: isize) -> (Tensor<i64, 8>, i64, i64) {
    let mixed = (n ^ 5) + (n << 2) - (m >> 1);
    (compute(|i| x.get_clamped([i ^ 1]) + ((n & i) as i64)), mixed as i64, ((m | 6) & 12) as i64)
}

/// What a condition says of an index is known beside a choice that is about the same iterator.
#[tensor_fn(dims(N >= 1, M >= 1))]
pub fn beside_a_choice(x: Tensor<u16, N, M>) -> Tensor<u16, 3, N> {
    compute([3, N], |i, j| {
        let a = if i < M { 1u16 } else { 2u16 };
        a + if i % 2 == 0 { 1u16 } else { x.get_or([j, (j - i) / 2], 2u16) }
    })
}

/// What a condition says of an index is known, though a side of it goes over elements.
#[tensor_fn(dims(N >= 1, M >= 1))]
pub fn guarded(v: Tensor<u16, M>, q: Tensor<i8, N>, b: Tensor<u8, N>, s: u16) -> Tensor<u8, N> {
    let mut y = b;
    for i in 0..N {
        let last = q[[N - 1 - i]] as isize;
        let n = if s > 5u16 { last - i } else { last };
        if !(n < 0 || any(0..M, |k| v[[k]] < s) && v.get_or([n], 3u16) > 2u16 || n >= N) {
            y[[i]] += b[[n]];
        }
    }
    y
}
