//! The tensor functions. `train.py` writes the weights that they name.
//!
//! An image is a row of 64 values from 0 to 16; a result row holds the probability of each digit.

use tenfold::prelude::*;

/// A hidden layer of 128 units.
#[tensor_fn(dims(B <= 16))]
pub fn mlp(x: Tensor<f32, B, 64>) -> Tensor<f32, B, 10> {
    const W1: Tensor<f32, 64, 128> = safetensors!("weights/digits.safetensors", "mlp.fc1.weight");
    const B1: Tensor<f32, 128> = safetensors!("weights/digits.safetensors", "mlp.fc1.bias");
    const W2: Tensor<f32, 128, 10> = safetensors!("weights/digits.safetensors", "mlp.fc2.weight");
    const B2: Tensor<f32, 10> = safetensors!("weights/digits.safetensors", "mlp.fc2.bias");
    let hidden = relu(matmul(x / 16.0, W1) + B1);
    softmax(matmul(hidden, W2) + B2, axis = -1)
}

/// Two convolutions of 16 channels, pooling, a dense layer.
#[tensor_fn(dims(B <= 16))]
pub fn cnn(x: Tensor<f32, B, 64>) -> Tensor<f32, B, 10> {
    const K1: Tensor<f32, 16, 1, 3, 3> = safetensors!("weights/digits.safetensors", "cnn.conv1.weight");
    const B1: Tensor<f32, 16> = safetensors!("weights/digits.safetensors", "cnn.conv1.bias");
    const K2: Tensor<f32, 16, 16, 3, 3> = safetensors!("weights/digits.safetensors", "cnn.conv2.weight");
    const B2: Tensor<f32, 16> = safetensors!("weights/digits.safetensors", "cnn.conv2.bias");
    const W: Tensor<f32, 256, 10> = safetensors!("weights/digits.safetensors", "cnn.fc.weight");
    const B3: Tensor<f32, 10> = safetensors!("weights/digits.safetensors", "cnn.fc.bias");
    let image = reshape(x / 16.0, [B, 1, 8, 8]);
    let first = relu(conv(image, K1, B1, pads = [1, 1, 1, 1]));
    let second = relu(conv(first, K2, B2, pads = [1, 1, 1, 1]));
    let pooled = max_pool(second, kernel_shape = [2, 2], strides = [2, 2]);
    softmax(matmul(reshape(pooled, [B, 256]), W) + B3, axis = -1)
}
