use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    compute(|i| if i >= 0 { x[[i - 1]] } else { 0.0 })
}

fn main() {}
