//! `ToMixedPrecision`: products and convolutions of `f32` are computed on halves.
//!
//! Opt-in: `ToMixedPrecision.dtype` is `f16` or `bf16`. The operators of [`ALWAYS`] take halves, accumulate in `f32`
//! as the language says of halves, round once, and are converted back. Those of [`FOLLOW`] only move or choose values,
//! so they run on halves where all their operands were halves, and nothing more is lost. All others stay.
//!
//! With `ToMixedPrecision.out_dtype` = `f32` the factors alone are rounded: products read halves, which are widened, and
//! their results are what `f32` makes of them. That is `#[tensor_fn(precision = "bf16")]`. Phase: before the operators
//! become kernels; results differ by the rounding of halves.

use tenfold_ir::op::{BinaryOp, ElementOp, UnaryOp};
use tenfold_ir::relax::{Binding, Op, PoolOp, TensorType, ValueId, op_name};
use tenfold_ir::{DType, Module};

use super::const_data::bytes_of;
use super::fold_constant::constant;
use super::rewrite::{Rewriter, rewrite};
use crate::CompileError;
use crate::pass::{ConfigKey, Pass, PassContext, PassPhase, TextKey, wrong};

/// Which half.
const DTYPE: TextKey =
    TextKey { name: "ToMixedPrecision.dtype", default: "", doc: "`f16` or `bf16`; nothing changes where it is empty" };

/// The dtype of results.
const OUT: TextKey = TextKey {
    name: "ToMixedPrecision.out_dtype",
    default: "",
    doc: "`f32` where only factors are rounded; where it is empty, results are rounded too",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("ToMixedPrecision", &to_mixed_precision)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .reads(&[ConfigKey::Text(&DTYPE), ConfigKey::Text(&OUT)])
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
    match context.text(&OUT) {
        "" => rewrite(module, &mut |cx: &mut Rewriter<'_>, binding: &Binding| lower(cx, binding, half)),
        "f32" => rewrite(module, &mut |cx: &mut Rewriter<'_>, binding: &Binding| round_factors(cx, binding, half)),
        other => return Err(wrong(format!("`{}` takes `f32`, found `{other}`", OUT.name), None)),
    };
    Ok(())
}

/// A product whose factors are rounded to halves and widened again.
fn round_factors(cx: &mut Rewriter<'_>, binding: &Binding, half: DType) -> Option<ValueId> {
    if cx.dtype(binding.out)? != DType::F32 || !ALWAYS.contains(&op_name(&binding.op)) {
        return None;
    }
    let mut args = binding.args.clone();
    let factors = args.iter_mut().take(2).filter(|arg| was_half(cx, **arg, half).is_none());
    let factors: Vec<&mut ValueId> = factors.collect();
    if factors.is_empty() {
        return None;
    }
    for arg in factors {
        let low = rounded(cx, *arg, half)?;
        *arg = cx.emit(Op::Element(ElementOp::Cast(DType::F32)), &[low])?;
    }
    cx.emit(binding.op.clone(), &args)
}

/// A value in halves. Constants are rounded here, however large they are, also behind what only moves them.
fn rounded(cx: &mut Rewriter<'_>, v: ValueId, half: DType) -> Option<ValueId> {
    let def = cx.def(v).cloned();
    match def.as_ref().map(|def| (&def.op, &def.args[..])) {
        Some((Op::Const(id), _)) if half == DType::BF16 => {
            let bytes = brief(&bytes_of(cx.module.constant(*id))?);
            let ty = TensorType { dtype: half, ..cx.tensor(v)?.clone() };
            let name = cx.data(v).name.clone();
            Some(constant(cx, &name, &ty, bytes))
        }
        Some((op @ (Op::Reshape { .. } | Op::Transpose { .. }), [source])) => {
            let source = rounded(cx, *source, half)?;
            cx.emit(op.clone(), &[source])
        }
        _ => cx.emit(Op::Element(ElementOp::Cast(half)), &[v]),
    }
}

/// Floats of 32 bits as their upper halves, rounded to nearest with ties to even; what is no number stays none.
fn brief(bytes: &[u8]) -> Vec<u8> {
    let one = |word: &[u8]| {
        let bits = word.iter().rev().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let half = match f32::from_bits(bits).is_nan() {
            true => bits >> 16 | 0x40,
            false => (bits + 0x7fff + (bits >> 16 & 1)) >> 16,
        };
        (half as u16).to_le_bytes()
    };
    bytes.chunks_exact(4).flat_map(one).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use tenfold_ir::Scalar;
    use tenfold_ir::eval::scalar_ops::cast;

    #[test]
    fn constants_are_rounded_as_conversions_round() {
        let ties =
            [0x3f80_8000, 0x3f81_8000, 0x3f80_8001, 0xbf80_7fff, 0x7f7f_ffff, 0x7f80_0000, 0xff80_0001, 1, 0x8000_0000];
        let spread = (0..1u32 << 12).map(|n| n.wrapping_mul(0x9e37_79b9));
        for bits in ties.into_iter().chain(spread) {
            let wanted = cast(DType::BF16, Scalar { dtype: DType::F32, bits: u64::from(bits) });
            let found = brief(&bits.to_le_bytes());
            let found = Scalar { dtype: DType::BF16, bits: u64::from(u16::from_le_bytes([found[0], found[1]])) };
            let nan = found.to_f64().is_nan() && wanted.to_f64().is_nan();
            assert!(found == wanted || nan, "{bits:x}: {found:?} and {wanted:?}");
        }
    }
}
