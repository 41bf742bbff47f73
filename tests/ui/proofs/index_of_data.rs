use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, k: Tensor<i32, M>, b: Tensor<u8, M>) -> Tensor<f32, M> {
    compute(|i| x[[k[[i]]]] + x[[b[[i]]]])
}

fn main() {}
