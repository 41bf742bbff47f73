use tenfold::prelude::*;

#[tensor_fn]
fn f<T, const K: usize>(x: Tensor<T, K>) -> Tensor<T, K> {
    x
}

fn main() {}
