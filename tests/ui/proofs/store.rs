use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, k: Tensor<i32, M>) -> Tensor<f32, N> {
    let mut y = x;
    for i in 0..M {
        y[[k[[i]]]] += 1.0;
    }
    y
}

fn main() {}
