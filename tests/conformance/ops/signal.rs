//! Transforms, windows and mel bands.

use std::f64::consts::TAU;

use tenfold_ir::DType;
use tenfold_ir::ops::{Arg, AttrValue};

use super::{args, int, units};
use crate::case::{Case, Make, fixed};

pub(crate) fn cases() -> Vec<Case> {
    let mut all = vec![windows(), mel(), frames(), symbolic()];
    for n in [0, 1, 2, 5, 8, 12, 22] {
        all.push(transforms(DType::F32, n));
    }
    all.extend([transforms(DType::F64, 20), transforms(DType::F16, 12), transforms(DType::BF16, 8), axes()]);
    all
}

/// The sum itself, in f64.
fn dft(x: &[(f64, f64)], inverse: bool) -> Vec<(f64, f64)> {
    let n = x.len();
    let sign = if inverse { 1.0 } else { -1.0 };
    let one = |k: usize| {
        let mut sum = (0.0, 0.0);
        for (t, (re, im)) in x.iter().enumerate() {
            let angle = sign * TAU * ((k * t) % n) as f64 / n as f64;
            sum.0 += re * angle.cos() - im * angle.sin();
            sum.1 += re * angle.sin() + im * angle.cos();
        }
        if inverse { (sum.0 / n as f64, sum.1 / n as f64) } else { sum }
    };
    (0..n).map(one).collect()
}

/// What roundings of a transform of `n` numbers amount to, beside the largest result.
fn rounding(dtype: DType, n: usize) -> f64 {
    units(dtype, 2.0, 4.0) * ((n as f64).log2() + 1.0)
}

fn flat(x: &[(f64, f64)]) -> Vec<f64> {
    x.iter().flat_map(|(re, im)| [*re, *im]).collect()
}

fn pairs(m: &Make, param: usize) -> Vec<(f64, f64)> {
    m.cells(param).chunks(2).map(|p| (p[0].to_f64(), p[1].to_f64())).collect()
}

fn transforms(dtype: DType, n: usize) -> Case {
    let mut m = Make::new(&format!("fft_{}_{n}", dtype.name()));
    let within = rounding(dtype, n.max(2));
    let x = m.input(dtype, &fixed(&[2, n as i64, 2]));
    let real = m.input(dtype, &fixed(&[2, n as i64]));
    let half = n / 2 + 1;
    let spectrum = m.input(dtype, &fixed(&[half as i64, 2]));
    let (whole, numbers, mut first) = (pairs(&m, 0), m.cells(1).to_vec(), pairs(&m, 2));
    let mut results = Vec::new();
    for (name, inverse) in [("fft", false), ("ifft", true)] {
        let y = m.call(name, &args(&[x]), &[]);
        let rows = whole.chunks(n.max(1)).flat_map(|row| dft(row, inverse)).collect::<Vec<_>>();
        m.near(y, &flat(&rows), within);
        results.push(y);
    }
    let y = m.call("rfft", &args(&[real]), &[]);
    let rows = numbers.chunks(n.max(1)).map(|row| row.iter().map(|c| (c.to_f64(), 0.0)).collect::<Vec<_>>());
    let rows: Vec<(f64, f64)> =
        rows.flat_map(|row| dft(&row, false).into_iter().take(half).collect::<Vec<_>>()).collect();
    if n > 0 {
        m.near(y, &flat(&rows), within);
        results.push(y);
        let z = m.call("irfft", &args(&[spectrum]), &[("n", int(n as i64))]);
        let mirrored: Vec<(f64, f64)> = (half..n).map(|t| (first[n - t].0, -first[n - t].1)).collect();
        first.extend(mirrored);
        let back: Vec<f64> = dft(&first, true).iter().map(|(re, _)| *re).collect();
        m.near(z, &back, 2.0 * within);
        results.push(z);
    }
    m.done(&results)
}

/// Along axes that are not the last.
fn axes() -> Case {
    let mut m = Make::new("fft_axes");
    let x = m.input(DType::F64, &fixed(&[6, 3, 2]));
    let whole = pairs(&m, 0);
    let y = m.call("fft", &args(&[x]), &[("axis", int(0))]);
    let columns: Vec<Vec<(f64, f64)>> =
        (0..3).map(|c| dft(&(0..6).map(|r| whole[r * 3 + c]).collect::<Vec<_>>(), false)).collect();
    let wanted: Vec<(f64, f64)> =
        (0..6).flat_map(|r| (0..3).map(move |c| (r, c))).map(|(r, c)| columns[c][r]).collect();
    m.near(y, &flat(&wanted), rounding(DType::F64, 6));
    m.done(&[y])
}

