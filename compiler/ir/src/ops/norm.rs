//! Moments, norms and normalisations: compositions. f16 and bf16 are computed in f32 and rounded once.

use super::call::{axes_attr, axis_attr, bool_attr, float_attr, int_attr, tensor, values};
use super::check::{attr_error, floats, rank_at_least, same_dtype, shape};
use super::compose::{add, binary, cast, div, index_value, mul, reduce, reshape, sub, unary, with, working};
use super::entry::{AXES, AXIS, EPSILON, FIRST_AXIS, KEEPDIMS};
use super::error::OpError;
use super::kernel::Kernel;
use super::{AttrDef, OpCall, OpDef};
use crate::arith::IntExpr;
use crate::op::{BinaryOp, ReduceOp, UnaryOp};
use crate::relax::{Builder, TensorType, ValueId, dim};

/// The operand in what it is computed in.
struct Wide {
    x: ValueId,
    ty: TensorType,
}

fn wide(b: &mut Builder, call: &OpCall) -> Result<Wide, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    let x = cast(b, working(ty.dtype), x)?;
    Ok(Wide { x, ty })
}

fn all_axes(call: &OpCall, ty: &TensorType) -> Result<Vec<usize>, OpError> {
    let mut axes = axes_attr(call, "axis", ty, 0)?.unwrap_or_else(|| (0..ty.shape.len()).collect());
    axes.sort_unstable();
    Ok(axes)
}

/// The mean of squared distances from the mean; `ddof` is taken from the count.
fn variance(b: &mut Builder, call: &OpCall, root: bool) -> Result<ValueId, OpError> {
    let Wide { x, ty } = wide(b, call)?;
    let axes = all_axes(call, &ty)?;
    let keepdims = bool_attr(call, "keepdims", false)?;
    let less = int_attr(call, "ddof")?.unwrap_or(0);
    let mean = reduce(b, ReduceOp::Mean, x, &axes, true)?;
    let distance = sub(b, x, mean)?;
    let squared = unary(b, UnaryOp::Square, distance)?;
    let value = if less == 0 {
        reduce(b, ReduceOp::Mean, squared, &axes, keepdims)?
    } else {
        let total = reduce(b, ReduceOp::Sum, squared, &axes, keepdims)?;
        let extents: Vec<IntExpr> = axes.iter().map(|axis| ty.shape[*axis].clone()).collect();
        let count = &dim::product(&extents) - &dim::int(less);
        let count = index_value(b, working(ty.dtype), &count)?;
        div(b, total, count)?
    };
    let value = if root { unary(b, UnaryOp::Sqrt, value)? } else { value };
    cast(b, ty.dtype, value)
}

/// Sums of absolute values or the root of the sum of squares.
fn norm(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let Wide { x, ty } = wide(b, call)?;
    let axes = all_axes(call, &ty)?;
    let keepdims = bool_attr(call, "keepdims", false)?;
    let value = match int_attr(call, "ord")?.unwrap_or(2) {
        1 => {
            let size = unary(b, UnaryOp::Abs, x)?;
            reduce(b, ReduceOp::Sum, size, &axes, keepdims)?
        }
        2 => {
            let squared = unary(b, UnaryOp::Square, x)?;
            let sum = reduce(b, ReduceOp::Sum, squared, &axes, keepdims)?;
            unary(b, UnaryOp::Sqrt, sum)?
        }
        other => return Err(attr_error("ord", format!("expected 1 or 2 for `ord`, found {other}"))),
    };
    cast(b, ty.dtype, value)
}

/// `m + ln Σ e^(x - m)`, m being the largest, or 0 where that is infinite.
fn logsumexp(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let Wide { x, ty } = wide(b, call)?;
    let axes = all_axes(call, &ty)?;
    let keepdims = bool_attr(call, "keepdims", false)?;
    let most = reduce(b, ReduceOp::Max, x, &axes, true)?;
    let finite = unary(b, UnaryOp::IsFinite, most)?;
    let zero = b.scalar(crate::Scalar::zero(working(ty.dtype)));
    let most = super::compose::select(b, finite, most, zero)?;
    let left = sub(b, x, most)?;
    let powers = unary(b, UnaryOp::Exp, left)?;
    let sum = reduce(b, ReduceOp::Sum, powers, &axes, true)?;
    let log = unary(b, UnaryOp::Log, sum)?;
    let value = add(b, log, most)?;
    let kept = ty.shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
    let kept: Vec<IntExpr> = kept.map(|(_, extent)| extent.clone()).collect();
    let value = if keepdims { value } else { reshape(b, value, &kept)? };
    cast(b, ty.dtype, value)
}

