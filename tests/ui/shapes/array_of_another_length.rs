use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, 3>) -> Tensor<f32, 3> {
    const W: Tensor<f32, 3> = [1.0, 2.0];
    const V: Tensor<f32, 2, 2> = [1.0, 2.0];
    x * W
}

fn main() {}
