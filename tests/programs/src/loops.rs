//! Loops over elements, each rule of the language once.

use tenfold::prelude::*;

/// Scalars that a loop carries: a float that begins as a literal, an integer, an index value and a bool.
#[tensor_fn]
pub fn carried(x: Tensor<f32, N>) -> (f32, i32, i64, bool) {
    let (mut total, mut count, mut last, mut any) = (0.0, 0i32, -1, false);
    for i in 0..N {
        if x[[i]] > 0.0 {
            total += x[[i]];
            count += 1;
            last = i as isize;
            any = true;
        }
    }
    (total, count, last as i64, any)
}

/// A `while` whose condition guards the index.
#[tensor_fn]
pub fn first_negative(x: Tensor<i32, N>) -> i64 {
    let mut i = 0;
    let mut found = false;
    while i >= 0 && i < N && !found {
        if x[[i]] < 0 {
            found = true;
        } else {
            i += 1;
        }
    }
    i as i64
}

/// Insertion sort, in place: the tensor is read where it was just written.
#[tensor_fn]
pub fn sorted(x: Tensor<i32, N>) -> Tensor<i32, N> {
    let mut y = x;
    for i in 1..N {
        for j in (1..i + 1).rev() {
            if y[[j - 1]] > y[[j]] {
                (y[[j - 1]], y[[j]]) = (y[[j]], y[[j - 1]]);
            }
        }
    }
    y
}

/// The old value keeps what it was.
#[tensor_fn]
pub fn shifted(x: Tensor<i32, N>) -> (Tensor<i32, N>, Tensor<i32, N>) {
    let mut y = x + 1;
    let before = y;
    for i in 1..N {
        y[[i]] = before[[i - 1]] + x[[i]];
    }
    (y, before)
}

/// A value read before a store is the one from before.
#[tensor_fn]
pub fn rotated(x: Tensor<i32, N>, s: &mut Tensor<i32, 4>) -> Tensor<i32, N> {
    let mut y = x;
    for i in 0..N {
        let old = s[[0]];
        let sum = old + s[[3]];
        for k in 0..3 {
            s[[k]] = s[[k + 1]];
        }
        s[[3]] = sum;
        y[[i]] = y[[i]] * old;
    }
    y
}

/// Steps, both ways, and an empty range.
#[tensor_fn]
pub fn steps(x: Tensor<i64, N>) -> Tensor<i64, 8> {
    let mut trace = zeros::<i64>([8]);
    let mut at = 0;
    for i in (0..20).rev().step_by(3) {
        if at >= 0 && at < 8 {
            trace[[at]] = i as i64;
        }
        at += 1;
    }
    for _ in N..0 {
        at += 100;
    }
    trace[[7]] = at as i64;
    trace
}

/// Bounds of inner loops that depend on outer ones, and a reduction within a nest.
#[tensor_fn]
pub fn triangle(a: Tensor<i64, N, N>) -> Tensor<i64, N, N> {
    let mut y = zeros::<i64>([N, N]);
    for i in 0..N {
        for j in 0..i + 1 {
            y[[i, j]] = sum(j..i + 1, |k| a[[i, k]] * (k as i64)) + y[[j, j]];
        }
    }
    y
}

/// Forward substitution.
#[tensor_fn]
pub fn lower_solve(l: Tensor<f64, N, N>, b: Tensor<f64, N>) -> Tensor<f64, N> {
    let mut y = b;
    for i in 0..N {
        for j in 0..i {
            y[[i]] -= l[[i, j]] * y[[j]];
        }
        y[[i]] /= l[[i, i]];
    }
    y
}

/// A number of turns of Collatz's rule; a function of scalars with a loop of its own.
#[tensor_fn]
pub fn collatz(n: u32) -> u32 {
    let (mut n, mut turns) = (n, 0);
    while n > 1u32 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        turns += 1u32;
    }
    turns
}

/// The loop above, called for each element.
#[tensor_fn]
pub fn all_collatz(x: Tensor<u32, N>) -> Tensor<u32, N> {
    compute(|i| self::collatz(x[[i]]))
}

/// Total forms on a tensor that changes, and the short-circuit of `&&`.
#[tensor_fn]
pub fn total(x: Tensor<i32, N>) -> Tensor<i32, N> {
    let mut y = x;
    for i in 0..N {
        let near = y.get_or([i - 1], 100);
        y[[i]] = near - y[[i]];
        if i > 0 && y[[i - 1]] > 0 {
            y[[i]] += 1000;
        }
    }
    y
}

/// A local closure and a branch with a value, within a loop.
#[tensor_fn]
pub fn clamp_sum(x: Tensor<i32, N>, low: i32, high: i32) -> i32 {
    let within = |v| if v < low { low } else { if v > high { high } else { v } };
    let mut s = 0;
    for i in 0..N {
        s += within(x[[i]]) * (if i % 2 == 0 { 1i32 } else { -1i32 });
    }
    s
}

/// An unrolled loop within a nest.
#[tensor_fn]
pub fn polynomial(x: Tensor<f64, N>, c: Tensor<f64, 4>) -> Tensor<f64, N> {
    let mut y = zeros::<f64>([N]);
    for i in 0..N {
        let mut v = 0.0;
        #[unroll]
        for k in 0..4 {
            v = v * x[[i]] + c[[3 - k]];
        }
        y[[i]] = v;
    }
    y
}

/// State of rank 0 in a loop.
#[tensor_fn]
pub fn counter(x: Tensor<i32, N>, best: &mut Tensor<i32>) {
    for i in 0..N {
        if x[[i]] > best {
            best = x[[i]];
        }
    }
}
