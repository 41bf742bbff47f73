use tenfold::prelude::*;

#[tensor_fn]
fn f<'a, T: Copy>(x: Tensor<f32, N>) -> Tensor<f32, N>
where
    T: Copy,
{
    x
}

fn main() {}
