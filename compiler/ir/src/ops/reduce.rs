//! Reductions over axes, and the operators along one axis.

use super::call::{axes_attr, axis_attr, bool_attr, float_attr, tensor, values};
use super::error::OpError;
use super::{AttrDef, OpCall, OpDef, OpKind};
use crate::op::{ArgOp, ReduceOp};
use crate::relax::{Builder, Op, ValueId};

const AXES: AttrDef =
    AttrDef { name: "axis", ty: "int | list = all", doc: "the axis or axes to reduce; negative counts from the end" };
const AXIS: AttrDef = AttrDef { name: "axis", ty: "int = -1", doc: "the axis; negative counts from the end" };
const ONE_OR_ALL: AttrDef =
    AttrDef { name: "axis", ty: "int = all", doc: "the axis; without it the index into the flattened tensor" };
const KEEPDIMS: AttrDef = AttrDef { name: "keepdims", ty: "bool = false", doc: "keep reduced axes with extent 1" };

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
        OpDef {
            name: $name,
            onnx: $onnx,
            signature: "x",
            arity: (1, 1),
            attrs: &[AXES, KEEPDIMS],
            typed: false,
            doc: $doc,
            kind: OpKind::Graph(|b, call| reduce(b, call, ReduceOp::$op)),
        }
    };
}

macro_rules! extreme {
    ($name:literal, $onnx:literal, $op:ident, $doc:literal) => {
        OpDef {
            name: $name,
            onnx: $onnx,
            signature: "x",
            arity: (1, 1),
            attrs: &[ONE_OR_ALL, KEEPDIMS],
            typed: false,
            doc: $doc,
            kind: OpKind::Graph(|b, call| arg_reduce(b, call, ArgOp::$op)),
        }
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
    OpDef {
        name: "softmax",
        onnx: "Softmax",
        signature: "x",
        arity: (1, 1),
        attrs: &[AXIS],
        typed: false,
        doc: "y = e^(x - m) / Σ e^(x - m) along the axis, m the largest x.",
        kind: OpKind::Graph(|b, call| softmax(b, call, false)),
    },
    OpDef {
        name: "log_softmax",
        onnx: "LogSoftmax",
        signature: "x",
        arity: (1, 1),
        attrs: &[AXIS],
        typed: false,
        doc: "y = x - m - ln Σ e^(x - m) along the axis, m the largest x.",
        kind: OpKind::Graph(|b, call| softmax(b, call, true)),
    },
    OpDef {
        name: "batch_normalization",
        onnx: "BatchNormalization",
        signature: "x, scale, bias, mean, variance",
        arity: (5, 5),
        attrs: &[AttrDef { name: "epsilon", ty: "float = 1e-5", doc: "added to the variance" }],
        typed: false,
        doc: "y = (x - mean) · (scale / √(variance + epsilon)) + bias, one number of each per channel, which is axis 1. f16 and bf16 are computed in f32 and rounded once.",
        kind: OpKind::Graph(batch_normalization),
    },
    OpDef {
        name: "layer_normalization",
        onnx: "LayerNormalization",
        signature: "x, scale, bias?",
        arity: (2, 3),
        attrs: &[
            AttrDef { name: "axis", ty: "int = -1", doc: "first normalised axis" },
            AttrDef { name: "epsilon", ty: "float = 1e-5", doc: "added to the variance" },
        ],
        typed: false,
        doc: "y = (x - mean) / √(variance + epsilon) · scale + bias, mean and variance over the axes from `axis` on.",
        kind: OpKind::Graph(layer_normalization),
    },
];
