use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const A: Tensor<f32, 4> = include_bytes!("a.bin");
    const B: Tensor<f32, 4> = npy!(name);
    const C: Tensor<f32, 4> = safetensors!("a.safetensors");
    x
}

fn main() {}
