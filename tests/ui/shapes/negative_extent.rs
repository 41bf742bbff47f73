use tenfold::prelude::*;

#[tensor_fn(dims(K = 3))]
fn f(x: Tensor<f32, N>, y: Tensor<f32, { K - 4 }>) -> Tensor<f32, N> {
    let z = zeros::<f32>([N - 1]);
    x
}

fn main() {}
