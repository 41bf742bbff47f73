use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<u8, N>, y: Tensor<i8, N>) -> (Tensor<u8, N>, Tensor<i8, N>) {
    (x + 256, y - 129)
}

fn main() {}