/// A length that is known when the function is called, and one that is 0.
fn symbolic() -> Case {
    let mut m = Make::new("fft_symbolic");
    let n = m.dim("N", 9, 0, 1);
    let z = m.dim("Z", 0, 1, 1);
    let x = m.input(DType::F32, &[2.into(), n, 2.into()]);
    let none = m.input(DType::F32, &[2.into(), z, 2.into()]);
    let whole = pairs(&m, 0);
    let mut results = Vec::new();
    for (name, inverse) in [("fft", false), ("ifft", true)] {
        let y = m.call(name, &args(&[x]), &[]);
        let rows: Vec<(f64, f64)> = whole.chunks(9).flat_map(|row| dft(row, inverse)).collect();
        m.near(y, &flat(&rows), rounding(DType::F32, 9));
        let nothing = m.call(name, &args(&[none]), &[]);
        m.near(nothing, &[], 0.0);
        results.extend([y, nothing]);
    }
    m.done(&results)
}

fn frames() -> Case {
    let mut m = Make::new("stft");
    let x = m.input(DType::F32, &fixed(&[2, 23]));
    let window = m.input(DType::F32, &fixed(&[8]));
    let (signal, weights) = (m.cells(0).to_vec(), m.cells(1).to_vec());
    let mut results = Vec::new();
    for (onesided, kept) in [(true, 5), (false, 8)] {
        let attrs = [("frame_step", int(4)), ("onesided", AttrValue::Bool(onesided))];
        let y = m.call("stft", &args(&[x, window]), &attrs);
        let mut wanted = Vec::new();
        for row in signal.chunks(23) {
            for frame in 0..4 {
                let framed = (0..8).map(|t| (row[frame * 4 + t].to_f64() * weights[t].to_f64(), 0.0));
                wanted.extend(dft(&framed.collect::<Vec<_>>(), false).into_iter().take(kept));
            }
        }
        m.near(y, &flat(&wanted), rounding(DType::F32, 16));
        results.push(y);
    }
    m.done(&results)
}

fn windows() -> Case {
    let mut m = Make::new("windows");
    let mut results = Vec::new();
    let table: [(&str, [f64; 3]); 3] = [
        ("hann_window", [0.5, -0.5, 0.0]),
        ("hamming_window", [25.0 / 46.0, -21.0 / 46.0, 0.0]),
        ("blackman_window", [0.42, -0.5, 0.08]),
    ];
    for (name, weights) in table {
        for (n, periodic) in [(10i64, true), (9, false), (0, true), (1, true)] {
            for dtype in [None, Some(DType::F64), Some(DType::F16)] {
                let attrs = [("periodic", AttrValue::Bool(periodic))];
                let y = m.typed(name, dtype, &[Arg::Index(n.into())], &attrs);
                let period = if periodic { n } else { n - 1 };
                let value = |t: i64| {
                    let angle = TAU * t as f64 / period as f64;
                    weights[0] + weights[1] * angle.cos() + weights[2] * (2.0 * angle).cos()
                };
                m.near(y, &(0..n).map(value).collect::<Vec<_>>(), rounding(dtype.unwrap_or(DType::F32), 2) / 4.0);
                results.push(y);
            }
        }
    }
    m.done(&results)
}

/// As ONNX's reference computes it.
fn mel() -> Case {
    let mut m = Make::new("mel_weight_matrix");
    let mut results = Vec::new();
    for (bins, length, rate, low, high) in [(8usize, 16usize, 8192i64, 0.0, 4096.0), (40, 512, 16000, 20.0, 8000.0)] {
        let attrs = [
            ("num_mel_bins", int(bins as i64)),
            ("dft_length", int(length as i64)),
            ("sample_rate", int(rate)),
            ("lower_edge_hertz", AttrValue::Float(low)),
            ("upper_edge_hertz", AttrValue::Float(high)),
        ];
        let y = m.call("mel_weight_matrix", &[], &attrs);
        let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
        let step = (mel(high) - mel(low)) / (bins + 2) as f64;
        let edge = |i: usize| {
            let hertz = 700.0 * (10f64.powf((mel(low) + i as f64 * step) / 2595.0) - 1.0);
            ((length + 1) as f64 * hertz / rate as f64).floor() as usize
        };
        let mut wanted = vec![0.0; (length / 2 + 1) * bins];
        for band in 0..bins {
            let (low, center, high) = (edge(band), edge(band + 1), edge(band + 2));
            if center == low {
                wanted[center * bins + band] = 1.0;
            }
            for j in low..=center {
                if center > low {
                    wanted[j * bins + band] = (j - low) as f64 / (center - low) as f64;
                }
            }
            for j in center..high {
                wanted[j * bins + band] = (high - j) as f64 / (high - center) as f64;
            }
        }
        m.near(y, &wanted, 2f64.powi(-23));
        results.push(y);
    }
    m.done(&results)
}
