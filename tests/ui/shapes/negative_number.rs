use tenfold::prelude::*;

#[tensor_fn(dims(K = -3))]
fn f(x: Tensor<f32, K>) -> Tensor<f32, 4> {
    zeros::<f32>([-4])
}

fn main() {}
