use tenfold::prelude::*;

#[tensor_fn(T = [f32, f16])]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x
}

fn main() {}
