use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, k: i32) -> Tensor<f32, 4> {
    x[[k..k + 4]]
}

fn main() {}
