//! Functions that need more than they may use.

use tenfold::prelude::*;

#[tensor_fn(workspace <= "16K")]
pub fn workspace(x: Tensor<f32, 64, 64>, w: Tensor<f32, 64, 64>) -> Tensor<f32, 64, 64> {
    let hidden = relu(matmul(x, w));
    let deeper = matmul(hidden, w);
    matmul(deeper, hidden)
}

#[tensor_fn(dims(B <= 32), workspace <= "1K")]
pub fn bounded(x: Tensor<f32, B, 64>, w: Tensor<f32, 64, 64>) -> Tensor<f32, B, 64> {
    let hidden = relu(matmul(x, w));
    matmul(hidden, w)
}

#[tensor_fn(workspace <= "64K")]
pub fn no_bound(x: Tensor<f32, B, 64>, w: Tensor<f32, 64, 64>) -> Tensor<f32, B, 64> {
    let hidden = relu(matmul(x, w));
    matmul(hidden, w)
}

#[tensor_fn(weights <= 40)]
pub fn weights(x: Tensor<f32, N, 4>) -> Tensor<f32, N, 2> {
    const W: Tensor<f32, 4, 2> = safetensors!("weights/digits.safetensors", "fc1.weight");
    const B: Tensor<f32, 4> = npy!("weights/bias.npy");
    matmul(x + B, W)
}

#[tensor_fn(stack <= 0)]
pub fn stack(x: Tensor<f32, N, 8>) -> Tensor<f32, N, 8> {
    softmax(x, axis = -1)
}

#[tensor_fn(pool(dtcm = "16K", psram = "12K"))]
pub fn pools(x: Tensor<f32, 64, 64>, w: Tensor<f32, 64, 64>) -> Tensor<f32, 64, 64> {
    let hidden = relu(matmul(x, w));
    let deeper = matmul(hidden, w);
    matmul(deeper, hidden)
}
