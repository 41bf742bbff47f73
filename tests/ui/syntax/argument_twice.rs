use tenfold::prelude::*;

#[tensor_fn(workspace <= "64K", workspace <= "32K")]
fn f(x: Tensor<f32, N, 8>) -> Tensor<f32, N, 8> {
    softmax(x, axis = -1, axis = 0)
}

fn main() {}
