use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    println!("{x}");
    let v = vec![1.0, 2.0];
    x
}

fn main() {}
