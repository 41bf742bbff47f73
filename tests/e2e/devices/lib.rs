//! Functions for the processor, for Vulkan and for CUDA, with every kind of parameter.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]
use tenfold::prelude::*;

/// Two layers with constants of the binary.
#[tensor_fn(dims(B <= 64), targets("cpu", "nvptx -mcpu=sm_90a", "nvptx -mcpu=sm_80", "spirv -vulkan=1.1"))]
pub fn classify(x: Tensor<f32, B, 16>) -> Tensor<f32, B, 8> {
    const W: Tensor<f32, 16, 32> = reshape(hann_window(512), [16, 32]);
    const V: Tensor<f32, 32, 8> = reshape(hann_window(256), [32, 8]);
    softmax(matmul(relu(matmul(x, W) - 0.5), V), axis = -1)
}

/// A function whose kernels and program are those of [`other`]'s, with another constant.
pub mod one {
    use tenfold::prelude::*;

    /// Adds its window.
    #[tensor_fn(targets("cpu", "spirv", "nvptx:sm_80", "nvptx:sm_90a"))]
    pub fn windowed(x: Tensor<f32, 512>) -> Tensor<f32, 512> {
        const W: Tensor<f32, 512> = hann_window(512);
        x + W
    }
}

/// The same name and shapes.
pub mod other {
    use tenfold::prelude::*;

    /// Adds its window.
    #[tensor_fn(targets("cpu", "spirv", "nvptx:sm_80", "nvptx:sm_90a"))]
    pub fn windowed(x: Tensor<f32, 512>) -> Tensor<f32, 512> {
        const W: Tensor<f32, 512> = hamming_window(512);
        x + W
    }
}

/// Strides, an index value, scalars, state, a fact, a check, two results.
#[tensor_fn(targets("cpu", "spirv", "nvptx:sm_80", "nvptx:sm_90a"))]
pub fn step(
    x: Strided<f32, N, D>,
    pos: usize,
    scale: f32,
    shift: i8,
    sums: &mut Tensor<f32, N>,
) -> (Tensor<f32, N, D>, Tensor<i32, D>) {
    assert!(pos < N, "the row is past the end");
    sums[[..]] = sums + sum(x, axis = 1);
    let picked = compute([D], |d| x[[pos, d]] * scale);
    (x * scale, picked as i32 + shift as i32)
}

/// All extents are fixed; the result is one number.
#[tensor_fn(numerics = "strict", targets("spirv", "nvptx:sm_80", "cpu"), T = [f32, i32])]
pub fn total<T>(x: Tensor<T, 8>) -> T {
    sum(x)
}

/// A tile for each multiprocessor of the largest `sm_90a`, each with more shared memory than every kernel has.
#[tensor_fn(targets("cpu", "nvptx:sm_80", "nvptx:sm_90a"))]
pub fn products(x: Tensor<bf16, 132, 65, 64>, w: Tensor<bf16, 132, 64, 128>) -> Tensor<bf16, 132, 65, 128> {
    matmul(x, w)
}

/// Its threads are those that its schedules say, 40 a group or 8 by 5; sums along rows get theirs from the compiler.
#[tensor_fn(targets("cpu", "spirv", "nvptx:sm_80"))]
#[schedule(target = "nvptx", |s| {
    let [i, j] = s.loops("y");
    s.bind(i, "blockIdx.x");
    s.bind(j, "threadIdx.x");
})]
#[schedule(target = "spirv", |s| {
    let [i, j] = s.loops("y");
    let [jo, ji] = s.split(j, [8, 5]);
    s.bind(i, "blockIdx.y");
    s.bind(jo, "threadIdx.y");
    s.bind(ji, "threadIdx.x");
})]
pub fn scheduled(x: Tensor<f32, N, 40>) -> (Tensor<f32, N, 40>, Tensor<f32, N>) {
    let y = compute([N, 40], |i, j| x[[i, j]] * 3.0 + x[[i, 39 - j]]);
    (y, sum(y, axis = 1))
}

/// For the processor alone.
#[tensor_fn]
pub fn here(x: Tensor<f32, 8>) -> Tensor<f32, 8> {
    x + 1.0
}
