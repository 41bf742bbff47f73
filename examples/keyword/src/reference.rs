//! The front end in plain sums, in `f64`: what `log_mel` is checked against.

use std::f64::consts::TAU;

const RATE: f64 = 16_000.0;
const LOWEST: f64 = 100.0;
const HIGHEST: f64 = 4000.0;

/// The logarithms of the energies in the bands of a frame.
pub(crate) fn log_mel(frame: &[f32], bands: usize) -> Vec<f64> {
    let n = frame.len();
    let windowed: Vec<f64> = frame
        .iter()
        .enumerate()
        .map(|(t, sample)| f64::from(*sample) * (0.5 - 0.5 * (TAU * t as f64 / n as f64).cos()))
        .collect();
    let power: Vec<f64> = (0..=n / 2).map(|k| energy(&windowed, k)).collect();
    let edges = edges(n, bands);
    (0..bands).map(|band| (triangle(&power, &edges[band..band + 3]) + 1e-6).ln()).collect()
}

/// The energy at one frequency, by the definition of the transform.
fn energy(frame: &[f64], k: usize) -> f64 {
    let angle = |t: usize| TAU * (k * t % frame.len()) as f64 / frame.len() as f64;
    let (re, im) = frame
        .iter()
        .enumerate()
        .fold((0.0, 0.0), |(re, im), (t, x)| (re + x * angle(t).cos(), im - x * angle(t).sin()));
    re * re + im * im
}

/// Where bands begin, peak and end: equal steps of mel, as places in the spectrum (ONNX MelWeightMatrix).
fn edges(n: usize, bands: usize) -> Vec<f64> {
    let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let step = (mel(HIGHEST) - mel(LOWEST)) / (bands + 2) as f64;
    let hertz = |band: usize| 700.0 * (10_f64.powf((mel(LOWEST) + band as f64 * step) / 2595.0) - 1.0);
    (0..bands + 2).map(|band| ((n + 1) as f64 * hertz(band) / RATE).floor()).collect()
}

/// The sum of a spectrum under a triangle.
fn triangle(power: &[f64], edges: &[f64]) -> f64 {
    let (low, peak, high) = (edges[0], edges[1], edges[2]);
    let weight = |at: f64| {
        if at >= peak && at < high {
            (high - at) / (high - peak)
        } else if peak == low {
            f64::from(u8::from(at == peak))
        } else if at >= low && at <= peak {
            (at - low) / (peak - low)
        } else {
            0.0
        }
    };
    power.iter().enumerate().map(|(at, power)| power * weight(at as f64)).sum()
}
