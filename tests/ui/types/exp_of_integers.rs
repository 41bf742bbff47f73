use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<i32, N>) -> Tensor<i32, N> {
    exp(x)
}

fn main() {}
