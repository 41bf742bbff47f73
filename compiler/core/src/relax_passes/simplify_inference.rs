//! `SimplifyInference`: operators of inference as the compositions that define them.
//!
//! Taken apart, their elementwise parts join what stands around them. Which are is a setting each, for some targets
//! have kernels of their own: `batch_normalization` by default, `layer_normalization` and `softmax` (each one kernel
//! here, which reads its row a few times) only on demand. There is no dropout: it does nothing in inference, and the
//! language has none. Phase: before the operators become kernels. Results stay within the bounds of the operators.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{Binding, Op, ValueId};
use tenfold_ir::{DType, Module, Scalar};

use super::rewrite::{Rewriter, rewrite};
use crate::CompileError;
use crate::pass::{ConfigKey, FlagKey, Pass, PassContext, PassPhase};

/// Layer norms.
const LAYER_NORM: FlagKey = FlagKey {
    name: "SimplifyInference.layer_normalization",
    default: false,
    doc: "whether `layer_normalization` is taken apart",
};

/// Softmax.
const SOFTMAX: FlagKey = FlagKey {
    name: "SimplifyInference.softmax",
    default: false,
    doc: "whether `softmax` and `log_softmax` are taken apart",
};

/// Batch norms.
const BATCH_NORM: FlagKey = FlagKey {
    name: "SimplifyInference.batch_normalization",
    default: true,
    doc: "whether `batch_normalization` is taken apart",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("SimplifyInference", &simplify_inference)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .reads(&[ConfigKey::Flag(&BATCH_NORM), ConfigKey::Flag(&LAYER_NORM), ConfigKey::Flag(&SOFTMAX)])
    .about("takes operators of inference apart");

/// Runs on every relax function.
pub(crate) fn simplify_inference(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let batch = context.flag(&BATCH_NORM);
    let (norm, softmax) = (context.flag(&LAYER_NORM), context.flag(&SOFTMAX));
    rewrite(module, &mut |cx: &mut Rewriter<'_>, binding: &Binding| match &binding.op {
        Op::BatchNorm { axis, epsilon } if batch => batch_norm(cx, binding, *axis, epsilon.get()),
        Op::LayerNorm { axis, epsilon } if norm => layer_norm(cx, binding, *axis, epsilon.get()),
        Op::Softmax { axis, log } if softmax => self::softmax(cx, binding, *axis, *log),
        _ => None,
    });
    Ok(())
}

/// The dtype in which rows are summed.
fn wide(dtype: DType) -> DType {
    if dtype.is_half() { DType::F32 } else { dtype }
}

pub(super) fn binary(cx: &mut Rewriter<'_>, op: BinaryOp, a: ValueId, b: ValueId) -> Option<ValueId> {
    cx.emit(Op::Element(ElementOp::Binary(op)), &[a, b])
}

pub(super) fn unary(cx: &mut Rewriter<'_>, op: UnaryOp, x: ValueId) -> Option<ValueId> {
    cx.emit(Op::Element(ElementOp::Unary(op)), &[x])
}

/// Converted, unless it is of that dtype.
pub(super) fn cast(cx: &mut Rewriter<'_>, x: ValueId, dtype: DType) -> Option<ValueId> {
    if cx.dtype(x)? == dtype { Some(x) } else { cx.emit(Op::Element(ElementOp::Cast(dtype)), &[x]) }
}

/// `scale · rsqrt(variance + epsilon)`, one per channel.
pub(super) fn batch_factor(cx: &mut Rewriter<'_>, norm: &[ValueId], epsilon: f64, dtype: DType) -> Option<ValueId> {
    let (scale, variance) = (cast(cx, norm[1], dtype)?, cast(cx, norm[4], dtype)?);
    let epsilon = cx.scalar(Scalar::float(dtype, epsilon));
    let safe = binary(cx, BinaryOp::Add, variance, epsilon)?;
    let inverse = unary(cx, UnaryOp::Rsqrt, safe)?;
    binary(cx, BinaryOp::Mul, scale, inverse)
}

