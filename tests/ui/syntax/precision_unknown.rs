use tenfold::prelude::*;

#[tensor_fn(precision = "bf8")]
fn f(x: Tensor<f32, 4, 4>) -> Tensor<f32, 4, 4> {
    matmul(x, x)
}

fn main() {}
