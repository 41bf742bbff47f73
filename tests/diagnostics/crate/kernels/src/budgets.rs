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

/// Of scores there is a tile at a time, on the stack.
#[tensor_fn(stack <= "256")]
pub fn deep(q: Tensor<f32, 64, 32>, k: Tensor<f32, 32, 64>, v: Tensor<f32, 64, 32>) -> Tensor<f32, 64, 32> {
    matmul(softmax(matmul(q, k), axis = 1), v)
}
