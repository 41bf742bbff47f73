use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<u8, N>) -> Tensor<u8, N> {
    maximum(x, -1)
}

fn main() {}
