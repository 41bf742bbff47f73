//! What a device does not take, at the place of it.

use tenfold::prelude::*;

#[tensor_fn(targets("cpu", "spirv"))]
pub fn many(
    a: Tensor<f32, A>,
    b: Tensor<f32, B>,
    c: Tensor<f32, C>,
    d: Tensor<f32, D>,
    e: Tensor<f32, E>,
    f: Tensor<f32, F>,
    g: Tensor<f32, G>,
    h: Tensor<f32, H>,
    i: Tensor<f32, I>,
    j: Tensor<f32, J>,
    k: Tensor<f32, K>,
    l: Tensor<f32, L>,
    m: Tensor<f32, M>,
    n: Tensor<f32, N>,
    o: Tensor<f32, O>,
    p: Tensor<f32, P>,
    q: Tensor<f32, Q>,
) -> Tensor<f32, { A + B + C + D + E + F + G + H + I + J + K + L + M + N + O + P + Q }> {
    let y = concat([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q], axis = 0);
    y + 1.0
}

#[tensor_fn(targets("cpu", "nvptx:sm_90"))]
pub fn chips(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x * 2.0
}

#[tensor_fn(targets("cpu", "nvptx:sm_80", "spirv"))]
pub fn turns(x: Tensor<f32, 4>, n: usize) -> Tensor<f32, 4> {
    let mut y = x;
    for i in 0..n {
        y = softmax(y * (i as f32), axis = 0);
    }
    y
}