fn rms_normalization(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let args = values(b, call, 0)?;
    let Wide { x, ty } = wide(b, call)?;
    same_dtype(1, &b.tensor(args[1]).clone(), &ty)?;
    let axis = axis_attr(call, &ty, -1)?;
    let epsilon = float_attr(call, "epsilon", 1e-5)?.get();
    let axes: Vec<usize> = (axis..ty.shape.len()).collect();
    let squared = unary(b, UnaryOp::Square, x)?;
    let mean = reduce(b, ReduceOp::Mean, squared, &axes, true)?;
    let mean = with(b, BinaryOp::Add, mean, epsilon)?;
    let root = unary(b, UnaryOp::Sqrt, mean)?;
    let value = div(b, x, root)?;
    let scale = cast(b, working(ty.dtype), args[1])?;
    let value = mul(b, value, scale)?;
    cast(b, ty.dtype, value)
}

/// `(x - mean) / √(variance + epsilon)` over axes of `x`.
fn standardised(b: &mut Builder, x: ValueId, axes: &[usize], epsilon: f64) -> Result<ValueId, OpError> {
    let mean = reduce(b, ReduceOp::Mean, x, axes, true)?;
    let distance = sub(b, x, mean)?;
    let squared = unary(b, UnaryOp::Square, distance)?;
    let variance = reduce(b, ReduceOp::Mean, squared, axes, true)?;
    let variance = with(b, BinaryOp::Add, variance, epsilon)?;
    let root = unary(b, UnaryOp::Sqrt, variance)?;
    div(b, distance, root)
}

/// Channels in groups, each normalised with its spatial axes, then scaled and moved per channel.
fn group_normalization(b: &mut Builder, call: &OpCall, groups: Option<i64>) -> Result<ValueId, OpError> {
    let args = values(b, call, 0)?;
    let Wide { x, ty } = wide(b, call)?;
    rank_at_least(0, &ty, 3)?;
    for (i, arg) in args.iter().enumerate().skip(1) {
        let found = b.tensor(*arg).clone();
        same_dtype(i, &found, &ty)?;
        shape(b, i, &found, &ty.shape[1..2])?;
    }
    let epsilon = float_attr(call, "epsilon", 1e-5)?.get();
    // Where the spatial axes are one, a channel is a row, as vectors have it.
    let plane = ty.shape[2..].iter().fold(dim::int(1), |n, extent| &n * extent);
    let split = match groups {
        None => vec![ty.shape[0].clone(), ty.shape[1].clone(), plane],
        Some(groups) => {
            let channels = dim::as_int(&ty.shape[1]).filter(|n| groups > 0 && n % groups == 0);
            let Some(channels) = channels else {
                let message =
                    format!("expected a divisor of the {} channels for `num_groups`, found {groups}", ty.shape[1]);
                return Err(attr_error("num_groups", message));
            };
            vec![ty.shape[0].clone(), dim::int(groups), dim::int(channels / groups), plane]
        }
    };
    let rows = reshape(b, x, &split)?;
    let value = standardised(b, rows, &(2..split.len()).collect::<Vec<_>>(), epsilon)?;
    // One number per channel, beside rows.
    let mut channels = split[1..].to_vec();
    channels.pop();
    channels.push(dim::int(1));
    let per_channel = |b: &mut Builder, v: ValueId| {
        let v = cast(b, working(ty.dtype), v)?;
        reshape(b, v, &channels)
    };
    let (scale, bias) = (per_channel(b, args[1])?, per_channel(b, args[2])?);
    let value = mul(b, value, scale)?;
    let value = add(b, value, bias)?;
    let value = reshape(b, value, &ty.shape)?;
    cast(b, ty.dtype, value)
}

fn lp_normalization(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let Wide { x, ty } = wide(b, call)?;
    let axis = axis_attr(call, &ty, -1)?;
    let size = match int_attr(call, "p")?.unwrap_or(2) {
        1 => {
            let size = unary(b, UnaryOp::Abs, x)?;
            reduce(b, ReduceOp::Sum, size, &[axis], true)?
        }
        2 => {
            let squared = unary(b, UnaryOp::Square, x)?;
            let sum = reduce(b, ReduceOp::Sum, squared, &[axis], true)?;
            unary(b, UnaryOp::Sqrt, sum)?
        }
        other => return Err(attr_error("p", format!("expected 1 or 2 for `p`, found {other}"))),
    };
    let value = div(b, x, size)?;
    cast(b, ty.dtype, value)
}

