use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let mut y = x;
    for i in 0..N {
        y[[i + 1]] = x[[i]];
    }
    y
}

fn main() {}
