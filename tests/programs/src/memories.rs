//! Workspaces that are split among memories, and the same functions with one memory.

use tenfold::prelude::*;

/// Three products, of which some lie in each memory.
#[tensor_fn(pool(dtcm = 128, psram = "8K"))]
pub fn divided(x: Tensor<f32, 4, 4>, w: Tensor<f32, 4, 16>) -> Tensor<f32, 4, 4> {
    let wide = matmul(x, w);
    let square = matmul(wide, transpose(wide));
    let fourth = matmul(square, square);
    matmul(fourth, square) + fourth
}

/// The same in one memory.
#[tensor_fn]
pub fn undivided(x: Tensor<f32, 4, 4>, w: Tensor<f32, 4, 16>) -> Tensor<f32, 4, 4> {
    let wide = matmul(x, w);
    let square = matmul(wide, transpose(wide));
    let fourth = matmul(square, square);
    matmul(fourth, square) + fourth
}

/// One that can fail, whose weights are read when the program runs.
#[tensor_fn(pool(axi_sram = "1K", psram = "64K"), dims(B <= 8), params(w))]
pub fn bounded(x: Tensor<f32, B, 16>, w: Tensor<f32, 16, 32>) -> Tensor<f32, B, B> {
    let hidden = relu(matmul(x, w));
    let square = matmul(hidden, transpose(hidden));
    let fourth = matmul(square, square);
    matmul(fourth, square) + fourth
}

/// The same in one memory.
#[tensor_fn(dims(B <= 8))]
pub fn bounded_whole(x: Tensor<f32, B, 16>, w: Tensor<f32, 16, 32>) -> Tensor<f32, B, B> {
    let hidden = relu(matmul(x, w));
    let square = matmul(hidden, transpose(hidden));
    let fourth = matmul(square, square);
    matmul(fourth, square) + fourth
}

/// Instances, each with sizes of its own.
#[tensor_fn(T = [f32, f64], pool(near = "256", far = "8K"))]
pub fn of_types<T>(x: Tensor<T, 8, 8>) -> Tensor<T, 8, 8> {
    let square = matmul(x, x);
    let fourth = matmul(square, square);
    matmul(fourth, square) + fourth
}
