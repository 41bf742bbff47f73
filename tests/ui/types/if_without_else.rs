use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    compute(|i| {
        let y = x[[i]];
        if y > 0.0 {
            y
        }
    })
}

fn main() {}
