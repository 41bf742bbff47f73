use tenfold::prelude::*;

#[tensor_fn(T = [f32, f64, f32], K = [3, 0x3])]
fn f<T, const K: usize>(x: Tensor<T, K>) -> Tensor<T, K> {
    x
}

fn main() {}
