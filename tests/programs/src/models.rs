//! Functions whose bodies are ONNX models. `tests/models.rs` writes `data/net.onnx` from `data/net.txt`.

use tenfold::prelude::*;

/// A layer, and two more columns whose number of rows the model computes.
#[tensor_fn(onnx = "data/net.onnx", dims(B <= 8))]
pub fn net(x: Tensor<f32, B, 4>) -> Tensor<f32, B, 5>;

/// The same for one row: it cannot fail.
#[tensor_fn(onnx = "data/net.onnx")]
pub fn row(x: Tensor<f32, 1, 4>) -> Tensor<f32, 1, 5>;

/// A model called twice among operators, with a part of what it gives.
#[tensor_fn(dims(B <= 8))]
pub fn both(x: Tensor<f32, B, 4>) -> (Tensor<f32, B, 3>, f32) {
    let y = self::net(x * 2.0);
    (y[[.., ..3]], sum(self::row(compute([1, 4], |_, j| (j + 1) as f32))))
}
