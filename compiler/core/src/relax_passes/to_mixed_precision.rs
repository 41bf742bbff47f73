//! `ToMixedPrecision`: products and convolutions of `f32` are computed on halves.
//!
//! Opt-in: `ToMixedPrecision.dtype` is `f16` or `bf16`. The operators of [`ALWAYS`] take halves, accumulate in `f32`
//! as the language says of halves, round once, and are converted back. Those of [`FOLLOW`] only move or choose values,
//! so they run on halves where all their operands were halves, and nothing more is lost. All others stay. Phase:
//! before the operators become kernels; results differ by the rounding of halves.

use tenfold_ir::op::{BinaryOp, ElementOp, UnaryOp};
use tenfold_ir::relax::{Binding, Op, PoolOp, ValueId, op_name};
use tenfold_ir::{DType, Module};

use super::rewrite::{Rewriter, rewrite};
use crate::CompileError;
use crate::pass::{ConfigKey, Pass, PassContext, PassPhase, TextKey, wrong};

/// Which half.
const DTYPE: TextKey =
    TextKey { name: "ToMixedPrecision.dtype", default: "", doc: "`f16` or `bf16`; nothing changes where it is empty" };

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("ToMixedPrecision", &to_mixed_precision)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .reads(&[ConfigKey::Text(&DTYPE)])
    .about("computes products and convolutions on halves, where a setting asks for it");

/// Operators that are worth it.
const ALWAYS: &[&str] = &["matmul", "conv"];

/// Operators whose result is one of their operands' elements, or one without its sign.
const FOLLOW: &[&str] = &[
    "reshape",
    "transpose",
    "broadcast_to",
    "concat",
    "slice",
    "relu",
    "neg",
    "abs",
    "minimum",
    "maximum",
    "max_pool",
];

/// Runs on every relax function.
pub(crate) fn to_mixed_precision(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let half = match context.text(&DTYPE) {
        "" => return Ok(()),
        "f16" => DType::F16,
        "bf16" => DType::BF16,
        other => return Err(wrong(format!("`{}` takes `f16` or `bf16`, found `{other}`", DTYPE.name), None)),
    };
    rewrite(module, &mut |cx: &mut Rewriter<'_>, binding: &Binding| lower(cx, binding, half));
    Ok(())
}

fn lower(cx: &mut Rewriter<'_>, binding: &Binding, half: DType) -> Option<ValueId> {
    if cx.dtype(binding.out)? != DType::F32 || binding.args.is_empty() || !binding.regions.is_empty() {
        return None;
    }
    let word = op_name(&binding.op);
    if !ALWAYS.contains(&word) && !follows(cx, binding, word, half) {
        return None;
    }
    let args: Option<Vec<ValueId>> = binding.args.iter().map(|arg| halved(cx, *arg, half)).collect();
    let low = cx.emit(binding.op.clone(), &args?)?;
    cx.emit(Op::Element(ElementOp::Cast(DType::F32)), &[low])
}

fn follows(cx: &Rewriter<'_>, binding: &Binding, word: &str, half: DType) -> bool {
    debug_assert!(!FOLLOW.contains(&word) || keeps_elements(&binding.op), "{word} computes");
    FOLLOW.contains(&word) && binding.args.iter().all(|arg| was_half(cx, *arg, half).is_some())
}

/// The half that a value was converted from.
fn was_half(cx: &Rewriter<'_>, v: ValueId, half: DType) -> Option<ValueId> {
    let def = cx.def(v)?;
    let widened = def.op == Op::Element(ElementOp::Cast(DType::F32)) && cx.dtype(def.args[0]) == Some(half);
    widened.then(|| def.args[0])
}

fn halved(cx: &mut Rewriter<'_>, v: ValueId, half: DType) -> Option<ValueId> {
    match was_half(cx, v, half) {
        Some(low) => Some(low),
        None => cx.emit(Op::Element(ElementOp::Cast(half)), &[v]),
    }
}

/// Whether every element of the result is an element of an operand, or its negative or magnitude, or 0.
fn keeps_elements(op: &Op) -> bool {
    match op {
        Op::Reshape { .. }
        | Op::Transpose { .. }
        | Op::BroadcastTo { .. }
        | Op::Concat { .. }
        | Op::Slice { .. }
        | Op::Pool { op: PoolOp::Max, .. } => true,
        Op::Element(op) => matches!(
            op,
            ElementOp::Unary(UnaryOp::Neg | UnaryOp::Abs)
                | ElementOp::Binary(BinaryOp::Min | BinaryOp::Max)
                | ElementOp::Activation(tenfold_ir::op::Activation::Relu)
        ),
        _ => false,
    }
}
