//! Attention and what goes with it.

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp, ReduceOp, UnaryOp};
use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::relax::{Op, PadMode, ValueId};

use super::{OnnxOp, op};
use crate::call::Call;
use crate::elem::Elem;
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// `[batch, length, heads · size]` as `[batch, heads, length, size]`; what has four axes is so already.
fn heads(cx: &mut Cx<'_>, x: ValueId, count: Option<i64>) -> Outcome<ValueId> {
    let dims = cx.dims(x);
    match (dims.as_slice(), count) {
        ([_, _, _, _], _) => Ok(x),
        ([batch, length, hidden], Some(count)) if count > 0 => {
            let shape = [batch.clone(), length.clone(), int(count), hidden.floor_div(&int(count))];
            let split = cx.reshape(x, &shape)?;
            cx.transpose(split, &[0, 2, 1, 3])
        }
        (dims, _) => fault(format!("expected rank 4, or rank 3 with a number of heads; found {dims:?}")),
    }
}

/// Heads of keys and values repeated for each query head that shares them.
pub(super) fn shared(cx: &mut Cx<'_>, x: ValueId, q_heads: &IntExpr) -> Outcome<ValueId> {
    let dims = cx.dims(x);
    let (Some(own), Some(wanted)) = (dims[1].as_const(), q_heads.as_const()) else { return Ok(x) };
    if own == wanted || own == 0 || wanted % own != 0 {
        return Ok(x);
    }
    let [batch, _, length, size] = dims.as_slice() else { return Ok(x) };
    let x = cx.expand_dims(x, 2)?;
    let x = cx.broadcast(x, &[batch.clone(), int(own), int(wanted / own), length.clone(), size.clone()])?;
    cx.reshape(x, &[batch.clone(), q_heads.clone(), length.clone(), size.clone()])
}

/// `0` where `allowed` holds, else minus infinity.
fn bias_of(cx: &mut Cx<'_>, allowed: ValueId, dtype: DType) -> Outcome<ValueId> {
    let (zero, off) = (cx.scalar(dtype, 0.0), cx.scalar(dtype, f64::NEG_INFINITY));
    cx.select(allowed, zero, off)
}

/// The mask as a bias, padded to the length of the keys.
fn mask_bias<'m>(cx: &mut Cx<'m>, mask: ValueId, keys: &IntExpr, dtype: DType) -> Outcome<ValueId> {
    let mut bias = if cx.dtype(mask).is_bool() { bias_of(cx, mask, dtype)? } else { cx.cast(mask, dtype)? };
    let dims = cx.dims(bias);
    let Some(last) = dims.last() else { return Ok(bias) };
    let missing = keys - last;
    if missing.as_const().is_some_and(|n| n > 0) && last.as_const() != Some(1) {
        let mut after = vec![int(0); dims.len()];
        after[dims.len() - 1] = missing;
        let off = cx.scalar(dtype, f64::NEG_INFINITY);
        let before = vec![int(0); dims.len()];
        bias = cx.emit(Op::Pad { mode: PadMode::Constant, before, after }, &[bias, off])?;
    }
    Ok(bias)
}

/// The positions of queries and keys: `[…, queries, 1]` from an offset on, and `[keys]`.
struct Positions {
    query: ValueId,
    key: ValueId,
}

fn arange(cx: &mut Cx<'_>, extent: &IntExpr) -> Outcome<ValueId> {
    cx.emit(Op::Arange { start: int(0), step: int(1), extent: extent.clone(), dtype: DType::I64 }, &[])
}

