use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, 4> {
    compute(|i| x.get_clamped([i]))
}

fn main() {}
