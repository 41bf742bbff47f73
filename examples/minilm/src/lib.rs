//! A sentence encoder of BERT's kind, in the form of MiniLM: words and positions, layers of attention and of a dense
//! net, the mean over the words.
//!
//! [`encode()`] is written in the language, [`imported()`] comes from an ONNX file with the same weights. Their results
//! are the same but for rounding.
#![no_std]

use tenfold::prelude::*;

/// Words that a vocabulary has; [`encode()`] takes their numbers.
pub const WORDS: usize = 1024;
/// Words that a sentence has at most.
pub const LONGEST: usize = 32;
/// Numbers that stand for a sentence.
pub const D: usize = 128;

/// A sentence as a vector of length 1.
#[tensor_fn(dims(S >= 1, S <= 32))]
pub fn encode(words: Tensor<i32, S>) -> Tensor<f32, 128> {
    const WORD: Tensor<f32, 1024, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "words");
    const POSITION: Tensor<f32, 32, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "positions");
    // What each of the four layers has of its own is stacked along a first axis.
    const Q: Tensor<f32, 4, 128, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "query");
    const QB: Tensor<f32, 4, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "query.bias");
    const K: Tensor<f32, 4, 128, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "key");
    const KB: Tensor<f32, 4, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "key.bias");
    const V: Tensor<f32, 4, 128, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "value");
    const VB: Tensor<f32, 4, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "value.bias");
    const O: Tensor<f32, 4, 128, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "output");
    const OB: Tensor<f32, 4, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "output.bias");
    const UP: Tensor<f32, 4, 128, 512> = safetensors!("$OUT_DIR/minilm.safetensors", "inner.up");
    const UPB: Tensor<f32, 4, 512> = safetensors!("$OUT_DIR/minilm.safetensors", "inner.up.bias");
    const DOWN: Tensor<f32, 4, 512, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "inner.down");
    const DOWNB: Tensor<f32, 4, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "inner.down.bias");
    const NORM1: Tensor<f32, 4, 2, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "norm1");
    const NORM2: Tensor<f32, 4, 2, 128> = safetensors!("$OUT_DIR/minilm.safetensors", "norm2");

    let mut x = take(WORD, words, axis = 0) + POSITION[[..S, ..]];
    #[unroll]
    for l in 0..4 {
        let q = matmul(x, Q[[l, .., ..]]) + QB[[l, ..]];
        let k = matmul(x, K[[l, .., ..]]) + KB[[l, ..]];
        let v = matmul(x, V[[l, .., ..]]) + VB[[l, ..]];
        let a = matmul(self::attend(q, k, v), O[[l, .., ..]]) + OB[[l, ..]];
        x = self::norm(x + a, NORM1[[l, .., ..]]);
        let h = gelu(matmul(x, UP[[l, .., ..]]) + UPB[[l, ..]]);
        x = self::norm(x + matmul(h, DOWN[[l, .., ..]]) + DOWNB[[l, ..]], NORM2[[l, .., ..]]);
    }
    let m = mean(x, axis = 0);
    m / norm(m)
}

/// Attention of every word to every other, in four heads of 32 channels.
#[tensor_fn]
fn attend(q: Tensor<f32, S, 128>, k: Tensor<f32, S, 128>, v: Tensor<f32, S, 128>) -> Tensor<f32, S, 128> {
    let q = transpose(reshape(q, [S, 4, 32]), axes = [1, 0, 2]);
    let k = transpose(reshape(k, [S, 4, 32]), axes = [1, 2, 0]);
    let v = transpose(reshape(v, [S, 4, 32]), axes = [1, 0, 2]);
    let p = softmax(matmul(q, k) / sqrt(32.0), axis = -1);
    reshape(transpose(matmul(p, v), axes = [1, 0, 2]), [S, 128])
}

/// Layer normalisation; 1 is left out of the scale, which stands before the bias.
#[tensor_fn]
fn norm(x: Tensor<f32, S, 128>, w: Tensor<f32, 2, 128>) -> Tensor<f32, S, 128> {
    layer_normalization(x, w[[0, ..]] + 1.0, w[[1, ..]], axis = -1, epsilon = 1e-12)
}

/// The twin.
#[tensor_fn(onnx = "$OUT_DIR/minilm.onnx", dims(S >= 1, S <= 32))]
pub fn imported(words: Tensor<i32, S>) -> Tensor<f32, 128>;
