//! Elements that are stored and not computed with: floats of 8 bits, integers of 4.

use tenfold::prelude::*;

/// A layer whose weights are stored, and whose result is.
#[tensor_fn(T = [f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz], params(w))]
pub fn layer<T>(x: Tensor<f32, N, 4>, w: Tensor<T, 4, 3>) -> Tensor<T, N, 3> {
    matmul(x, w as f32) as T
}

/// The same with weights that are linked.
#[tensor_fn]
pub fn linked(x: Tensor<f32, N, 4>) -> Tensor<f8e4m3fn, N, 3> {
    const W: Tensor<f8e4m3fn, 4, 3> = safetensors!("data/stored.safetensors", "w.f8e4m3fn");
    matmul(x, W as f32) as f8e4m3fn
}

/// Conversions of a whole tensor and of its elements.
#[tensor_fn(T = [f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, i4, u4])]
pub fn both_ways<T>(x: Tensor<f32, N>) -> (Tensor<T, N>, Tensor<T, N>, Tensor<f32, N>) {
    let y = x as T;
    (y, compute([N], |i| x[[i]] as T), y as f32)
}

/// What goes by way of other dtypes, and literals.
#[tensor_fn]
pub fn through(
    x: Tensor<f64, N>,
    n: Tensor<i64, N>,
    y: Tensor<f8e5m2, N>,
    k: usize,
) -> (Tensor<f8e5m2, N>, Tensor<f8e4m3fn, N>, Tensor<f8e4m3fn, N>, Tensor<f8e4m3fn, 4>, f8e4m3fn) {
    const LITERALS: Tensor<f8e4m3fn, 4> = [0.3, -1e9, 448.0, 2.0];
    (x as f8e5m2, n as f8e4m3fn, y as f8e4m3fn, LITERALS, k as f8e4m3fn)
}

/// Elements, a scalar and state of 4 bits; some of them choose in a table.
#[tensor_fn]
pub fn nibbles(codes: Tensor<u4, N>, table: Tensor<f32, 16>, by: i4, kept: &mut Tensor<i4, N>) -> Tensor<f32, N> {
    let scaled = compute([N], |n| table[[codes[[n]] as usize]] * (kept[[n]] as f32) * (by as f32));
    kept[[..]] = compute([N], |n| (kept[[n]] as i32 + by as i32) as i4);
    scaled
}

/// Elements are moved and chosen as they are.
#[tensor_fn]
pub fn moved(x: Tensor<f8e5m2, N>, keep: Tensor<bool, N>) -> Tensor<f8e5m2, { N + N + 1 }> {
    concat([select(keep, x, zeros::<f8e5m2>([N])), x, full::<f8e5m2>([1], 1.5)], axis = 0)
}

/// Functions of Rust take them too.
#[tensor_fn]
pub fn outside(x: Tensor<f32, 3>) -> (Tensor<i4, 3>, Tensor<f32, 3>) {
    let y: Tensor<f8e4m3fn, 3> = extern_call!(self::negated, x as f8e4m3fn);
    (x as i4, y as f32)
}

fn negated(x: &[tenfold::f8e4m3fn], y: &mut [tenfold::f8e4m3fn]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = tenfold::f8e4m3fn::from_f32(-x.to_f32());
    }
}
