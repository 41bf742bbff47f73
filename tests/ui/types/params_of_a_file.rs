use tenfold::prelude::*;

#[tensor_fn(params(w, weight, s, k, n, t, w, "b"))]
fn f(
    w: Tensor<f32, 4>,
    s: &mut Tensor<f32, 4>,
    k: f32,
    n: usize,
    t: Strided<f32, 4>,
) -> Tensor<f32, 4> {
    w * k + s + t + n as f32
}

#[tensor_fn(params(w = 3))]
fn g(w: Tensor<f32, 4>) -> Tensor<f32, 4> {
    w
}

#[tensor_fn(params)]
fn h(w: Tensor<f32, 4>) -> Tensor<f32, 4> {
    w
}

fn main() {}
