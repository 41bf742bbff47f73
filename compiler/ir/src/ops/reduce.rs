//! Reductions over axes, and the operators along one axis.

use super::call::{axes_attr, axis_attr, bool_attr, float_attr, tensor, values};
use super::entry::{AXES, AXIS, EPSILON, FIRST_AXIS, KEEPDIMS};
use super::error::OpError;
use super::{AttrDef, OpCall, OpDef};
use crate::op::{ArgOp, ReduceOp};
use crate::relax::{Builder, Op, ValueId};

const ONE_OR_ALL: AttrDef =
    AttrDef { name: "axis", ty: "int = all", doc: "the axis; without it the index into the flattened tensor" };

fn reduce(b: &mut Builder, call: &OpCall, op: ReduceOp) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let mut axes = axes_attr(call, "axis", &ty, 0)?.unwrap_or_else(|| (0..ty.shape.len()).collect());
    axes.sort_unstable();
    let keepdims = bool_attr(call, "keepdims", false)?;
    b.emit(Op::Reduce { op, axes, keepdims }, &[x])
}

fn arg_reduce(b: &mut Builder, call: &OpCall, op: ArgOp) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let axis = if call.attrs.contains_key("axis") { Some(axis_attr(call, &ty, -1)?) } else { None };
    let keepdims = bool_attr(call, "keepdims", false)?;
    b.emit(Op::ArgReduce { op, axis, keepdims }, &[x])
}

fn softmax(b: &mut Builder, call: &OpCall, log: bool) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let axis = axis_attr(call, &ty, -1)?;
    b.emit(Op::Softmax { axis, log }, &[x])
}

fn layer_normalization(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let args = values(b, call, 0)?;
    let axis = axis_attr(call, &b.tensor(args[0]).clone(), -1)?;
    let epsilon = float_attr(call, "epsilon", 1e-5)?;
    b.emit(Op::LayerNorm { axis, epsilon }, &args)
}

/// Channels are axis 1, as ONNX has them.
fn batch_normalization(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let args = values(b, call, 0)?;
    let epsilon = float_attr(call, "epsilon", 1e-5)?;
    b.emit(Op::BatchNorm { axis: 1, epsilon }, &args)
}

macro_rules! reduction {
    ($name:literal, $onnx:literal, $op:ident, $doc:literal) => {
        graph!($name, $onnx, "x", 1, &[AXES, KEEPDIMS], |b, call| reduce(b, call, ReduceOp::$op), $doc)
    };
}

macro_rules! extreme {
    ($name:literal, $onnx:literal, $op:ident, $doc:literal) => {
        graph!($name, $onnx, "x", 1, &[ONE_OR_ALL, KEEPDIMS], |b, call| arg_reduce(b, call, ArgOp::$op), $doc)
    };
}

pub(super) static TABLE: &[OpDef] = &[
    reduction!("sum", "ReduceSum", Sum, "y = Σ x in x's dtype; 0 over nothing."),
    reduction!("prod", "ReduceProd", Prod, "y = Π x in x's dtype; 1 over nothing."),
    reduction!("mean", "ReduceMean", Mean, "y = Σ x / n of floats; NaN over nothing."),
    reduction!("max", "ReduceMax", Max, "The largest element, NaN if one is; the least value over nothing."),
    reduction!("min", "ReduceMin", Min, "The smallest element, NaN if one is; the greatest value over nothing."),
    reduction!("any", "", Any, "Whether one of bools holds; false over nothing."),
    reduction!("all", "", All, "Whether all of bools hold; true over nothing."),
    extreme!(
        "argmax",
        "ArgMax",
        ArgMax,
        "Index of the largest element as i64; the first of equals, or the first NaN. The axis must be proven non-empty."
    ),
    extreme!(
        "argmin",
        "ArgMin",
        ArgMin,
        "Index of the smallest element as i64; the first of equals, or the first NaN. The axis must be proven non-empty."
    ),
    graph!(
        "softmax",
        "Softmax",
        "x",
        1,
        &[AXIS],
        |b, call| softmax(b, call, false),
        "y = e^(x - m) / Σ e^(x - m) along the axis, m the largest x; each e^d within 2 ulps, of a d that may be 2^-28 of itself off."
    ),
    graph!(
        "log_softmax",
        "LogSoftmax",
        "x",
        1,
        &[AXIS],
        |b, call| softmax(b, call, true),
        "y = x - m - ln Σ e^(x - m) along the axis, m the largest x."
    ),
    graph!(
        "batch_normalization",
        "BatchNormalization",
        "x, scale, bias, mean, variance",
        5,
        &[EPSILON],
        batch_normalization,
        "y = (x - mean) · (scale / √(variance + epsilon)) + bias, one number of each per channel, which is axis 1. f16 and bf16 are computed in f32 and rounded once."
    ),
    graph!(
        "layer_normalization",
        "LayerNormalization",
        "x, scale, bias?",
        (2, 3),
        &[FIRST_AXIS, EPSILON,],
        layer_normalization,
        "y = (x - mean) / √(variance + epsilon) · scale + bias, mean and variance over the axes from `axis` on."
    ),
];
