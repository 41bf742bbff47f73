use tenfold::prelude::*;

#[tensor_fn]
fn f(image: Tensor<f32, N>) -> Tensor<f32, N> {
    imgae * 2.0
}

fn main() {}
