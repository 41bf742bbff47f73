//! Constants that are not what they are written as.

use tenfold::prelude::*;

#[tensor_fn]
pub fn missing_file(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 2> {
    const W: Tensor<f32, 4, 2> = safetensors!("weights/digits.safetensor", "fc1.weight");
    matmul(x, W)
}

#[tensor_fn]
pub fn missing_directory(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 4> {
    const B: Tensor<f32, 4> = npy!("model/bias.npy");
    x + B
}

#[tensor_fn]
pub fn outside(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 4> {
    const B: Tensor<f32, 4> = npy!("../bias.npy");
    x + B
}

#[tensor_fn]
pub fn absolute(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 4> {
    const B: Tensor<f32, 4> = npy!("/bias.npy");
    x + B
}

#[tensor_fn]
pub fn another_format(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 4> {
    const B: Tensor<f32, 4> = safetensors!("weights/bias.npy", "bias");
    x + B
}

#[tensor_fn]
pub fn cut_short(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 4> {
    const B: Tensor<f32, 4> = npy!("weights/cut.npy");
    x + B
}

#[tensor_fn]
pub fn order_of_fortran(x: Tensor<f32, N, 2>) -> Tensor<f32, N, 2> {
    const W: Tensor<f32, 2, 2> = npy!("weights/fortran.npy");
    matmul(x, W)
}

#[tensor_fn]
pub fn complex_numbers(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 4> {
    const B: Tensor<f32, 4> = npy!("weights/complex.npy");
    x + B
}

#[tensor_fn]
pub fn wrong_tensor(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 2> {
    const W: Tensor<f32, 4, 2> = safetensors!("weights/digits.safetensors", "fc1.wieght");
    const B: Tensor<f32, 2> = safetensors!("weights/digits.safetensors", "offset");
    matmul(x, W) + B
}

#[tensor_fn]
pub fn split(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 2> {
    const W: Tensor<f32, 4, 3> = safetensors!("weights/split.index.json", "fc1.weight");
    const B: Tensor<f32, 2> = safetensors!("weights/split.index.json", "fc1.bias");
    const C: Tensor<f32, 2> = safetensors!("weights/split.index.json", "fc3.weight");
    matmul(x, W) + B + C
}

#[tensor_fn]
pub fn archive(x: Tensor<f32, 2, 3>) -> Tensor<f32, 2, 3> {
    const W: Tensor<f32, 2, 3> = npz!("weights/packed.npz", "w");
    const V: Tensor<f32, 2, 3> = npz!("weights/packed.npz", "v");
    const U: Tensor<f32, 2, 3> = npz!("weights/bias.npy", "u");
    x + W + V + U
}

#[tensor_fn]
pub fn not_made(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    const W: Tensor<f32, 4> = npy!("$OUT_DIR/none.npy");
    const V: Tensor<f32, 4> = npy!("$OUT_DIR/../none.npy");
    x + W + V
}

#[tensor_fn]
pub fn wrong_shape(x: Tensor<f32, N, 2>) -> Tensor<f32, N, 4> {
    const W: Tensor<f32, 2, 4> = safetensors!("weights/digits.safetensors", "fc1.weight");
    matmul(x, W)
}

#[tensor_fn]
pub fn wrong_rank(x: Tensor<f32, N, 8>) -> Tensor<f32, N, 8> {
    const W: Tensor<f32, 8> = safetensors!("weights/digits.safetensors", "fc1.weight");
    x * W
}

#[tensor_fn]
pub fn wrong_dtype(x: Tensor<f16, N, 4>) -> Tensor<f16, N, 4> {
    const B: Tensor<f16, 4> = npy!("weights/bias.npy");
    x + B
}

/// Three errors that have nothing to do with each other, in one run.
#[tensor_fn]
pub fn three(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 4> {
    const A: Tensor<f32, 4> = npy!("weights/scale.npy");
    const B: Tensor<f32, 5> = npy!("weights/bias.npy");
    compute(|n, i| x[[n, i + 1]] * A[[i]] + B[[i]])
}

#[tensor_fn(onnx = "weights/net.onnx")]
pub fn model_fits(x: Tensor<f32, B, 4>) -> Tensor<f32, B, 2>;

#[tensor_fn(onnx = "weights/net.onnx")]
pub fn model_of_another_input(x: Tensor<f32, B, 5>) -> Tensor<f32, B, 2>;

#[tensor_fn(onnx = "weights/net.onnx")]
pub fn model_of_another_dtype(x: Tensor<f16, B, 4>) -> Tensor<f32, B, 2>;

#[tensor_fn(onnx = "weights/net.onnx")]
pub fn model_of_another_result(x: Tensor<f32, B, 4>) -> Tensor<f32, B, 3>;

#[tensor_fn(onnx = "weights/net.onnx")]
pub fn model_with_two_inputs(x: Tensor<f32, B, 4>, y: f32) -> Tensor<f32, B, 2>;

#[tensor_fn(onnx = "weights/net.onnx")]
pub fn model_with_state(x: &mut Tensor<f32, B, 4>) -> Tensor<f32, B, 2>;

#[tensor_fn(onnx = "weights/net.onnx", params(v))]
pub fn model_of_an_unknown_weight(x: Tensor<f32, B, 4>, v: Tensor<f32, 4, 2>) -> Tensor<f32, B, 2>;

#[tensor_fn(onnx = "weights/net.onnx", params(w))]
pub fn model_of_another_weight(w: Tensor<f32, 4, 3>, x: Tensor<f32, B, 4>) -> Tensor<f32, B, 2>;

#[tensor_fn(onnx = "weights/net.onnx", params(w))]
pub fn model_of_a_weight_of_any_extent(x: Tensor<f32, B, 4>, w: Tensor<f32, K, 2>) -> Tensor<f32, B, 2>;

#[tensor_fn(onnx = "weights/shaped.onnx", params(s))]
pub fn model_of_a_weight_that_is_a_shape(x: Tensor<f32, 4>, s: Tensor<i64, 2>) -> Tensor<f32, 2, 2>;

#[tensor_fn(onnx = "weights/unknown.onnx")]
pub fn model_of_unknown_operators(x: Tensor<f32, 4>) -> Tensor<f32, 4>;

#[tensor_fn(onnx = "weights/bias.npy")]
pub fn no_model(x: Tensor<f32, 4>) -> Tensor<f32, 4>;

#[tensor_fn(tflite = "weights/net.tflite")]
pub fn no_tflite_model(x: Tensor<i8, 4>) -> Tensor<i8, 4>;

#[tensor_fn(tflite = "weights/relu.tflite")]
pub fn tflite_model_of_another_shape(x: Tensor<i8, 2, 127>) -> Tensor<i8, 2, 128>;

#[tensor_fn(tflite = "weights/relu.tflite")]
pub fn tflite_model_of_another_result(x: Tensor<i8, 2, 128>) -> Tensor<f32, 2, 128>;

#[tensor_fn(onnx = "weights/none.onnx")]
pub fn missing_model(x: Tensor<f32, 4>) -> Tensor<f32, 4>;
