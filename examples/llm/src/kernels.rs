//! The model: a step for each token, and the choice of the next one.
//!
//! Two layers of 64 channels; four heads of 16 channels read two groups of keys and values, which are kept for 128
//! positions. `train.py` finds the weights.

use tenfold::prelude::*;

/// The scores of what may follow on `token`, which stands at `position`. Keys and values of the positions before it
/// are in the cache, where those of this one are added.
#[tensor_fn(
    dims(L = 2, V = 63, D = 64, H = 4, G = 2, C = 16, F = 160, S = 128),
    params(
        embedding,
        norm1 = "attention.norm",
        query = "attention.query",
        key = "attention.key",
        value = "attention.value",
        output = "attention.output",
        norm2 = "net.norm",
        gate = "net.gate",
        up = "net.up",
        down = "net.down",
        norm3 = "norm",
        scores = "output",
    )
)]
pub fn step(
    embedding: Tensor<f32, V, D>,
    norm1: Tensor<f32, L, D>,
    query: Tensor<f32, L, D, { H * C }>,
    key: Tensor<f32, L, D, { G * C }>,
    value: Tensor<f32, L, D, { G * C }>,
    output: Tensor<f32, L, { H * C }, D>,
    norm2: Tensor<f32, L, D>,
    gate: Tensor<f32, L, D, F>,
    up: Tensor<f32, L, D, F>,
    down: Tensor<f32, L, F, D>,
    norm3: Tensor<f32, D>,
    scores: Tensor<f32, D, V>,
    token: usize,
    position: usize,
    keys: &mut Tensor<f32, L, G, S, C>,
    values: &mut Tensor<f32, L, G, S, C>,
) -> Tensor<f32, V> {
    assert!(token < V, "there is no such token");
    assert!(position < S, "the cache is full");
    let mut x = embedding[[token, ..]];
    #[unroll]
    for l in 0..2 {
        let h = self::rms(x, norm1[[l, ..]]);
        let q = self::rotate(reshape(matmul(h, query[[l, .., ..]]), [H, C]), position);
        let k = self::rotate(reshape(matmul(h, key[[l, .., ..]]), [G, C]), position);
        let v = reshape(matmul(h, value[[l, .., ..]]), [G, C]);
        (keys[[l, .., position, ..]], values[[l, .., position, ..]]) = (k, v);
        // head h reads group h / 2, at this position and all before it
        let dot = compute([H, position + 1], |h, t| sum(0..C, |c| q[[h, c]] * keys[[l, h / (H / G), t, c]]));
        let p = softmax(dot / sqrt(C as f32), axis = -1);
        let a = compute([H, C], |h, c| sum(0..position + 1, |t| p[[h, t]] * values[[l, h / (H / G), t, c]]));
        x = x + matmul(reshape(a, [H * C]), output[[l, .., ..]]);
        let h = self::rms(x, norm2[[l, ..]]);
        x = x + matmul(silu(matmul(h, gate[[l, .., ..]])) * matmul(h, up[[l, .., ..]]), down[[l, .., ..]]);
    }
    matmul(self::rms(x, norm3), scores)
}

/// Root mean square normalisation.
#[tensor_fn]
fn rms(x: Tensor<f32, D>, scale: Tensor<f32, D>) -> Tensor<f32, D> {
    rms_normalization(x, scale, axis = -1, epsilon = 1e-5)
}

/// Rotary positions: turns channel c and channel c + 8 of each head as a pair, by an angle that grows with the
/// position, the slower the higher c.
#[tensor_fn]
fn rotate(x: Tensor<f32, N, 16>, position: usize) -> Tensor<f32, N, 16> {
    compute(|n, c| {
        let angle = position as f32 / power(10000.0, (c % 8) as f32 / 8.0);
        let other = if c < 8 { -x[[n, c + 8]] } else { x[[n, c - 8]] };
        x[[n, c]] * cos(angle) + other * sin(angle)
    })
}

/// Draws one of the eight likeliest tokens. The lower the temperature, the likelier the first; each seed draws anew.
#[tensor_fn]
pub fn sample(scores: Tensor<f32, 63>, temperature: f32, seed: u64) -> i64 {
    let (best, token) = top_k(scores, k = 8);
    // the greatest of scores with such noise is drawn with the probabilities of a softmax (Gumbel)
    let noise = -log(-log(random_uniform(seed, [8])));
    token[[argmax(best / maximum(temperature, 1e-6) + noise, axis = 0)]]
}
