//! The tensor function: from images to digits.

use tenfold::prelude::*;

/// How likely each image shows each digit: two convolutions of 16 channels, pooling, a dense layer.
///
/// An image is 8 rows of 8 values from 0 to 16.
#[tensor_fn(dims(B <= 64), targets("cpu", "nvptx:sm_80", "nvptx:sm_90a", "spirv"))]
pub(crate) fn digit(images: Tensor<f32, B, 64>) -> Tensor<f32, B, 10> {
    const K1: Tensor<f32, 16, 1, 3, 3> = safetensors!("weights/vision.safetensors", "conv1.weight");
    const B1: Tensor<f32, 16> = safetensors!("weights/vision.safetensors", "conv1.bias");
    const K2: Tensor<f32, 16, 16, 3, 3> = safetensors!("weights/vision.safetensors", "conv2.weight");
    const B2: Tensor<f32, 16> = safetensors!("weights/vision.safetensors", "conv2.bias");
    const W: Tensor<f32, 256, 10> = safetensors!("weights/vision.safetensors", "fc.weight");
    const B3: Tensor<f32, 10> = safetensors!("weights/vision.safetensors", "fc.bias");
    let first = relu(conv(reshape(images / 16.0, [B, 1, 8, 8]), K1, B1, pads = [1, 1, 1, 1]));
    let second = relu(conv(first, K2, B2, pads = [1, 1, 1, 1]));
    let pooled = max_pool(second, kernel_shape = [2, 2], strides = [2, 2]);
    softmax(matmul(reshape(pooled, [B, 256]), W) + B3, axis = -1)
}
