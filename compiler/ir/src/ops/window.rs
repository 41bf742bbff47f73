//! Windows and mel bands, computed in f64 where the graph is built from constants alone.

use super::call::{bool_attr, extent};
use super::compose::{arange, cast, compare, div, index_value, select, sub, unary, with};
use super::error::{At, OpError, OpErrorKind};
use super::{AttrDef, OpCall, OpDef};
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::relax::{Builder, Op, ValueId, dim};
use crate::{DType, Scalar};

/// A window of cosines: `Σ weights[i] · cos(i · 2π t / n)`.
fn window(b: &mut Builder, call: &OpCall, weights: &[f64]) -> Result<ValueId, OpError> {
    let n = extent(b, call, 0)?;
    let dtype = call.dtype.unwrap_or(DType::F32);
    if !dtype.is_float() {
        let error = OpError::new(At::Call, OpErrorKind::DType, format!("expected a dtype of floats, found `{dtype}`"));
        return Err(error.help("convert the result"));
    }
    let period = if bool_attr(call, "periodic", true)? { n.clone() } else { &n - &dim::int(1) };
    let count = arange(b, DType::F64, &n)?;
    let length = index_value(b, DType::F64, &period)?;
    let turn = with(b, BinaryOp::Mul, count, std::f64::consts::TAU)?;
    let turn = div(b, turn, length)?;
    let flat = with(b, BinaryOp::Mul, count, 0.0)?;
    let mut sum = with(b, BinaryOp::Add, flat, weights[0])?;
    for (i, weight) in weights.iter().enumerate().skip(1) {
        let angle = with(b, BinaryOp::Mul, turn, i as f64)?;
        let wave = unary(b, UnaryOp::Cos, angle)?;
        let wave = with(b, BinaryOp::Mul, wave, *weight)?;
        sum = super::compose::add(b, sum, wave)?;
    }
    cast(b, dtype, sum)
}

/// Weights of mel bands, by ONNX's MelWeightMatrix.
fn mel_weight_matrix(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let need = |name, example| super::call::int_attr(call, name)?.ok_or_else(|| super::call::missing(name, example));
    let (bins, length) = (need("num_mel_bins", "40")?, need("dft_length", "512")?);
    let rate = need("sample_rate", "16000")?;
    let edge = |name: &str| {
        if !call.attrs.contains_key(name) {
            return Err(super::call::missing(name, "20.0"));
        }
        Ok(super::call::float_attr(call, name, 0.0)?.get())
    };
    let (low, high) = (edge("lower_edge_hertz")?, edge("upper_edge_hertz")?);
    for (name, value) in [("num_mel_bins", bins), ("dft_length", length), ("sample_rate", rate)] {
        if value < 1 {
            return Err(super::check::attr_error(name, format!("expected 1 or more for `{name}`, found {value}")));
        }
    }
    // The numbers of the spectrum at which bands begin, have their middle and end.
    let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let step = (mel(high) - mel(low)) / (bins + 2) as f64;
    let place = |band: i64| {
        let hertz = 700.0 * (10f64.powf((mel(low) + band as f64 * step) / 2595.0) - 1.0);
        ((length + 1) as f64 * hertz / rate as f64).floor()
    };
    let mut row = |offset: i64| numbers(b, (0..bins).map(|band| place(band + offset)));
    let edges = [row(0)?, row(1)?, row(2)?];
    let matrix = bands(b, edges, length / 2 + 1)?;
    cast(b, call.dtype.unwrap_or(DType::F32), matrix)
}

/// A row of numbers.
fn numbers(b: &mut Builder, all: impl Iterator<Item = f64>) -> Result<ValueId, OpError> {
    let mut cells = Vec::new();
    for number in all {
        let number = b.scalar(Scalar::float(DType::F64, number));
        cells.push(super::compose::reshape(b, number, &[dim::int(1), dim::int(1)])?);
    }
    b.emit(Op::Concat { axis: 1 }, &cells)
}

/// A triangle per band: up from its first number to its middle, and down to its last.
fn bands(b: &mut Builder, [low, center, high]: [ValueId; 3], spectrum: i64) -> Result<ValueId, OpError> {
    let number = arange(b, DType::F64, &dim::int(spectrum))?;
    let number = super::compose::reshape(b, number, &[dim::int(spectrum), dim::int(1)])?;
    let one = b.scalar(Scalar::one(DType::F64));
    let zero = b.scalar(Scalar::zero(DType::F64));
    let (width, passed) = (sub(b, center, low)?, sub(b, number, low)?);
    let flat = compare(b, CmpOp::Eq, center, low)?;
    let rising = div(b, passed, width)?;
    let rising = select(b, flat, one, rising)?;
    let up = within(b, number, (CmpOp::Ge, low), (CmpOp::Le, center))?;
    let up = select(b, up, rising, zero)?;
    let (width, left) = (sub(b, high, center)?, sub(b, high, number)?);
    let falling = div(b, left, width)?;
    let down = within(b, number, (CmpOp::Ge, center), (CmpOp::Lt, high))?;
    select(b, down, falling, up)
}

fn within(b: &mut Builder, x: ValueId, low: (CmpOp, ValueId), high: (CmpOp, ValueId)) -> Result<ValueId, OpError> {
    let (low, high) = (compare(b, low.0, x, low.1)?, compare(b, high.0, x, high.1)?);
    super::compose::binary(b, BinaryOp::And, low, high)
}

const PERIODIC: AttrDef =
    AttrDef { name: "periodic", ty: "bool = true", doc: "whether the period is n, else n - 1 (symmetric)" };

pub(super) static TABLE: &[OpDef] = &[
    typed!(
        "hann_window",
        "HannWindow",
        "n",
        1,
        &[PERIODIC],
        |b, call| window(b, call, &[0.5, -0.5]),
        "The Hann window of n samples: 0.5 - 0.5 cos(2π t / n)."
    ),
    typed!(
        "hamming_window",
        "HammingWindow",
        "n",
        1,
        &[PERIODIC],
        |b, call| window(b, call, &[25.0 / 46.0, -21.0 / 46.0]),
        "The Hamming window of n samples: 25/46 - 21/46 cos(2π t / n)."
    ),
    typed!(
        "blackman_window",
        "BlackmanWindow",
        "n",
        1,
        &[PERIODIC],
        |b, call| window(b, call, &[0.42, -0.5, 0.08]),
        "The Blackman window of n samples: 0.42 - 0.5 cos(2π t / n) + 0.08 cos(4π t / n)."
    ),
    typed!(
        "mel_weight_matrix",
        "MelWeightMatrix",
        "",
        0,
        &[
            AttrDef { name: "num_mel_bins", ty: "int", doc: "number of bands" },
            AttrDef { name: "dft_length", ty: "int", doc: "length of the transform" },
            AttrDef { name: "sample_rate", ty: "int", doc: "samples per second" },
            AttrDef { name: "lower_edge_hertz", ty: "float", doc: "lowest frequency" },
            AttrDef { name: "upper_edge_hertz", ty: "float", doc: "highest frequency" },
        ],
        mel_weight_matrix,
        "Weights that turn a power spectrum into mel bands, [dft_length / 2 + 1, num_mel_bins]."
    ),
];
