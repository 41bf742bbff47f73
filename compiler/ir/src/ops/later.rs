//! Operators of the language that a later version compiles. Those with a shape rule type-check today.

use super::call::{axis_attr, float_attr, index, int_attr, missing, shape, tensor};
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::{AttrDef, OpCall, OpDef, OpKind};
use crate::DType;
use crate::arith::IntExpr;
use crate::relax::{Builder, Op, TensorType, Type, ValueId, dim};

const AXIS: AttrDef = AttrDef { name: "axis", ty: "int = -1", doc: "the axis; negative counts from the end" };

fn emit(b: &mut Builder, name: &str, results: Vec<TensorType>, args: &[ValueId]) -> Result<ValueId, OpError> {
    let mut types: Vec<Type> = results.into_iter().map(Type::Tensor).collect();
    let result = if types.len() == 1 { types.remove(0) } else { Type::Tuple(types) };
    b.emit(Op::Later { name: name.to_string(), result }, args)
}

fn dtype_error(i: usize, expected: &str, x: &TensorType) -> OpError {
    let message = format!("expected {expected}, found `{}`", show_tensor(x));
    OpError::new(At::Arg(i), OpErrorKind::DType, message)
}

fn rank_error(i: usize, expected: &str, x: &TensorType) -> OpError {
    let message = format!("expected rank {expected}, found `{}`", show_tensor(x));
    OpError::new(At::Arg(i), OpErrorKind::Rank, message)
}

fn top_k(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    if ty.dtype.is_bool() {
        return Err(dtype_error(0, "numbers", &ty));
    }
    let axis = axis_attr(call, &ty, -1)?;
    let k = super::call::index_attr(call, "k")?.ok_or_else(|| missing("k", "5"))?;
    let inside = dim::at_most(&b.prover, &dim::int(0), &k) && dim::at_most(&b.prover, &k, &ty.shape[axis]);
    if !inside {
        let message =
            format!("`k = {k}` is not proven to lie in 0..={}, axis {axis} of `{}`", ty.shape[axis], show_tensor(&ty));
        return Err(OpError::new(At::Attr("k".into()), OpErrorKind::Range, message)
            .help(format!("state a fact: `dims({} >= {k})`", ty.shape[axis])));
    }
    let mut shape = ty.shape.clone();
    shape[axis] = k;
    let places = TensorType { dtype: DType::I64, shape: shape.clone() };
    emit(b, "top_k", vec![TensorType { dtype: ty.dtype, shape }, places], &[x])
}

fn rfft(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    if !ty.dtype.is_float() {
        return Err(dtype_error(0, "floats", &ty).help("convert first: `x as f32`"));
    }
    let axis = axis_attr(call, &ty, -1)?;
    let mut shape = ty.shape.clone();
    shape[axis] = &dim::div_floor(&shape[axis], 2) + &dim::int(1);
    shape.push(dim::int(2));
    emit(b, "rfft", vec![TensorType { dtype: ty.dtype, shape }], &[x])
}

/// Complex in, complex out: the last axis is 2 and is not counted by `axis`.
fn fft(b: &mut Builder, call: &OpCall, name: &str) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    if !ty.dtype.is_float() {
        return Err(dtype_error(0, "floats", &ty).help("convert first: `x as f32`"));
    }
    if ty.shape.len() < 2 || dim::as_int(&ty.shape[ty.shape.len() - 1]) != Some(2) {
        let message = format!("expected complex numbers, a last axis of 2, found `{}`", show_tensor(&ty));
        return Err(OpError::new(At::Arg(0), OpErrorKind::Dims, message).help("`rfft` takes real numbers"));
    }
    let inner = TensorType { dtype: ty.dtype, shape: ty.shape[..ty.shape.len() - 1].to_vec() };
    axis_attr(call, &inner, -1)?;
    emit(b, name, vec![ty], &[x])
}

fn hann_window(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let n = index(call, 0)?;
    let dtype = call.dtype.unwrap_or(DType::F32);
    emit(b, "hann_window", vec![TensorType { dtype, shape: vec![n] }], &[])
}

