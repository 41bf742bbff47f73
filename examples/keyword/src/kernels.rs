//! The tensor functions: from samples to bands, from bands to words.

use tenfold::prelude::*;

/// The energy in each of 24 bands, as a logarithm, of the last 512 samples. `tail` is the older half of them.
#[tensor_fn]
pub fn log_mel(samples: Tensor<f32, 256>, tail: &mut Tensor<f32, 256>) -> Tensor<f32, 24> {
    // Both are computed at build time and lie in the binary.
    const WINDOW: Tensor<f32, 512> = hann_window(512);
    const MEL: Tensor<f32, 257, 24> = mel_weight_matrix(
        num_mel_bins = 24,
        dft_length = 512,
        sample_rate = 16000,
        lower_edge_hertz = 100.0,
        upper_edge_hertz = 4000.0,
    );
    let frame = concat([tail, samples], axis = 0) * WINDOW;
    tail[[..]] = samples;
    let power = sum(square(rfft(frame, axis = 0)), axis = -1);
    log(matmul(power, MEL) + 1e-6)
}

/// What the network sees of half a second: means over four steps, of a size that suits it.
#[tensor_fn]
pub fn features(spectra: Tensor<f32, 32, 24>) -> Tensor<f32, 192> {
    let means = mean(reshape(spectra, [8, 4, 24]), axis = 1);
    reshape((means + 4.0) / 4.0, [192])
}

/// The probability of nothing and of each word. `src/bin/train.rs` has found the weights.
#[tensor_fn]
pub fn classify(x: Tensor<f32, 192>) -> Tensor<f32, 5> {
    const W1: Tensor<f32, 192, 32> = safetensors!("weights/keyword.safetensors", "w1");
    const B1: Tensor<f32, 32> = safetensors!("weights/keyword.safetensors", "b1");
    const W2: Tensor<f32, 32, 5> = safetensors!("weights/keyword.safetensors", "w2");
    const B2: Tensor<f32, 5> = safetensors!("weights/keyword.safetensors", "b2");
    softmax(matmul(relu(matmul(x, W1) + B1), W2) + B2, axis = -1)
}

/// A step of listening: the next 256 samples in, the probabilities out.
#[tensor_fn]
pub fn hear(
    samples: Tensor<f32, 256>,
    tail: &mut Tensor<f32, 256>,
    spectra: &mut Tensor<f32, 32, 24>,
) -> Tensor<f32, 5> {
    let next = self::log_mel(samples, &mut tail);
    spectra[[.., ..]] = concat([spectra[[1.., ..]], reshape(next, [1, 24])], axis = 0);
    self::classify(self::features(spectra))
}
