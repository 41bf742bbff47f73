use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, H, W>) -> Tensor<f32, H, W> {
    compute(|i, j| sum(0..3, |u| x[[i + u - 1, j]]))
}

fn main() {}
