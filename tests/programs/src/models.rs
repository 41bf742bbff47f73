//! Functions whose bodies are models. `tests/models.rs` writes `data/net.onnx` from `data/net.txt`, and so on;
//! `data/conv.tflite` is one of `tests/tflite/cases`.

use tenfold::prelude::*;

/// A layer, and two more columns whose number of rows the model computes.
#[tensor_fn(onnx = "data/net.onnx", dims(B <= 8))]
pub fn net(x: Tensor<f32, B, 4>) -> Tensor<f32, B, 5>;

/// The same for one row: it cannot fail.
#[tensor_fn(onnx = "data/net.onnx")]
pub fn row(x: Tensor<f32, 1, 4>) -> Tensor<f32, 1, 5>;

/// Two of its initialisers are parameters, which the program reads when it runs; the third is linked.
#[tensor_fn(onnx = "data/net.onnx", params(w, bias = "b"), dims(N <= 8))]
pub fn loaded(w: Tensor<f32, 4, 3>, x: Tensor<f32, N, 4>, bias: Tensor<f32, 3>) -> Tensor<f32, N, 5>;

/// Such a model, called with weights that are computed.
#[tensor_fn]
pub fn reloaded(x: Tensor<f32, 1, 4>, w: Tensor<f32, 4, 3>) -> Tensor<f32, 1, 5> {
    self::loaded(w * 2.0, x, compute([3], |i| (i + 1) as f32))
}

/// A model called twice among operators, with a part of what it gives.
#[tensor_fn(dims(B <= 8))]
pub fn both(x: Tensor<f32, B, 4>) -> (Tensor<f32, B, 3>, f32) {
    let y = self::net(x * 2.0);
    (y[[.., ..3]], sum(self::row(compute([1, 4], |_, j| (j + 1) as f32))))
}

/// Places and values that data chooses: as much room as there can be, and a length for each axis that is open.
#[tensor_fn(onnx = "data/chosen.onnx", dims(B <= 8))]
pub fn chosen(x: Tensor<f32, B, 3>) -> (Tensor<i64, 2, { 3 * B }>, i64, Tensor<f32, { 3 * B }>, i64, f32);

/// A convolution of integers of 8 bits, of TFLite.
#[tensor_fn(tflite = "data/conv.tflite")]
pub fn conv(x: Tensor<i8, 1, 7, 5, 3>) -> Tensor<i8, 1, 7, 5, 4>;

/// Such a model among operators.
#[tensor_fn]
pub fn greatest(x: Tensor<i8, 1, 7, 5, 3>) -> Tensor<i8, 4> {
    max(self::conv(x), axis = [0, 1, 2])
}
