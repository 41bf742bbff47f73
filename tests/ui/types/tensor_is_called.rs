use tenfold::prelude::*;

#[tensor_fn]
fn f(relu: Tensor<f32, N>) -> Tensor<f32, N> {
    relu(relu)
}

fn main() {}
