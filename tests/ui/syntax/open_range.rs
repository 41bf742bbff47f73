use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> f32 {
    sum(0.., |i| x[[i]])
}

fn main() {}
