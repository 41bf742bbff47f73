use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N, 8>) -> Tensor<i32, N> {
    argmax(x, axis = -1)
}

fn main() {}
