//! Random numbers that depend on a seed and on the place alone (a counter, mixed as SplitMix64 does).

use super::call::{float_attr, shape, tensor, value_meeting};
use super::check::{dtype_error, floats, rank};
use super::compose::{add, arange, binary, cast, compare, mul, reshape, unary, with};
use super::error::{At, OpError, OpErrorKind};
use super::{Arg, AttrDef, OpCall, OpDef};
use crate::arith::IntExpr;
use crate::op::{ArgOp, BinaryOp, CmpOp, UnaryOp};
use crate::relax::{Builder, Op, ValueId, dim};
use crate::{DType, Scalar};

/// The seed, a scalar `u64`.
fn seed(b: &mut Builder, call: &OpCall, i: usize) -> Result<ValueId, OpError> {
    if let Arg::Literal(_) = call.args[i] {
        return value_meeting(b, call, i, Some(DType::U64));
    }
    let (seed, ty) = tensor(b, call, i)?;
    if ty.dtype != DType::U64 || !ty.shape.is_empty() {
        return Err(dtype_error(i, "a seed of dtype `u64`", &ty));
    }
    Ok(seed)
}

fn constant(b: &mut Builder, value: u64) -> ValueId {
    b.scalar(Scalar::int(DType::U64, i128::from(value)))
}

/// `(z ^ (z >> shift)) * factor`.
fn stir(b: &mut Builder, z: ValueId, shift: u64, factor: u64) -> Result<ValueId, OpError> {
    let (shift, factor) = (constant(b, shift), constant(b, factor));
    let moved = binary(b, BinaryOp::Shr, z, shift)?;
    let mixed = binary(b, BinaryOp::Xor, z, moved)?;
    mul(b, mixed, factor)
}

/// 64 random bits for each of `shape` elements; streams of one seed are independent.
fn bits(b: &mut Builder, seed: ValueId, stream: u64, shape: &[IntExpr]) -> Result<ValueId, OpError> {
    let count = arange(b, DType::U64, &dim::product(shape))?;
    let count = reshape(b, count, shape)?;
    let (step, salt) = (constant(b, 0x9e37_79b9_7f4a_7c15), constant(b, stream.wrapping_mul(0xd1b5_4a32_d192_ed03)));
    let start = add(b, seed, salt)?;
    let start = stir(b, start, 30, 0xbf58_476d_1ce4_e5b9)?;
    let one = constant(b, 1);
    let count = add(b, count, one)?;
    let offset = mul(b, count, step)?;
    let z = add(b, start, offset)?;
    let z = stir(b, z, 30, 0xbf58_476d_1ce4_e5b9)?;
    let z = stir(b, z, 27, 0x94d0_49bb_1331_11eb)?;
    let far = constant(b, 31);
    let moved = binary(b, BinaryOp::Shr, z, far)?;
    binary(b, BinaryOp::Xor, z, moved)
}

/// From 0 to below 1, in steps that the dtype holds.
fn unit(b: &mut Builder, seed: ValueId, stream: u64, shape: &[IntExpr], dtype: DType) -> Result<ValueId, OpError> {
    let digits = match dtype {
        DType::F64 => 53,
        DType::F16 => 11,
        DType::BF16 => 8,
        _ => 24,
    };
    let z = bits(b, seed, stream, shape)?;
    let drop = constant(b, 64 - digits);
    let kept = binary(b, BinaryOp::Shr, z, drop)?;
    let kept = cast(b, dtype, kept)?;
    with(b, BinaryOp::Mul, kept, 0.5f64.powi(digits as i32))
}

/// By Box and Muller.
fn normal(b: &mut Builder, seed: ValueId, shape: &[IntExpr], dtype: DType) -> Result<ValueId, OpError> {
    let wide = super::compose::working(dtype);
    let (u, v) = (unit(b, seed, 0, shape, wide)?, unit(b, seed, 1, shape, wide)?);
    // From 1 - u, which is above 0.
    let negative = with(b, BinaryOp::Mul, u, -1.0)?;
    let logarithm = unary(b, UnaryOp::Log1p, negative)?;
    let square = with(b, BinaryOp::Mul, logarithm, -2.0)?;
    let radius = unary(b, UnaryOp::Sqrt, square)?;
    let angle = with(b, BinaryOp::Mul, v, std::f64::consts::TAU)?;
    let cosine = unary(b, UnaryOp::Cos, angle)?;
    let value = mul(b, radius, cosine)?;
    cast(b, dtype, value)
}

fn float_dtype(call: &OpCall) -> Result<DType, OpError> {
    let dtype = call.dtype.unwrap_or(DType::F32);
    if dtype.is_float() {
        return Ok(dtype);
    }
    let message = format!("expected a dtype of floats, found `{dtype}`");
    Err(OpError::new(At::Call, OpErrorKind::DType, message).help("convert the result"))
}

fn random_uniform(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (seed, shape, dtype) = (seed(b, call, 0)?, shape(b, call, 1)?, float_dtype(call)?);
    let (low, high) = (float_attr(call, "low", 0.0)?.get(), float_attr(call, "high", 1.0)?.get());
    let value = unit(b, seed, 0, &shape, dtype)?;
    if (low, high) == (0.0, 1.0) {
        return Ok(value);
    }
    let scaled = with(b, BinaryOp::Mul, value, high - low)?;
    with(b, BinaryOp::Add, scaled, low)
}

