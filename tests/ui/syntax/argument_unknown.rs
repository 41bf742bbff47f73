use tenfold::prelude::*;

#[tensor_fn(dim(K = 8), fast, workspce <= "64K")]
fn f(x: Tensor<f32, K>) -> Tensor<f32, K> {
    x
}

fn main() {}
