use tenfold::prelude::*;

#[tensor_fn]
fn f(s: &mut Tensor<f32, N>) {
    relu(s) = 1.0;
    s[[0]][[1]] = 2.0;
}

fn main() {}
