use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    #[allow(unused)]
    let y = x * 2.0;
    #[unroll]
    let z = x;
    x
}

fn main() {}
