use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, k: Tensor<i32, M>) -> Tensor<f32, M> {
    compute(|i| x.get_unchecked([k[[i]]]))
}

fn main() {}
