use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let mut most = 0.0;
    compute(|i| {
        most = maximum(most, x[[i]]);
        most
    })
}

fn main() {}
