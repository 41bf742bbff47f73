use tenfold::prelude::*;

#[tensor_fn(workspace <= "64KB", weights <= "1.5M", stack <= "2 K")]
fn f(x: Tensor<f32, K>) -> Tensor<f32, K> {
    x
}

fn main() {}
