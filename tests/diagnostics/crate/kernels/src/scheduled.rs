//! Schedules that cannot be applied.

use tenfold::prelude::*;

/// There is no such block.
#[tensor_fn]
#[schedule(|s| {
    let [i] = s.loops("double");
    s.parallel(i);
})]
pub fn no_block(x: Tensor<f32, N>) -> Tensor<f32, N> {
    compute(|i| x[[i]] * 2.0)
}

/// There is no such primitive.
#[tensor_fn]
#[schedule(|s| {
    let [i] = s.loops("no_primitive");
    s.paralel(i);
})]
pub fn no_primitive(x: Tensor<f32, N>) -> Tensor<f32, N> {
    compute(|i| x[[i]] * 2.0)
}

/// A sum that may be empty has no loop of its own.
#[tensor_fn]
#[schedule(|s| {
    let [i, k] = s.loops("parallel_sum");
    s.parallel(i);
    s.vectorize(k);
})]
pub fn parallel_sum(x: Tensor<f32, M, N>) -> Tensor<f32, M> {
    compute([M], |i| sum(0..N, |k| x[[i, k]]))
}

/// As many names as there are loops.
#[tensor_fn]
#[schedule(|s| {
    let [i] = s.loops("two_loops");
})]
pub fn two_loops(x: Tensor<f32, M, N>) -> Tensor<f32, M, N> {
    compute(|i, j| x[[i, j]] + 1.0)
}

/// A name that no step has bound, and a factor that is none.
#[tensor_fn]
#[schedule(|s| {
    s.unroll(i);
})]
pub fn no_name(x: Tensor<f32, 8>) -> Tensor<f32, 8> {
    compute(|i| x[[i]] + 1.0)
}

/// Factors that do not cover the loop.
#[tensor_fn]
#[schedule(|s| {
    let [i] = s.loops("too_few");
    let [io, ii] = s.split(i, [2, 3]);
})]
pub fn too_few(x: Tensor<f32, 8>) -> Tensor<f32, 8> {
    compute(|i| x[[i]] + 1.0)
}

/// A target that is none.
#[tensor_fn]
#[schedule(target = "x86", |s| {
    let [i] = s.loops("no_target");
    s.parallel(i);
})]
pub fn no_target(x: Tensor<f32, 8>) -> Tensor<f32, 8> {
    compute(|i| x[[i]] + 1.0)
}

/// Threads of a processor, on a device.
#[tensor_fn(targets("cpu", "spirv"))]
#[schedule(target = "spirv", |s| {
    let [i] = s.loops("on_device");
    s.parallel(i);
})]
pub fn on_device(x: Tensor<f32, 8>) -> Tensor<f32, 8> {
    compute(|i| x[[i]] + 1.0)
}