/// Queries end where the keys end: with a cache they begin behind what is in it.
fn positions<'m>(
    cx: &mut Cx<'m>,
    queries: &IntExpr,
    keys: &IntExpr,
    past: &IntExpr,
    lengths: Option<ValueId>,
) -> Outcome<Positions> {
    let i = arange(cx, queries)?;
    let i = cx.reshape(i, &[queries.clone(), int(1)])?;
    let key = arange(cx, keys)?;
    let offset = match lengths {
        Some(lengths) => {
            let batch = cx.dims(lengths)[0].clone();
            let lengths = cx.reshape(lengths, &[batch, int(1), int(1), int(1)])?;
            let queries = cx.emit(Op::IndexValue { expr: queries.clone(), dtype: DType::I64 }, &[])?;
            cx.binary(BinaryOp::Sub, lengths, queries)?
        }
        None => cx.emit(Op::IndexValue { expr: past.clone(), dtype: DType::I64 }, &[])?,
    };
    Ok(Positions { query: cx.binary(BinaryOp::Add, i, offset)?, key })
}

/// Which keys a query may see by its position; none if all.
fn window<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, at: &Positions) -> Outcome<Option<ValueId>> {
    let causal = call.int_or("is_causal", 0)? != 0;
    let (left, right) = (call.int_or("left_window_size", -1)?, call.int_or("right_window_size", -1)?);
    let mut allowed: Option<ValueId> = None;
    let mut also = |cx: &mut Cx<'m>, more: ValueId| -> Outcome<()> {
        allowed = Some(match allowed {
            Some(before) => cx.binary(BinaryOp::And, before, more)?,
            None => more,
        });
        Ok(())
    };
    if causal {
        let c = cx.compare(CmpOp::Le, at.key, at.query)?;
        also(cx, c)?;
    }
    if left >= 0 {
        let reach = cx.scalar(DType::I64, left as f64);
        let from = cx.binary(BinaryOp::Sub, at.query, reach)?;
        let c = cx.compare(CmpOp::Ge, at.key, from)?;
        also(cx, c)?;
    }
    if right >= 0 {
        let reach = cx.scalar(DType::I64, right as f64);
        let to = cx.binary(BinaryOp::Add, at.query, reach)?;
        let c = cx.compare(CmpOp::Le, at.key, to)?;
        also(cx, c)?;
    }
    Ok(allowed)
}

/// Softmax of the last axis; a row that is minus infinity all over gives zeros.
fn masked_softmax(cx: &mut Cx<'_>, x: ValueId) -> Outcome<ValueId> {
    let axis = cx.rank(x) - 1;
    let largest = cx.reduce(ReduceOp::Max, x, &[axis], true)?;
    let (off, zero, one) = (cx.like(x, f64::NEG_INFINITY), cx.like(x, 0.0), cx.like(x, 1.0));
    let masked = cx.compare(CmpOp::Eq, largest, off)?;
    let m = cx.select(masked, zero, largest)?;
    let moved = cx.binary(BinaryOp::Sub, x, m)?;
    let e = cx.unary(UnaryOp::Exp, moved)?;
    let total = cx.reduce(ReduceOp::Sum, e, &[axis], true)?;
    let nothing = cx.compare(CmpOp::Eq, total, zero)?;
    let total = cx.select(nothing, one, total)?;
    cx.binary(BinaryOp::Div, e, total)
}

fn joined<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, past: usize, now: ValueId) -> Outcome<(ValueId, IntExpr)> {
    match call.optional(cx, past)? {
        Some(old) => {
            let length = cx.dims(old).get(2).cloned().unwrap_or_else(|| int(0));
            Ok((cx.emit(Op::Concat { axis: 2 }, &[old, now])?, length))
        }
        None => Ok((now, int(0))),
    }
}

/// The scale of products of queries and keys: given, or one over the root of the size of a head.
pub(super) fn scale_of(call: &Call<'_, '_>, size: &IntExpr) -> Outcome<f64> {
    match (call.float("scale")?.filter(|scale| *scale != 0.0), size.as_const()) {
        (Some(scale), _) => Ok(f64::from(scale)),
        (None, Some(size)) => Ok(1.0 / (size as f64).sqrt()),
        (None, None) => fault("the size of a head must be known; bind the dim"),
    }
}