fn random_normal(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (seed, shape, dtype) = (seed(b, call, 0)?, shape(b, call, 1)?, float_dtype(call)?);
    let (mean, scale) = (float_attr(call, "mean", 0.0)?.get(), float_attr(call, "scale", 1.0)?.get());
    let value = normal(b, seed, &shape, dtype)?;
    if (mean, scale) == (0.0, 1.0) {
        return Ok(value);
    }
    let scaled = with(b, BinaryOp::Mul, value, scale)?;
    with(b, BinaryOp::Add, scaled, mean)
}

/// 1 with a probability that each element says.
fn bernoulli(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (p, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    let seed = seed(b, call, 1)?;
    let drawn = unit(b, seed, 0, &ty.shape, ty.dtype)?;
    let below = compare(b, CmpOp::Lt, drawn, p)?;
    cast(b, call.dtype.unwrap_or(ty.dtype), below)
}

/// Classes drawn by their logarithmic weights: the largest of weight + Gumbel noise.
fn multinomial(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    rank(0, &ty, 2)?;
    let seed = seed(b, call, 1)?;
    let samples = super::call::index_attr(call, "sample_size")?.unwrap_or(dim::int(1));
    let wide = super::compose::working(ty.dtype);
    let shape = [ty.shape[0].clone(), samples, ty.shape[1].clone()];
    let drawn = unit(b, seed, 0, &shape, wide)?;
    // Of a number from 0 to below 1, so that neither logarithm is infinite.
    let step = if wide == DType::F64 { 0.5f64.powi(54) } else { 0.5f64.powi(25) };
    let above = with(b, BinaryOp::Add, drawn, step)?;
    let inner = unary(b, UnaryOp::Log, above)?;
    let inner = with(b, BinaryOp::Mul, inner, -1.0)?;
    let noise = unary(b, UnaryOp::Log, inner)?;
    let weights = cast(b, wide, x)?;
    let weights = reshape(b, weights, &[ty.shape[0].clone(), dim::int(1), ty.shape[1].clone()])?;
    let score = binary(b, BinaryOp::Sub, weights, noise)?;
    let class = b.emit(Op::ArgReduce { op: ArgOp::ArgMax, axis: Some(2), keepdims: false }, &[score])?;
    cast(b, call.dtype.unwrap_or(DType::I64), class)
}

/// Elements set to 0 by chance, the others scaled so that the mean stays.
fn dropout(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    let seed = seed(b, call, 1)?;
    let ratio = float_attr(call, "ratio", 0.5)?.get();
    if !(0.0..1.0).contains(&ratio) {
        return Err(super::check::attr_error(
            "ratio",
            format!("expected 0 or more and below 1 for `ratio`, found {ratio}"),
        ));
    }
    let drawn = unit(b, seed, 0, &ty.shape, ty.dtype)?;
    let least = b.scalar(Scalar::float(ty.dtype, ratio));
    let stays = compare(b, CmpOp::Ge, drawn, least)?;
    let scaled = with(b, BinaryOp::Mul, x, 1.0 / (1.0 - ratio))?;
    let zero = b.scalar(Scalar::zero(ty.dtype));
    super::compose::select(b, stays, scaled, zero)
}

pub(super) static TABLE: &[OpDef] = &[
    typed!(
        "random_uniform",
        "RandomUniform",
        "seed, shape",
        2,
        &[
            AttrDef { name: "low", ty: "float = 0.0", doc: "the least number" },
            AttrDef { name: "high", ty: "float = 1.0", doc: "what all numbers are below" },
        ],
        random_uniform,
        "Numbers from 0 to below 1 that depend on the seed and the place alone."
    ),
    typed!(
        "random_normal",
        "RandomNormal",
        "seed, shape",
        2,
        &[
            AttrDef { name: "mean", ty: "float = 0.0", doc: "mean" },
            AttrDef { name: "scale", ty: "float = 1.0", doc: "standard deviation" },
        ],
        random_normal,
        "Normally distributed numbers that depend on the seed and the place alone."
    ),
    typed!(
        "bernoulli",
        "Bernoulli",
        "p, seed",
        2,
        &[],
        bernoulli,
        "1 with the probability that each element says, else 0; in the dtype of p without a turbofish."
    ),
    typed!(
        "multinomial",
        "Multinomial",
        "x, seed",
        2,
        &[AttrDef { name: "sample_size", ty: "int = 1", doc: "how many are drawn per row" }],
        multinomial,
        "Classes drawn with replacement by the logarithms of their weights, a row each; i64 without a turbofish. The axis of classes must be proven non-empty."
    ),
    graph!(
        "dropout",
        "Dropout",
        "x, seed",
        2,
        &[AttrDef { name: "ratio", ty: "float = 0.5", doc: "probability of 0" }],
        dropout,
        "Elements set to 0 by chance, the others divided by 1 - ratio."
    ),
];
