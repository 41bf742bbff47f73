use tenfold::prelude::*;

#[tensor_fn]
#[schedule(|s, t| s.parallel(i))]
#[schedule(parallel)]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x
}

fn main() {}
