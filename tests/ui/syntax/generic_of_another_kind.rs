use tenfold::prelude::*;

#[tensor_fn(T = [f32, 3], K = [f16])]
fn f<T, const K: usize>(x: Tensor<T, K>) -> Tensor<T, K> {
    x
}

fn main() {}
