//! Fifteen programs that use every rule of the language, and the functions they call, as a user writes them.
//! `tests/numpy.rs` compares them with NumPy; the tests of the front end read this file too.

use tenfold::prelude::*;

/// Layer normalisation.
#[tensor_fn]
pub fn norm(x: Tensor<f32, N, D>, gamma: Tensor<f32, D>, beta: Tensor<f32, D>, eps: f32) -> Tensor<f32, N, D> {
    let d = x - mean(x, axis = -1, keepdims = true);
    d * rsqrt(mean(square(d), axis = -1, keepdims = true) + eps) * gamma + beta
}

/// A decoding step of grouped-query attention over a KV cache.
#[tensor_fn(dims(H = 8, G = 4, S = 2048, D = 64))]
pub fn attend(
    q: Tensor<f32, H, D>,
    k: Tensor<f32, G, D>,
    v: Tensor<f32, G, D>,
    pos: usize,
    keys: &mut Tensor<f32, G, S, D>,
    values: &mut Tensor<f32, G, S, D>,
) -> Tensor<f32, H, D> {
    assert!(pos < S, "the cache is full");
    (keys[[.., pos, ..]], values[[.., pos, ..]]) = (k, v);
    let dot = compute([H, pos + 1], |h, t| sum(0..D, |d| q[[h, d]] * keys[[h / (H / G), t, d]]));
    let p = softmax(dot / sqrt(D as f32), axis = -1);
    compute(|h, d| sum(0..pos + 1, |t| p[[h, t]] * values[[h / (H / G), t, d]]))
}

/// Bilateral filter, two sums in one pass.
#[tensor_fn]
pub fn bilateral(x: Tensor<f32, H, W>, sigma: f32) -> Tensor<f32, H, W> {
    const G: Tensor<f32, 5> = [0.135, 0.607, 1.0, 0.607, 0.135];
    compute(|i, j| {
        let (num, den) = sum(0..5, 0..5, |u, v| {
            let p = x.get_clamped([i + u - 2, j + v - 2]);
            let w = G[[u]] * G[[v]] * exp(-0.5 * square((p - x[[i, j]]) / sigma));
            (w * p, w)
        });
        num / den
    })
}

/// Streaming FIR filter; tail keeps the last T - 1 samples.
#[tensor_fn]
pub fn fir(x: Tensor<f32, N>, h: Tensor<f32, T>, tail: &mut Tensor<f32, { T - 1 }>) -> Tensor<f32, N> {
    let all = concat([tail, x], axis = 0);
    tail[[..]] = all[[N..]];
    compute(|n| sum(0..T, |k| h[[k]] * all[[n + (T - 1) - k]]))
}

/// Cascade of second-order IIR sections (b0 b1 b2 a1 a2).
#[tensor_fn]
pub fn biquads(x: Tensor<f32, N>, c: Tensor<f32, S, 5>, z: &mut Tensor<f32, S, 2>) -> Tensor<f32, N> {
    let mut y = x;
    for n in 0..N {
        for s in 0..S {
            let (v, o) = (y[[n]], c[[s, 0]] * y[[n]] + z[[s, 0]]);
            z[[s, 0]] = c[[s, 1]] * v - c[[s, 3]] * o + z[[s, 1]];
            z[[s, 1]] = c[[s, 2]] * v - c[[s, 4]] * o;
            y[[n]] = o;
        }
    }
    y
}

/// One radix-2 Stockham stage of an FFT.
#[tensor_fn]
pub fn fft_stage(x: Tensor<f32, 2, M, S, 2>) -> Tensor<f32, M, 2, S, 2> {
    let (re, im) = compute([M, 2, S], |p, h, q| {
        let t = -f32::consts::PI * (p as f32) / (M as f32);
        let (a, b, c, d) = (x[[0, p, q, 0]], x[[0, p, q, 1]], x[[1, p, q, 0]], x[[1, p, q, 1]]);
        let (u, v) = (a - c, b - d);
        if h == 0 { (a + c, b + d) } else { (u * cos(t) - v * sin(t), u * sin(t) + v * cos(t)) }
    });
    stack([re, im], axis = -1)
}

/// The whole transform.
#[tensor_fn]
pub fn fft512(x: Tensor<f32, 512, 2>) -> Tensor<f32, 512, 2> {
    let mut y = x;
    #[unroll]
    for s in 0..9 {
        y = reshape(self::fft_stage(reshape(y, [2, 256 >> s, 1 << s, 2])), [512, 2]);
    }
    y
}

/// A step of k-means: new centroids, and the label of each point.
#[tensor_fn(dims(K >= 1))]
pub fn kmeans(x: Tensor<f32, N, D>, old: Tensor<f32, K, D>) -> (Tensor<f32, K, D>, Tensor<i32, N>) {
    let label = argmin(compute([N, K], |n, k| sum(0..D, |d| square(x[[n, d]] - old[[k, d]]))), axis = -1);
    let (mut total, mut count) = (zeros::<f32>([K, D]), zeros::<f32>([K]));
    for n in 0..N {
        count[[label[[n]]]] += 1.0;
        for d in 0..D {
            total[[label[[n]], d]] += x[[n, d]];
        }
    }
    (compute([K, D], |k, d| if count[[k]] > 0.0 { total[[k, d]] / count[[k]] } else { old[[k, d]] }), label as i32)
}

/// Running sum.
#[tensor_fn]
pub fn prefix_sum(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let (_, sums) = scan(0..N, 0.0, |acc, i| (acc + x[[i]], acc + x[[i]]));
    sums
}

