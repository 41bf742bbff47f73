use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> usize {
    N
}

fn main() {}
