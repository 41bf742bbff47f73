//! Weights as they are published: halves and bytes, split among files, in an archive of NumPy's. `reference.py` writes
//! them.

use tenfold::prelude::*;

/// Two layers; each constant is used as it lies in its file.
#[tensor_fn]
pub fn split(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 3> {
    const A: Tensor<f16, 4, 8> = safetensors!("data/split/model.safetensors.index.json", "a");
    const B: Tensor<bf16, 8> = safetensors!("data/split/model.safetensors.index.json", "b");
    const C: Tensor<i8, 8, 3> = npz!("data/split/rest.npz", "c");
    const SCALE: Tensor<f32, 3> = npz!("data/split/rest.npz", "layer/scale");
    matmul(relu(matmul(x, A as f32) + B as f32), C as f32) * SCALE
}

/// One of its constants, which the program has once, by another file and by another name.
#[tensor_fn]
pub fn first(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 8> {
    const WEIGHT: Tensor<f16, 4, 8> = safetensors!("data/split/model-00001-of-00002.safetensors", "a");
    matmul(x, WEIGHT as f32)
}
