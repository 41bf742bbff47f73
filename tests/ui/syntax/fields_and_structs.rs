use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let n = x.shape;
    let pair = (x, x);
    let p = Point { x: 1.0 };
    pair.0
}

fn main() {}
