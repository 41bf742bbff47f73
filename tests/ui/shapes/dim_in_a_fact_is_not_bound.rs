use tenfold::prelude::*;

#[tensor_fn(dims(Bacth <= 64))]
fn f(x: Tensor<f32, Batch>) -> Tensor<f32, Batch> {
    x
}

fn main() {}
