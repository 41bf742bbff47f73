use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, k: Tensor<i32, N>) -> Tensor<f32, N> {
    compute(|i| if x[[i]] > 0.0 { x[[i]] } else { k[[i]] })
}

fn main() {}