/// Game of life on a torus.
#[tensor_fn]
pub fn life(cell: Tensor<u8, H, W>) -> Tensor<u8, H, W> {
    compute(|i, j| {
        let n = sum(0..3, 0..3, |u, v| cell.get_wrapped([i + u - 1, j + v - 1])) - cell[[i, j]];
        (n == 3 || (n == 2 && cell[[i, j]] == 1)) as u8
    })
}

/// 3x3 int8 convolution, NHWC, requantised per channel.
#[tensor_fn]
pub fn conv_s8(
    x: Tensor<i8, N, H, W, C>,
    w: Tensor<i8, K, 3, 3, C>,
    bias: Tensor<i32, K>,
    multiplier: Tensor<i32, K>,
    shift: Tensor<i32, K>,
    x_zero: i8,
    y_zero: i8,
) -> Tensor<i8, N, H, W, K> {
    compute(|n, i, j, k| {
        let acc = sum(0..3, 0..3, 0..C, |u, v, c| {
            let p = x.get_or([n, i + u - 1, j + v - 1, c], x_zero);
            (p as i32 - x_zero as i32) * (w[[k, u, v, c]] as i32)
        });
        clip(q_multiply_shift(acc + bias[[k]], multiplier[[k]], shift[[k]]) + (y_zero as i32), -128, 127) as i8
    })
}

/// A step of beam search: best scores, and the beam each came from.
#[tensor_fn(dims(B = 4, L = 32, V >= 1))]
pub fn beam(
    logp: Tensor<f32, B, V>,
    score: Tensor<f32, B>,
    step: usize,
    tokens: &mut Tensor<i32, B, L>,
) -> (Tensor<f32, B>, Tensor<i64, B>) {
    assert!(step < L);
    let (best, flat) = top_k(reshape(logp + reshape(score, [B, 1]), [B * V]), k = B);
    let parent = flat / (V as i64);
    tokens[[.., ..]] = take(tokens, parent, axis = 0);
    tokens[[.., step]] = (flat % (V as i64)) as i32;
    (best, parent)
}

/// Log-mel spectrogram; window and filter bank are computed at build time.
#[tensor_fn(dims(N >= 512))]
pub fn log_mel(audio: Tensor<f32, N>) -> Tensor<f32, { (N - 352) / 160 }, 40> {
    const WINDOW: Tensor<f32, 512> = hann_window(512);
    const MEL: Tensor<f32, 257, 40> = mel_weight_matrix(
        num_mel_bins = 40,
        dft_length = 512,
        sample_rate = 16000,
        lower_edge_hertz = 20.0,
        upper_edge_hertz = 8000.0,
    );
    let frames = compute([(N - 352) / 160, 512], |f, n| audio[[160 * f + n]] * WINDOW[[n]]);
    log(matmul(sum(square(rfft(frames, axis = -1)), axis = -1), MEL) + 1e-6)
}

/// Kalman filter, predict and update in place.
#[tensor_fn(dims(N = 4, M = 2))]
pub fn kalman(
    x: &mut Tensor<f32, N>,
    p: &mut Tensor<f32, N, N>,
    z: Tensor<f32, M>,
    f: Tensor<f32, N, N>,
    h: Tensor<f32, M, N>,
    q: Tensor<f32, N, N>,
    r: Tensor<f32, M, M>,
) {
    let (x1, p1) = (matmul(f, x), matmul(matmul(f, p), transpose(f)) + q);
    let gain = transpose(solve(matmul(matmul(h, p1), transpose(h)) + r, matmul(h, p1)));
    x[[..]] = x1 + matmul(gain, z - matmul(h, x1));
    p[[.., ..]] = p1 - matmul(gain, matmul(h, p1));
}

/// Histogram of an image.
#[tensor_fn]
pub fn histogram(image: Tensor<u8, H, W>) -> Tensor<u32, 256> {
    let mut bins = zeros::<u32>([256]);
    for i in 0..H {
        for j in 0..W {
            bins[[image[[i, j]]]] += 1;
        }
    }
    bins
}

/// The K largest values and their places, by insertion.
#[tensor_fn(dims(K = 8))]
pub fn largest(x: Tensor<f32, N>) -> (Tensor<f32, K>, Tensor<i32, K>) {
    let (mut value, mut place) = (full([K], f32::NEG_INFINITY), full([K], -1i32));
    for n in 0..N {
        let (mut v, mut p) = (x[[n]], n as i32);
        for k in 0..K {
            if v > value[[k]] {
                (value[[k]], place[[k]], v, p) = (v, p, value[[k]], place[[k]]);
            }
        }
    }
    (value, place)
}

/// Bilinear resize to the caller's size.
#[tensor_fn(dims(H >= 1, W >= 1))]
pub fn resize(x: Tensor<u8, H, W, C>, oh: usize, ow: usize) -> Tensor<u8, { oh }, { ow }, C> {
    compute(|i, j, c| {
        let y = (i as f32 + 0.5) * (H as f32) / (oh as f32) - 0.5;
        let z = (j as f32 + 0.5) * (W as f32) / (ow as f32) - 0.5;
        let (u, v) = (y - floor(y), z - floor(z));
        let at = |di, dj| x.get_clamped([floor(y) as isize + di, floor(z) as isize + dj, c]) as f32;
        round((at(0, 0) * (1.0 - v) + at(0, 1) * v) * (1.0 - u) + (at(1, 0) * (1.0 - v) + at(1, 1) * v) * u) as u8
    })
}
