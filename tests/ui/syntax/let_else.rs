use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let y;
    let z = x else { x };
    fn g() {}
    x
}

fn main() {}