/// `cap · tanh(x / cap)`, if there is a cap.
fn capped(cx: &mut Cx<'_>, x: ValueId, cap: f64) -> Outcome<ValueId> {
    if cap <= 0.0 {
        return Ok(x);
    }
    let cap = cx.like(x, cap);
    let x = cx.binary(BinaryOp::Div, x, cap)?;
    let x = cx.unary(UnaryOp::Tanh, x)?;
    cx.binary(BinaryOp::Mul, x, cap)
}

/// The scores with every bias: of the mask, of positions, of keys that are padding.
fn biased<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, scores: ValueId, past: &IntExpr) -> Outcome<ValueId> {
    let (own, dims) = (cx.dtype(scores), cx.dims(scores));
    let (queries, keys) = (&dims[2], &dims[3]);
    let mut out = scores;
    if let Some(mask) = call.optional(cx, 3)? {
        let bias = mask_bias(cx, mask, keys, own)?;
        out = cx.binary(BinaryOp::Add, out, bias)?;
    }
    let lengths = call.optional(cx, 6)?;
    let at = positions(cx, queries, keys, past, lengths)?;
    let mut allowed: Vec<ValueId> = window(cx, call, &at)?.into_iter().collect();
    if let Some(lengths) = lengths {
        let batch = cx.dims(lengths)[0].clone();
        let lengths = cx.reshape(lengths, &[batch, int(1), int(1), int(1)])?;
        allowed.push(cx.compare(CmpOp::Lt, at.key, lengths)?);
    }
    for allowed in allowed {
        let bias = bias_of(cx, allowed, own)?;
        out = cx.binary(BinaryOp::Add, out, bias)?;
    }
    Ok(out)
}

fn attention<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (q, k, v) = (call.x(cx, 0)?, call.x(cx, 1)?, call.x(cx, 2)?);
    let flat = cx.rank(q) == 3;
    let (q_heads, kv_heads) = (call.int("q_num_heads")?, call.int("kv_num_heads")?);
    let (q, k, v) = (heads(cx, q, q_heads)?, heads(cx, k, kv_heads)?, heads(cx, v, kv_heads)?);
    let (present_key, past) = joined(cx, call, 4, k)?;
    let (present_value, _) = joined(cx, call, 5, v)?;
    let dims = cx.dims(q);
    let [_, head_count, _, size] = dims.as_slice() else { return fault("expected rank 4") };
    let (k, v) = (shared(cx, present_key, head_count)?, shared(cx, present_value, head_count)?);
    // Both factors take the root of the scale, which keeps products of halves in range.
    let root = cx.like(q, scale_of(call, size)?.sqrt());
    let (q, k) = (cx.binary(BinaryOp::Mul, q, root)?, cx.binary(BinaryOp::Mul, k, root)?);
    let k = cx.transpose(k, &[0, 1, 3, 2])?;
    let raw = cx.emit(Op::MatMul, &[q, k])?;
    let soft = capped(cx, raw, f64::from(call.float_or("softcap", 0.0)?))?;
    let biased = biased(cx, call, soft, &past)?;
    let own = cx.dtype(q);
    let precision = call.int("softmax_precision")?.and_then(Elem::from_code).and_then(Elem::storage);
    let wide = cx.cast(biased, precision.unwrap_or(own))?;
    let weights = masked_softmax(cx, wide)?;
    let weights = cx.cast(weights, own)?;
    let mut y = cx.emit(Op::MatMul, &[weights, v])?;
    if flat {
        y = cx.transpose(y, &[0, 2, 1, 3])?;
        let dims = cx.dims(y);
        y = cx.reshape(y, &[dims[0].clone(), dims[1].clone(), &dims[2] * &dims[3]])?;
    }
    let shown = match call.int_or("qk_matmul_output_mode", 0)? {
        0 => raw,
        1 => soft,
        2 => biased,
        _ => weights,
    };
    Ok([y, present_key, present_value, shown].map(|id| cx.plain(id)).to_vec())
}