fn mel_weight_matrix(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let need = |name, example| int_attr(call, name)?.ok_or_else(|| missing(name, example));
    let bins = need("num_mel_bins", "40")?;
    let length = need("dft_length", "512")?;
    need("sample_rate", "16000")?;
    for name in ["lower_edge_hertz", "upper_edge_hertz"] {
        if !call.attrs.contains_key(name) {
            return Err(missing(name, "20.0"));
        }
        float_attr(call, name, 0.0)?;
    }
    for (name, value) in [("num_mel_bins", bins), ("dft_length", length)] {
        if value < 1 {
            let message = format!("expected 1 or more for `{name}`, found {value}");
            return Err(OpError::new(At::Attr(name.into()), OpErrorKind::Attribute, message));
        }
    }
    let shape = vec![dim::int(length / 2 + 1), dim::int(bins)];
    emit(b, "mel_weight_matrix", vec![TensorType { dtype: call.dtype.unwrap_or(DType::F32), shape }], &[])
}

/// Solution x of `a x = b`: a is [..., M, M], b is [..., M, K] or [M].
fn solve(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (a, left) = tensor(b, call, 0)?;
    let (rhs, right) = tensor(b, call, 1)?;
    if !left.dtype.is_float() {
        return Err(dtype_error(0, "floats", &left).help("convert first: `x as f32`"));
    }
    if right.dtype != left.dtype {
        return Err(
            dtype_error(1, &format!("`{}`", left.dtype), &right).help(format!("convert it: `as {}`", left.dtype))
        );
    }
    let rank = left.shape.len();
    if rank < 2 {
        return Err(rank_error(0, "2 or more", &left));
    }
    if right.shape.len() != rank && right.shape.len() != 1 {
        return Err(rank_error(1, &format!("1 or {rank}"), &right));
    }
    let side = &left.shape[rank - 1];
    if !dim::equal(&b.prover, &left.shape[rank - 2], side) {
        let message = format!("expected a square matrix, found `{}`", show_tensor(&left));
        return Err(OpError::new(At::Arg(0), OpErrorKind::Dims, message));
    }
    let at = right.shape.len().saturating_sub(2);
    if !dim::equal(&b.prover, &right.shape[at], side) {
        let message =
            format!("expected `{side}` at axis {at}, found `{}` in `{}`", right.shape[at], show_tensor(&right));
        return Err(OpError::new(At::Arg(1), OpErrorKind::Dims, message)
            .also(At::Arg(0), format!("`{side}` comes from `{}`", show_tensor(&left))));
    }
    emit(b, "solve", vec![right], &[a, rhs])
}

/// Operators whose result has the operand's shape.
fn along(b: &mut Builder, call: &OpCall, name: &str, dtype: Option<DType>) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    if ty.dtype.is_bool() {
        return Err(dtype_error(0, "numbers", &ty).help("convert first: `x as u8`"));
    }
    axis_attr(call, &ty, -1)?;
    let result = TensorType { dtype: dtype.unwrap_or(ty.dtype), shape: ty.shape };
    emit(b, name, vec![result], &[x])
}

fn random(b: &mut Builder, call: &OpCall, name: &str) -> Result<ValueId, OpError> {
    let (seed, ty) = tensor(b, call, 0).or_else(|error| match &call.args[0] {
        super::Arg::Literal(_) => {
            let seed = super::call::value_meeting(b, call, 0, Some(DType::U64))?;
            Ok((seed, b.tensor(seed).clone()))
        }
        super::Arg::Value(_) | super::Arg::Shape(_) | super::Arg::Index(_) | super::Arg::List(_) => Err(error),
    })?;
    if ty.dtype != DType::U64 || !ty.shape.is_empty() {
        return Err(dtype_error(0, "a seed of dtype `u64`", &ty));
    }
    let shape: Vec<IntExpr> = shape(call, 1)?;
    emit(b, name, vec![TensorType { dtype: call.dtype.unwrap_or(DType::F32), shape }], &[seed])
}

/// Places and their count; as many places as there are elements.
fn nonzero(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let places = vec![dim::int(ty.shape.len() as i64), dim::product(&ty.shape)];
    let count = TensorType { dtype: DType::I64, shape: Vec::new() };
    emit(b, "nonzero", vec![TensorType { dtype: DType::I64, shape: places }, count], &[x])
}

/// The different elements in order and their count.
fn unique(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let values = TensorType { dtype: ty.dtype, shape: vec![dim::product(&ty.shape)] };
    let count = TensorType { dtype: DType::I64, shape: Vec::new() };
    emit(b, "unique", vec![values, count], &[x])
}

