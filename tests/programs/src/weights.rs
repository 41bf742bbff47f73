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

/// The same with weights that are read when the program runs.
#[tensor_fn(params(a, b, c, scale = "layer/scale"), dims(H >= 1))]
pub fn loaded(
    a: Tensor<f16, 4, H>,
    x: Tensor<f32, N, 4>,
    b: Tensor<bf16, H>,
    c: Tensor<i8, H, 3>,
    scale: Tensor<f32, 3>,
) -> Tensor<f32, N, 3> {
    matmul(relu(matmul(x, a as f32) + b as f32), c as f32) * scale
}

/// A function that cannot fail, with weights, state and a scalar.
#[tensor_fn(params(gain))]
pub fn running(x: Tensor<f32, 3>, gain: Tensor<f32, 3>, by: f32, total: &mut Tensor<f32, 3>) -> Tensor<f32, 3> {
    total[[..]] = total + x * gain * by;
    total + 0.0
}

/// Each instance has weights of its own.
#[tensor_fn(T = [f32, i8], params(gain))]
pub fn scaled<T>(x: Tensor<T, 2>, gain: Tensor<T, 2>) -> Tensor<T, 2> {
    x * gain
}

/// One of its constants, which the program has once, by another file and by another name.
#[tensor_fn]
pub fn first(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 8> {
    const WEIGHT: Tensor<f16, 4, 8> = safetensors!("data/split/model-00001-of-00002.safetensors", "a");
    matmul(x, WEIGHT as f32)
}
