//! Functions whose bodies are ONNX models. `tests/models.rs` writes `data/net.onnx` from `data/net.txt`.

use tenfold::prelude::*;

/// A layer, and two more columns whose number of rows the model computes.
#[tensor_fn(onnx = "data/net.onnx", dims(B <= 8))]
pub fn net(x: Tensor<f32, B, 4>) -> Tensor<f32, B, 5>;

/// The same for one row: it cannot fail.
#[tensor_fn(onnx = "data/net.onnx")]
pub fn row(x: Tensor<f32, 1, 4>) -> Tensor<f32, 1, 5>;
