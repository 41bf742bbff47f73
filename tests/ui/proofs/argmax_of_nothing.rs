use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> i64 {
    argmax(0..N, |i| x[[i]]) as i64
}

fn main() {}