macro_rules! later {
    ($name:literal, $onnx:literal, $signature:literal, $arity:expr, $attrs:expr, $typed:literal, $build:expr, $doc:literal) => {
        OpDef {
            name: $name,
            onnx: $onnx,
            signature: $signature,
            arity: $arity,
            attrs: $attrs,
            typed: $typed,
            doc: $doc,
            kind: OpKind::Later($doc, $build),
        }
    };
}

pub(super) static TABLE: &[OpDef] = &[
    later!(
        "top_k",
        "TopK",
        "x",
        (1, 1),
        &[AttrDef { name: "k", ty: "int", doc: "how many" }, AXIS],
        false,
        Some(top_k),
        "The k largest elements along an axis in descending order, and their indices as i64."
    ),
    later!(
        "rfft",
        "DFT",
        "x",
        (1, 1),
        &[AXIS],
        false,
        Some(rfft),
        "Fourier transform of real numbers along an axis: n / 2 + 1 complex numbers, a last axis of 2."
    ),
    later!(
        "fft",
        "DFT",
        "x",
        (1, 1),
        &[AXIS],
        false,
        Some(|b, call| fft(b, call, "fft")),
        "Fourier transform of complex numbers (a last axis of 2) along an axis."
    ),
    later!(
        "ifft",
        "DFT",
        "x",
        (1, 1),
        &[AXIS],
        false,
        Some(|b, call| fft(b, call, "ifft")),
        "Inverse Fourier transform of complex numbers (a last axis of 2) along an axis."
    ),
    later!(
        "hann_window",
        "HannWindow",
        "n",
        (1, 1),
        &[],
        true,
        Some(hann_window),
        "The periodic Hann window of n samples."
    ),
    later!(
        "mel_weight_matrix",
        "MelWeightMatrix",
        "",
        (0, 0),
        &[
            AttrDef { name: "num_mel_bins", ty: "int", doc: "number of bands" },
            AttrDef { name: "dft_length", ty: "int", doc: "length of the transform" },
            AttrDef { name: "sample_rate", ty: "int", doc: "samples per second" },
            AttrDef { name: "lower_edge_hertz", ty: "float", doc: "lowest frequency" },
            AttrDef { name: "upper_edge_hertz", ty: "float", doc: "highest frequency" },
        ],
        true,
        Some(mel_weight_matrix),
        "Weights that turn a power spectrum into mel bands, [dft_length / 2 + 1, num_mel_bins]."
    ),
    later!(
        "solve",
        "",
        "a, b",
        (2, 2),
        &[],
        false,
        Some(solve),
        "The x with a x = b, by elimination with row exchanges."
    ),
    later!(
        "cumsum",
        "CumSum",
        "x",
        (1, 1),
        &[AXIS],
        false,
        Some(|b, call| along(b, call, "cumsum", None)),
        "Running sums along an axis."
    ),
    later!(
        "sort",
        "",
        "x",
        (1, 1),
        &[AXIS],
        false,
        Some(|b, call| along(b, call, "sort", None)),
        "Elements in ascending order along an axis; NaN last."
    ),
    later!(
        "argsort",
        "",
        "x",
        (1, 1),
        &[AXIS],
        false,
        Some(|b, call| along(b, call, "argsort", Some(DType::I64))),
        "Indices that sort an axis, as i64; equals keep their order."
    ),
    later!(
        "nonzero",
        "NonZero",
        "x",
        (1, 1),
        &[],
        false,
        Some(nonzero),
        "Indices of the elements other than 0, [rank, elements], and how many there are."
    ),
    later!(
        "unique",
        "Unique",
        "x",
        (1, 1),
        &[],
        false,
        Some(unique),
        "The different elements in ascending order, and how many there are."
    ),
    later!(
        "random_uniform",
        "RandomUniform",
        "seed, shape",
        (2, 2),
        &[],
        true,
        Some(|b, call| random(b, call, "random_uniform")),
        "Numbers from 0 to below 1 that depend on the seed and the place alone."
    ),
    later!(
        "random_normal",
        "RandomNormal",
        "seed, shape",
        (2, 2),
        &[],
        true,
        Some(|b, call| random(b, call, "random_normal")),
        "Normally distributed numbers that depend on the seed and the place alone."
    ),
];