/// Pairs of elements turned by angles whose cosines and sines are given.
fn rotary<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, mut cos, mut sin) = (call.x(cx, 0)?, call.x(cx, 1)?, call.x(cx, 2)?);
    let original = cx.dims(x);
    let x = match original.as_slice() {
        [_, _, _, _] => cx.transpose(x, &[0, 2, 1, 3])?,
        [batch, length, hidden] => {
            let count = call.int_or("num_heads", 0)?;
            if count < 1 {
                return fault("rank 3 needs `num_heads`");
            }
            cx.reshape(x, &[batch.clone(), length.clone(), int(count), hidden.floor_div(&int(count))])?
        }
        dims => return fault(format!("expected rank 3 or 4, found {dims:?}")),
    };
    let dims = cx.dims(x);
    let size = dims[3].clone();
    let turned = match call.int_or("rotary_embedding_dim", 0)? {
        0 => size.clone(),
        n => int(n),
    };
    let half = turned.floor_div(&int(2));
    if let Some(ids) = call.optional(cx, 3)? {
        let axis = [("axis", AttrValue::Int(int(0)))];
        cos = cx.op("take", &[cos, ids], &axis)?;
        sin = cx.op("take", &[sin, ids], &axis)?;
    }
    let (cos, sin) = (cx.expand_dims(cos, 2)?, cx.expand_dims(sin, 2)?);
    let front = cx.part(x, 3, int(0), turned.clone())?;
    let interleaved = call.int_or("interleaved", 0)? != 0;
    let pairs: Vec<IntExpr> = if interleaved {
        [&dims[..3], &[half.clone(), int(2)]].concat()
    } else {
        [&dims[..3], &[int(2), half.clone()]].concat()
    };
    let axis = if interleaved { 4 } else { 3 };
    let paired = cx.reshape(front, &pairs)?;
    let flat: Vec<IntExpr> = [&dims[..3], std::slice::from_ref(&half)].concat();
    let (a, b) = (cx.part(paired, axis, int(0), int(1))?, cx.part(paired, axis, int(1), int(1))?);
    let (a, b) = (cx.reshape(a, &flat)?, cx.reshape(b, &flat)?);
    let mix = |cx: &mut Cx<'m>, op: BinaryOp, f: ValueId, g: ValueId| {
        let (fa, gb) = (cx.binary(BinaryOp::Mul, f, a)?, cx.binary(BinaryOp::Mul, g, b)?);
        cx.binary(op, fa, gb)
    };
    let (real, imaginary) = (mix(cx, BinaryOp::Sub, cos, sin)?, mix(cx, BinaryOp::Add, sin, cos)?);
    let stack = [("axis", AttrValue::Int(int(axis as i64)))];
    let both = cx.operator("stack", vec![Arg::List(vec![real, imaginary])], &stack)?;
    let mut y = cx.reshape(both, &[&dims[..3], std::slice::from_ref(&turned)].concat())?;
    let rest = &size - &turned;
    if rest.as_const() != Some(0) {
        let back = cx.part(x, 3, turned, rest)?;
        y = cx.emit(Op::Concat { axis: 3 }, &[y, back])?;
    }
    let y = if original.len() == 4 { cx.transpose(y, &[0, 2, 1, 3])? } else { cx.reshape(y, &original)? };
    cx.one(y)
}

/// `a · sigmoid(alpha · a) · b`.
fn swiglu<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (a, b) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let alpha = cx.like(a, f64::from(call.float_or("alpha", 1.0)?));
    let scaled = cx.binary(BinaryOp::Mul, a, alpha)?;
    let gate = cx.unary(UnaryOp::Sigmoid, scaled)?;
    let y = cx.binary(BinaryOp::Mul, a, gate)?;
    let y = cx.binary(BinaryOp::Mul, y, b)?;
    cx.one(y)
}

pub(super) static TABLE: &[OnnxOp] =
    &[op("Attention", 23, attention), op("RotaryEmbedding", 23, rotary), op("SwiGLU", 1, swiglu)];
