use tenfold::prelude::*;

#[tensor_fn(dims(K = 8))]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x
}

fn main() {}
