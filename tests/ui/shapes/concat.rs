use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, B, 8>, y: Tensor<f32, B, 7>) -> Tensor<f32, { B + B }, 8> {
    concat([x, y], axis = 0)
}

fn main() {}
