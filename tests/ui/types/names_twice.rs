use tenfold::prelude::*;

#[tensor_fn(dims(N = 8))]
fn f(x: Tensor<f32, N>, x: Tensor<f32, N>, N: usize) -> Tensor<f32, N> {
    const N: f32 = 3.0;
    let N = x;
    x
}

fn main() {}
