use tenfold::prelude::*;

#[tensor_fn(dims(K = 8, K = 9, K >= 10))]
fn f(x: Tensor<f32, K>) -> Tensor<f32, K> {
    x
}

fn main() {}
