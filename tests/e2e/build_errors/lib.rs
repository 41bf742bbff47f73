//! Functions with errors that the item alone does not show.
use tenfold::prelude::*;

#[tensor_fn]
pub fn missing_file(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = npy!("weights/fuor.npy");
    x + W
}

#[tensor_fn]
pub fn missing_directory(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = npy!("data/four.npy");
    x + W
}

#[tensor_fn]
pub fn outside(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = npy!("../four.npy");
    x + W
}

#[tensor_fn]
pub fn absolute(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = npy!("/etc/passwd");
    x + W
}

#[tensor_fn]
pub fn directory(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = npy!("weights");
    x + W
}

#[tensor_fn]
pub fn missing_tensor(x: Tensor<f32, 4>) -> Tensor<f32, 2> {
    const W: Tensor<f32, 4, 2> = safetensors!("weights/w.safetensors", "fc1.wieght");
    matmul(x, W)
}

#[tensor_fn]
pub fn unlike_any_tensor(x: Tensor<f32, 4>) -> Tensor<f32, 2> {
    const W: Tensor<f32, 4, 2> = safetensors!("weights/w.safetensors", "decoder");
    matmul(x, W)
}

#[tensor_fn]
pub fn wrong_shape(x: Tensor<f32, 4>) -> Tensor<f32, 3> {
    const W: Tensor<f32, 4, 3> = safetensors!("weights/w.safetensors", "fc1.weight");
    matmul(x, W)
}

#[tensor_fn]
pub fn wrong_rank(x: Tensor<f32, 8>) -> Tensor<f32, 8> {
    const W: Tensor<f32, 8> = safetensors!("weights/w.safetensors", "fc1.weight");
    x + W
}

#[tensor_fn]
pub fn wrong_dtype(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = safetensors!("weights/w.safetensors", "steps");
    x + W
}

#[tensor_fn]
pub fn cut_short(x: Tensor<f32, 4>) -> Tensor<f32, 2> {
    const W: Tensor<f32, 4, 2> = safetensors!("weights/cut.safetensors", "steps");
    matmul(x, W)
}

#[tensor_fn]
pub fn not_safetensors(x: Tensor<f32, 4>) -> Tensor<f32, 2> {
    const W: Tensor<f32, 4, 2> = safetensors!("weights/not.safetensors", "fc1.weight");
    matmul(x, W)
}

#[tensor_fn]
pub fn npy_of_another_shape(x: Tensor<f32, 5>) -> Tensor<f32, 5> {
    const W: Tensor<f32, 5> = npy!("weights/four.npy");
    x + W
}

#[tensor_fn]
pub fn npy_cut_short(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = npy!("weights/short.npy");
    x + W
}

#[tensor_fn]
pub fn npy_big_endian(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = npy!("weights/big_endian.npy");
    x + W
}

#[tensor_fn]
pub fn npy_fortran(x: Tensor<f32, 2, 2>) -> Tensor<f32, 2, 2> {
    const W: Tensor<f32, 2, 2> = npy!("weights/fortran.npy");
    x + W
}

#[tensor_fn]
pub fn npy_complex(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = npy!("weights/complex.npy");
    x + W
}

#[tensor_fn]
pub fn no_npy(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = npy!("weights/text.npy");
    x + W
}

#[tensor_fn(workspace <= "1K")]
pub fn over_budget(x: Tensor<f32, 32, 32>) -> Tensor<f32, 32, 32> {
    let first = matmul(x, x);
    let second = matmul(first, x);
    matmul(first, second) + first
}

#[tensor_fn(weights <= "16")]
pub fn heavy(x: Tensor<f32, 4>) -> Tensor<f32, 2> {
    const W: Tensor<f32, 4, 2> = safetensors!("weights/w.safetensors", "fc1.weight");
    matmul(x, W)
}

/// A model, whose constants have the names that its file gives.
#[tensor_fn(tflite = "weights/speech.tflite", weights <= "16K")]
pub fn speech(x: Tensor<i8, 1, 1960>) -> Tensor<i8, 1, 4>;

/// Takes four.
#[tensor_fn]
pub fn takes_four(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    x + 1.0
}

#[tensor_fn]
pub fn calls_with_five(x: Tensor<f32, 5>) -> Tensor<f32, 4> {
    self::takes_four(x)
}

#[tensor_fn]
pub fn calls_with_another_dtype(x: Tensor<f64, 4>) -> Tensor<f32, 4> {
    crate::takes_four(x)
}

#[tensor_fn]
pub fn calls_with_too_many(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    crate::takes_four(x, x)
}

#[tensor_fn]
pub fn calls_nothing(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    crate::takes_fuor(x)
}

#[tensor_fn]
pub fn calls_itself(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    self::calls_itself(x) + 1.0
}

/// Two errors at once, and one of the item itself.
#[tensor_fn]
pub fn three(x: Tensor<f32, 4>, y: Tensor<f32, 5>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = npy!("weights/none.npy");
    let z = self::takes_four(y);
    x + W + z + nonsense(x)
}

/// Uses them all, and has no error of its own.
pub fn uses() -> [f32; 4] {
    let x = takes_four(&missing_file(&[1.0; 4]));
    calls_itself(&calls_nothing(&x)).into()
}
