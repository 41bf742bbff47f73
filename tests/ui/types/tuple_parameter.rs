use tenfold::prelude::*;

#[tensor_fn]
fn f(pair: (Tensor<f32, N>, Tensor<f32, N>), s: &mut Strided<f32, N>) -> Strided<f32, N> {
    pair
}

fn main() {}