/// `(x - mean) · factor + bias`.
fn batch_norm(cx: &mut Rewriter<'_>, binding: &Binding, axis: usize, epsilon: f64) -> Option<ValueId> {
    let x = binding.args[0];
    let behind = cx.shape(x).len() - axis - 1;
    let channels = cx.shape(x)[axis].clone();
    let wide: Vec<IntExpr> = [channels].into_iter().chain((0..behind).map(|_| IntExpr::from(1))).collect();
    normalised(cx, binding, x, &wide, epsilon)
}

/// A batch norm's operators on `x`, its operand in some order; numbers per channel take the shape `shape`.
pub(super) fn normalised(
    cx: &mut Rewriter<'_>,
    binding: &Binding,
    x: ValueId,
    shape: &[IntExpr],
    epsilon: f64,
) -> Option<ValueId> {
    let narrow = cx.dtype(binding.out)?;
    let dtype = wide(narrow);
    let factor = batch_factor(cx, &binding.args, epsilon, dtype)?;
    let x = cast(cx, x, dtype)?;
    let (mean, bias) = (cast(cx, binding.args[3], dtype)?, cast(cx, binding.args[2], dtype)?);
    let [mean, factor, bias] = [mean, factor, bias].map(|v| stretched(cx, v, shape));
    let apart = binary(cx, BinaryOp::Sub, x, mean?)?;
    let scaled = binary(cx, BinaryOp::Mul, apart, factor?)?;
    let out = binary(cx, BinaryOp::Add, scaled, bias?)?;
    cast(cx, out, narrow)
}

/// A vector in another shape.
fn stretched(cx: &mut Rewriter<'_>, v: ValueId, shape: &[IntExpr]) -> Option<ValueId> {
    if shape.len() == 1 {
        return Some(v);
    }
    cx.emit(Op::Reshape { shape: shape.to_vec() }, &[v])
}

/// `(x - mean) · rsqrt(variance + epsilon) · scale + bias`.
fn layer_norm(cx: &mut Rewriter<'_>, binding: &Binding, axis: usize, epsilon: f64) -> Option<ValueId> {
    let narrow = cx.dtype(binding.out)?;
    let dtype = wide(narrow);
    let x = cast(cx, binding.args[0], dtype)?;
    let mean = Op::Reduce { op: ReduceOp::Mean, axes: (axis..cx.shape(x).len()).collect(), keepdims: true };
    let centre = cx.emit(mean.clone(), &[x])?;
    let apart = binary(cx, BinaryOp::Sub, x, centre)?;
    let squares = binary(cx, BinaryOp::Mul, apart, apart)?;
    let variance = cx.emit(mean, &[squares])?;
    let epsilon = cx.scalar(Scalar::float(dtype, epsilon));
    let safe = binary(cx, BinaryOp::Add, variance, epsilon)?;
    let inverse = unary(cx, UnaryOp::Rsqrt, safe)?;
    let mut out = binary(cx, BinaryOp::Mul, apart, inverse)?;
    let scale = cast(cx, binding.args[1], dtype)?;
    out = binary(cx, BinaryOp::Mul, out, scale)?;
    if let Some(bias) = binding.args.get(2) {
        let bias = cast(cx, *bias, dtype)?;
        out = binary(cx, BinaryOp::Add, out, bias)?;
    }
    cast(cx, out, narrow)
}

/// `exp(x - max) * (1 / sum)`, or `x - max - log(sum)`.
fn softmax(cx: &mut Rewriter<'_>, binding: &Binding, axis: usize, log: bool) -> Option<ValueId> {
    let narrow = cx.dtype(binding.out)?;
    let x = cast(cx, binding.args[0], wide(narrow))?;
    let along = |op| Op::Reduce { op, axes: vec![axis], keepdims: true };
    let max = cx.emit(along(ReduceOp::Max), &[x])?;
    let shifted = binary(cx, BinaryOp::Sub, x, max)?;
    let powers = unary(cx, UnaryOp::Exp, shifted)?;
    let sum = cx.emit(along(ReduceOp::Sum), &[powers])?;
    let out = if log {
        let shift = unary(cx, UnaryOp::Log, sum)?;
        binary(cx, BinaryOp::Sub, shifted, shift)?
    } else {
        let one = cx.scalar(Scalar::one(wide(narrow)));
        let inverse = binary(cx, BinaryOp::Div, one, sum)?;
        binary(cx, BinaryOp::Mul, powers, inverse)?
    };
    cast(cx, out, narrow)
}
