use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let a = zeros::<u33>([N]);
    let b = zeros::<4>([N]);
    let c = zeros::<f32, f64>([N]);
    x
}

fn main() {}