/// Each element divided by a power of the squares of its neighbours in other channels.
fn lrn(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let Wide { x, ty } = wide(b, call)?;
    rank_at_least(0, &ty, 3)?;
    let size = int_attr(call, "size")?.ok_or_else(|| super::call::missing("size", "5"))?;
    if size < 1 {
        return Err(attr_error("size", format!("expected 1 or more for `size`, found {size}")));
    }
    let number = |name, default| Ok::<f64, OpError>(float_attr(call, name, default)?.get());
    let (alpha, beta, bias) = (number("alpha", 1e-4)?, number("beta", 0.75)?, number("bias", 1.0)?);
    let dtype = working(ty.dtype);
    let k = Kernel::new(b, "lrn");
    let from = k.input(b, x);
    let sums = k.output(TensorType { dtype, shape: ty.shape.clone() });
    let channels = from.dim(1);
    k.block("squares", &ty.shape, |i| {
        let sum = k.cell("sum", k.lit(dtype, 0.0));
        k.for_("w", k.int(size), |w| {
            let at = i[1] + w - (size - 1) / 2;
            k.if_(at.ge(0).and(at.lt(channels)), || {
                let value = from.at(&[&i[..1], &[at], &i[2..]].concat());
                sum.set(sum.now() + value * value);
            });
        });
        sums.put(i, sum.get());
    });
    let sums = k.finish(b)?;
    let scaled = with(b, BinaryOp::Mul, sums, alpha / size as f64)?;
    let base = with(b, BinaryOp::Add, scaled, bias)?;
    let power = with(b, BinaryOp::Pow, base, beta)?;
    let value = binary(b, BinaryOp::Div, x, power)?;
    cast(b, ty.dtype, value)
}

const DDOF: AttrDef = AttrDef { name: "ddof", ty: "int = 0", doc: "taken from the count of elements" };

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "var",
        "",
        "x",
        1,
        &[AXES, KEEPDIMS, DDOF],
        |b, call| variance(b, call, false),
        "y = Σ (x - mean)² / (n - ddof) of floats."
    ),
    graph!("std", "", "x", 1, &[AXES, KEEPDIMS, DDOF], |b, call| variance(b, call, true), "The square root of `var`."),
    graph!(
        "norm",
        "ReduceL2",
        "x",
        1,
        &[AXES, KEEPDIMS, AttrDef { name: "ord", ty: "int = 2", doc: "1 (ONNX ReduceL1) or 2" }],
        norm,
        "y = √(Σ x²), or Σ |x|, of floats."
    ),
    graph!(
        "logsumexp",
        "ReduceLogSumExp",
        "x",
        1,
        &[AXES, KEEPDIMS],
        logsumexp,
        "y = ln Σ e^x of floats, without overflow; -∞ over nothing."
    ),
    graph!(
        "rms_normalization",
        "RMSNormalization",
        "x, scale",
        2,
        &[FIRST_AXIS, AttrDef { name: "epsilon", ty: "float = 1e-5", doc: "added to the mean of squares" },],
        rms_normalization,
        "y = x / √(mean(x²) + epsilon) · scale, the mean over the axes from `axis` on."
    ),
    graph!(
        "group_normalization",
        "GroupNormalization",
        "x, scale, bias",
        3,
        &[AttrDef { name: "num_groups", ty: "int", doc: "groups of channels, which are axis 1" }, EPSILON],
        |b, call| {
            let groups = int_attr(call, "num_groups")?.ok_or_else(|| super::call::missing("num_groups", "4"))?;
            group_normalization(b, call, Some(groups))
        },
        "y = (x - mean) / √(variance + epsilon) · scale + bias, moments over each group of channels with its spatial axes, scale and bias per channel."
    ),
    graph!(
        "instance_normalization",
        "InstanceNormalization",
        "x, scale, bias",
        3,
        &[EPSILON],
        |b, call| group_normalization(b, call, None),
        "y = (x - mean) / √(variance + epsilon) · scale + bias, moments over the spatial axes of each channel."
    ),
    graph!(
        "lp_normalization",
        "LpNormalization",
        "x",
        1,
        &[AXIS, AttrDef { name: "p", ty: "int = 2", doc: "1 or 2" }],
        lp_normalization,
        "x divided by its norm along an axis."
    ),
    graph!(
        "lrn",
        "LRN",
        "x",
        1,
        &[
            AttrDef { name: "size", ty: "int", doc: "how many channels count" },
            AttrDef { name: "alpha", ty: "float = 1e-4", doc: "scale of the mean of squares" },
            AttrDef { name: "beta", ty: "float = 0.75", doc: "exponent" },
            AttrDef { name: "bias", ty: "float = 1.0", doc: "added before the power" },
        ],
        lrn,
        "y = x / (bias + alpha / size · Σ x²)^beta, the sum over `size` neighbouring channels."
    ),
];
