use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    compute(|i| if x[[i]] { 1.0 } else { 0.0 })
}

fn main() {}
