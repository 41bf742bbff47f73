use tenfold::prelude::*;

const GAIN: f32 = 2.0;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x * GAIN
}

fn main() {}
