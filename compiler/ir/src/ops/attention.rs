//! Attention with masks, caches and shared heads, and rotary embeddings.

use super::call::{bool_attr, float_attr, int_attr, optional, tensor, word_attr};
use super::check::{attr_error, extent, floats, integers, rank, same_dtype, shape};
use super::compose::{
    add, arange, binary, call_of, cast, compare, concat, div, index_value, mul, part, reduce, repeat, reshape, select,
    sub, transpose, unary, with,
};
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::kernel::Kernel;
use super::{AttrDef, AttrValue, OpCall, OpDef};
use crate::arith::IntExpr;
use crate::op::{BinaryOp, CmpOp, ReduceOp, UnaryOp};
use crate::relax::{Builder, Op, PadMode, TensorType, ValueId, dim};
use crate::{DType, Scalar};

type Made = Result<ValueId, OpError>;

/// The last extent in parts of heads: `hidden / heads`, which must come out even.
fn head_size(b: &Builder, i: usize, ty: &TensorType, heads: i64, name: &str) -> Result<IntExpr, OpError> {
    let hidden = &ty.shape[2];
    let size = dim::div_floor(hidden, heads);
    if dim::equal(&b.prover, &(&size * &dim::int(heads)), hidden) {
        return Ok(size);
    }
    let message = format!("the last extent of `{}` is not proven to split into {heads} heads", show_tensor(ty));
    let error = OpError::new(At::Arg(i), OpErrorKind::Dims, message);
    Err(error.help(match dim::as_int(hidden) {
        Some(_) => format!("change `{name}`"),
        None => format!("change `{name}`, or state a fact: `dims({hidden} % {heads} == 0)`"),
    }))
}

/// `[batch, length, heads · size]` as `[batch, heads, length, size]`; what has four axes is so already.
fn heads(b: &mut Builder, i: usize, x: ValueId, count: (&str, Option<i64>)) -> Made {
    let ty = b.tensor(x).clone();
    match (ty.shape.as_slice(), count) {
        ([_, _, _, _], _) => Ok(x),
        ([batch, length, _], (name, Some(count))) if count > 0 => {
            let size = head_size(b, i, &ty, count, name)?;
            let split = reshape(b, x, &[batch.clone(), length.clone(), dim::int(count), size])?;
            transpose(b, split, &[0, 2, 1, 3])
        }
        (_, (name, _)) => {
            let message = format!("expected rank 4, or rank 3 and `{name}`, found `{}`", show_tensor(&ty));
            Err(OpError::new(At::Arg(i), OpErrorKind::Rank, message).help("write [batch, heads, length, size]"))
        }
    }
}

/// Heads of keys and values repeated for each query head that shares them.
fn shared(b: &mut Builder, i: usize, x: ValueId, q_heads: &IntExpr) -> Made {
    let ty = b.tensor(x).clone();
    let [batch, own, length, size] = [0, 1, 2, 3].map(|axis| ty.shape[axis].clone());
    if dim::equal(&b.prover, &own, q_heads) {
        return Ok(x);
    }
    let group = dim::as_int(&own).filter(|n| *n > 0).map(|n| (n, dim::div_floor(q_heads, n)));
    let Some((_, group)) = group.filter(|(n, group)| dim::equal(&b.prover, &(group * &dim::int(*n)), q_heads)) else {
        let message = format!("`{q_heads}` heads of queries do not share the `{own}` heads of `{}`", show_tensor(&ty));
        return Err(OpError::new(At::Arg(i), OpErrorKind::Dims, message).help("fix both dims; one divides the other"));
    };
    let apart = [batch.clone(), own.clone(), dim::int(1), length.clone(), size.clone()];
    let wide = vec![batch.clone(), own, group, length.clone(), size.clone()];
    repeat(b, x, &apart, wide, &[batch, q_heads.clone(), length, size])
}

/// `0` where `allowed` holds, else minus infinity.
fn bias_of(b: &mut Builder, allowed: ValueId, dtype: DType) -> Made {
    let (zero, off) = (b.scalar(Scalar::zero(dtype)), b.scalar(Scalar::float(dtype, f64::NEG_INFINITY)));
    select(b, allowed, zero, off)
}

/// The mask as a bias, padded to the length of the keys.
fn mask_bias(b: &mut Builder, mask: ValueId, keys: &IntExpr, dtype: DType) -> Made {
    let ty = b.tensor(mask).clone();
    if ty.dtype.is_int() || ty.shape.len() > 4 {
        let message = format!("expected bools or floats of rank 4 at most, found `{}`", show_tensor(&ty));
        return Err(OpError::new(At::Arg(3), OpErrorKind::DType, message));
    }
    let bias = if ty.dtype.is_bool() { bias_of(b, mask, dtype)? } else { cast(b, dtype, mask)? };
    let Some(last) = ty.shape.last() else { return Ok(bias) };
    let missing = keys - last;
    if dim::as_int(&missing).is_none_or(|n| n <= 0) || dim::is_one(last) {
        return Ok(bias);
    }
    let mut after = vec![dim::int(0); ty.shape.len()];
    after[ty.shape.len() - 1] = missing;
    let off = b.scalar(Scalar::float(dtype, f64::NEG_INFINITY));
    let before = vec![dim::int(0); ty.shape.len()];
    b.emit(Op::Pad { mode: PadMode::Constant, before, after }, &[bias, off])
}

/// The positions of queries, `[…, queries, 1]`, and of keys, `[keys]`.
struct Positions {
    query: ValueId,
    key: ValueId,
}

/// What is asked of an attention: operands by their names.
struct Attention {
    query: ValueId,
    key: ValueId,
    value: ValueId,
    mask: Option<ValueId>,
    past: Option<(ValueId, ValueId)>,
    /// Keys that count, per batch.
    lengths: Option<ValueId>,
}

impl Attention {
    /// Operands in ONNX's order.
    fn of(b: &mut Builder, call: &OpCall) -> Result<Attention, OpError> {
        let ((query, first), (key, _), (value, _)) = (tensor(b, call, 0)?, tensor(b, call, 1)?, tensor(b, call, 2)?);
        floats(0, &first)?;
        let mut operand = |i: usize| Ok(optional(b, call, i)?.map(|(value, _)| value));
        let (mask, past_key, past_value, lengths) = (operand(3)?, operand(4)?, operand(5)?, operand(6)?);
        let past = past_key.zip(past_value);
        if past.is_none() && (past_key.is_some() || past_value.is_some()) {
            let error =
                OpError::new(At::Call, OpErrorKind::Operand, "a cache has keys and values, found one of the two");
            return Err(error.help("write `attention(q, k, v, mask, past_key, past_value)`, `[]` for no mask"));
        }
        let whole = Attention { query, key, value, mask, past, lengths };
        whole.check(b, &first)?;
        Ok(whole)
    }

    fn check(&self, b: &Builder, query: &TensorType) -> Result<(), OpError> {
        let caches = self.past.map_or([None, None], |(key, value)| [Some(key), Some(value)]);
        let all = [Some(self.key), Some(self.value), caches[0], caches[1]];
        for (i, x) in all.into_iter().enumerate().filter_map(|(i, x)| Some((i, x?))) {
            let at = if i < 2 { i + 1 } else { i + 2 };
            same_dtype(at, b.tensor(x), query)?;
            if i >= 2 {
                rank(at, b.tensor(x), 4)?;
            }
        }
        if let Some(lengths) = self.lengths {
            integers(6, b.tensor(lengths))?;
            shape(b, 6, b.tensor(lengths), &query.shape[..1])?;
        }
        Ok(())
    }

    /// Keys behind those of the cache, and how many are in it.
    fn joined(&self, b: &mut Builder, now: ValueId, past: Option<ValueId>) -> Result<(ValueId, IntExpr), OpError> {
        match past {
            Some(old) => {
                let length = b.tensor(old).shape[2].clone();
                Ok((b.emit(Op::Concat { axis: 2 }, &[old, now])?, length))
            }
            None => Ok((now, dim::int(0))),
        }
    }

    /// Queries end where the keys of their batch end.
    fn positions(&self, b: &mut Builder, queries: &IntExpr, keys: &IntExpr) -> Result<Positions, OpError> {
        let i = arange(b, DType::I64, queries)?;
        let i = reshape(b, i, &[queries.clone(), dim::int(1)])?;
        let key = arange(b, DType::I64, keys)?;
        let lengths = self.lengths_by_batch(b)?.unwrap_or(i);
        let queries = index_value(b, DType::I64, queries)?;
        let offset = sub(b, lengths, queries)?;
        Ok(Positions { query: add(b, i, offset)?, key })
    }

    fn lengths_by_batch(&self, b: &mut Builder) -> Result<Option<ValueId>, OpError> {
        let Some(lengths) = self.lengths else { return Ok(None) };
        let lengths = cast(b, DType::I64, lengths)?;
        let batch = b.tensor(lengths).shape[0].clone();
        reshape(b, lengths, &[batch, dim::int(1), dim::int(1), dim::int(1)]).map(Some)
    }

    /// Which keys a query may see, each condition by itself.
    fn allowed(&self, b: &mut Builder, call: &OpCall, at: &Positions) -> Result<Vec<ValueId>, OpError> {
        let causal = bool_attr(call, "is_causal", false)?;
        let (left, right) = (reach(call, "left_window_size")?, reach(call, "right_window_size")?);
        let mut all = Vec::new();
        if causal {
            all.push(compare(b, CmpOp::Le, at.key, at.query)?);
        }
        if let Some(left) = left {
            let from = with(b, BinaryOp::Sub, at.query, left as f64)?;
            all.push(compare(b, CmpOp::Ge, at.key, from)?);
        }
        if let Some(right) = right {
            let to = with(b, BinaryOp::Add, at.query, right as f64)?;
            all.push(compare(b, CmpOp::Le, at.key, to)?);
        }
        if let Some(lengths) = self.lengths_by_batch(b)? {
            all.push(compare(b, CmpOp::Lt, at.key, lengths)?);
        }
        Ok(all)
    }

    /// The scores with every bias: of the mask, of positions, of keys that are padding.
    fn biased(&self, b: &mut Builder, call: &OpCall, scores: ValueId, past: &IntExpr) -> Made {
        let ty = b.tensor(scores).clone();
        let (queries, keys) = (&ty.shape[2], &ty.shape[3]);
        let mut out = scores;
        if let Some(mask) = self.mask {
            let bias = mask_bias(b, mask, keys, ty.dtype)?;
            out = add(b, out, bias)?;
        }
        if self.lengths.is_none() {
            return of_positions(b, call, out, past);
        }
        let at = self.positions(b, queries, keys)?;
        for allowed in self.allowed(b, call, &at)? {
            let bias = bias_of(b, allowed, ty.dtype)?;
            out = add(b, out, bias)?;
        }
        Ok(out)
    }
}

/// The scores of keys that a query sees by its position, minus infinity in the place of others: with a cache, queries begin
/// behind what is in it. One kernel, which reads positions from its iterators: a mask as a tensor would be read for each
/// head, and tells no schedule which keys need not be looked at.
fn of_positions(b: &mut Builder, call: &OpCall, scores: ValueId, past: &IntExpr) -> Made {
    let causal = bool_attr(call, "is_causal", false)?;
    let (left, right) = (reach(call, "left_window_size")?, reach(call, "right_window_size")?);
    if !causal && left.is_none() && right.is_none() {
        return Ok(scores);
    }
    let ty = b.tensor(scores).clone();
    let k = Kernel::new(b, "seen");
    let (from, out) = (k.input(b, scores), k.output(ty.clone()));
    k.block("seen", &ty.shape, |i| {
        let (query, key) = (i[2] + k.dim(past), i[3]);
        let all = [causal.then(|| key.le(query)), left.map(|n| key.ge(query - n)), right.map(|n| key.le(query + n))];
        let off = k.lit(ty.dtype, f64::NEG_INFINITY);
        let score = all.into_iter().flatten().fold(from.at(i), |score, seen| seen.select(score, off));
        out.put(i, score);
    });
    k.finish(b)
}

/// A window's reach; -1 has no end.
fn reach(call: &OpCall, name: &str) -> Result<Option<i64>, OpError> {
    match int_attr(call, name)?.unwrap_or(-1) {
        -1 => Ok(None),
        // Positions are i64, and this is behind the end of any sequence.
        n if n >= 0 => Ok(Some(n.min(1 << 48))),
        n => Err(attr_error(name, format!("expected -1 or more for `{name}`, found {n}"))),
    }
}

/// Softmax of the last axis; a row that is minus infinity all over gives zeros.
fn masked_softmax(b: &mut Builder, x: ValueId) -> Made {
    let ty = b.tensor(x).clone();
    let axis = ty.shape.len() - 1;
    let largest = reduce(b, ReduceOp::Max, x, &[axis], true)?;
    let (zero, one) = (b.scalar(Scalar::zero(ty.dtype)), b.scalar(Scalar::one(ty.dtype)));
    let off = b.scalar(Scalar::float(ty.dtype, f64::NEG_INFINITY));
    let masked = compare(b, CmpOp::Eq, largest, off)?;
    let m = select(b, masked, zero, largest)?;
    let moved = sub(b, x, m)?;
    let e = unary(b, UnaryOp::Exp, moved)?;
    let total = reduce(b, ReduceOp::Sum, e, &[axis], true)?;
    // the greatest element alone makes 1, unless there is none
    let total = binary(b, BinaryOp::Max, total, one)?;
    div(b, e, total)
}

/// The scale of products of queries and keys: given, or one over the root of the size of a head.
fn scale_of(call: &OpCall, size: &IntExpr) -> Result<f64, OpError> {
    let given = float_attr(call, "scale", 0.0)?.get();
    match dim::as_int(size) {
        _ if given > 0.0 => Ok(given),
        _ if given < 0.0 => Err(attr_error("scale", format!("expected a factor above 0 for `scale`, found {given}"))),
        Some(size) => Ok(1.0 / (size as f64).sqrt()),
        None => {
            let error = attr_error("scale", format!("the size of a head, `{size}`, has no value"));
            Err(error.help(format!("fix the dim, `dims({size} = 64)`, or write `scale = 0.125`")))
        }
    }
}

/// `cap · tanh(x / cap)`, if there is a cap.
fn capped(b: &mut Builder, x: ValueId, cap: f64) -> Made {
    if cap <= 0.0 {
        return Ok(x);
    }
    let x = with(b, BinaryOp::Div, x, cap)?;
    let x = unary(b, UnaryOp::Tanh, x)?;
    with(b, BinaryOp::Mul, x, cap)
}

fn attention(b: &mut Builder, call: &OpCall) -> Made {
    let of = Attention::of(b, call)?;
    let own = b.tensor(of.query).dtype;
    let flat = b.tensor(of.query).shape.len() == 3;
    let (q_heads, kv_heads) = (int_attr(call, "q_num_heads")?, int_attr(call, "kv_num_heads")?);
    let q = heads(b, 0, of.query, ("q_num_heads", q_heads))?;
    let k = heads(b, 1, of.key, ("kv_num_heads", kv_heads))?;
    let v = heads(b, 2, of.value, ("kv_num_heads", kv_heads))?;
    let (present_key, past) = of.joined(b, k, of.past.map(|(key, _)| key))?;
    let (present_value, _) = of.joined(b, v, of.past.map(|(_, value)| value))?;
    let (head_count, size) = (b.tensor(q).shape[1].clone(), b.tensor(q).shape[3].clone());
    extent(b, 1, &b.tensor(k).clone(), 3, &size)?;
    let (k, v) = (shared(b, 1, present_key, &head_count)?, shared(b, 2, present_value, &head_count)?);
    // Both factors take the root of the scale, which keeps products of halves in range.
    let root = scale_of(call, &size)?.sqrt();
    let (q, k) = (with(b, BinaryOp::Mul, q, root)?, with(b, BinaryOp::Mul, k, root)?);
    let k = transpose(b, k, &[0, 1, 3, 2])?;
    let raw = b.emit(Op::MatMul, &[q, k])?;
    let soft = capped(b, raw, float_attr(call, "softcap", 0.0)?.get())?;
    let biased = of.biased(b, call, soft, &past)?;
    let wide = match word_attr(call, "softmax_precision", &["own", "f16", "bf16", "f32", "f64"])? {
        0 => own,
        n => [DType::F16, DType::BF16, DType::F32, DType::F64][n - 1],
    };
    let weights = cast(b, wide, biased)?;
    let weights = masked_softmax(b, weights)?;
    let weights = cast(b, own, weights)?;
    let mut y = b.emit(Op::MatMul, &[weights, v])?;
    if flat {
        y = transpose(b, y, &[0, 2, 1, 3])?;
        let dims = b.tensor(y).shape.clone();
        y = reshape(b, y, &[dims[0].clone(), dims[1].clone(), &dims[2] * &dims[3]])?;
    }
    let shown = match word_attr(call, "scores", &["none", "raw", "capped", "biased", "weights"])? {
        0 => None,
        n => Some([raw, soft, biased, weights][n - 1]),
    };
    let caches = of.past.map(|_| [present_key, present_value]);
    let all: Vec<ValueId> = [y].into_iter().chain(caches.into_iter().flatten()).chain(shown).collect();
    if all.len() == 1 { Ok(y) } else { b.emit(Op::Tuple, &all) }
}

/// Where the pairs of a rotation lie.
struct Turned {
    /// `[batch, length, heads]`.
    outer: Vec<IntExpr>,
    size: IntExpr,
    turned: IntExpr,
    half: IntExpr,
    interleaved: bool,
}

impl Turned {
    /// The first and the second of each pair.
    fn pairs(&self, b: &mut Builder, x: ValueId) -> Result<[ValueId; 2], OpError> {
        let front = part(b, x, 3, &dim::int(0), &self.turned)?;
        let two = if self.interleaved { [self.half.clone(), dim::int(2)] } else { [dim::int(2), self.half.clone()] };
        let paired = reshape(b, front, &[&self.outer[..], &two].concat())?;
        let axis = if self.interleaved { 4 } else { 3 };
        let flat = [&self.outer[..], std::slice::from_ref(&self.half)].concat();
        let first = part(b, paired, axis, &dim::int(0), &dim::int(1))?;
        let second = part(b, paired, axis, &dim::int(1), &dim::int(1))?;
        Ok([reshape(b, first, &flat)?, reshape(b, second, &flat)?])
    }

    /// Both of each pair where they were, and behind them what is not turned.
    fn whole(&self, b: &mut Builder, pairs: [ValueId; 2], x: ValueId) -> Made {
        let axis = if self.interleaved { 4 } else { 3 };
        let mut wide = [&self.outer[..], std::slice::from_ref(&self.half)].concat();
        wide.insert(axis, dim::int(1));
        let parts = [reshape(b, pairs[0], &wide)?, reshape(b, pairs[1], &wide)?];
        let both = concat(b, axis, &parts)?;
        let y = reshape(b, both, &[&self.outer[..], std::slice::from_ref(&self.turned)].concat())?;
        let rest = &self.size - &self.turned;
        if dim::as_int(&rest) == Some(0) {
            return Ok(y);
        }
        let back = part(b, x, 3, &self.turned, &rest)?;
        concat(b, 3, &[y, back])
    }
}

/// Pairs of elements turned by angles whose cosines and sines are given.
fn rotary_embedding(b: &mut Builder, call: &OpCall) -> Made {
    let (x, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    let split = match ty.shape.as_slice() {
        [_, _, _, _] => transpose(b, x, &[0, 2, 1, 3])?,
        [batch, length, _] => {
            let count = int_attr(call, "num_heads")?.filter(|n| *n > 0);
            let count = count.ok_or_else(|| super::call::missing("num_heads", "8"))?;
            let size = head_size(b, 0, &ty, count, "num_heads")?;
            reshape(b, x, &[batch.clone(), length.clone(), dim::int(count), size])?
        }
        _ => return Err(super::check::rank_error(0, "3 or 4", &ty)),
    };
    let dims = b.tensor(split).shape.clone();
    let turned = match int_attr(call, "rotary_embedding_dim")?.unwrap_or(0) {
        0 => dims[3].clone(),
        n if n > 0 && n % 2 == 0 && dim::at_most(&b.prover, &dim::int(n), &dims[3]) => dim::int(n),
        n => {
            let message = format!("expected an even number up to `{}` for `rotary_embedding_dim`, found {n}", dims[3]);
            return Err(attr_error("rotary_embedding_dim", message));
        }
    };
    let half = dim::div_floor(&turned, 2);
    if !dim::equal(&b.prover, &(&half * &dim::int(2)), &turned) {
        let message = format!("the size of a head, `{turned}`, is not proven to be even");
        return Err(OpError::new(At::Arg(0), OpErrorKind::Dims, message));
    }
    let [cos, sin] = [angles(b, call, 1, &dims, &half)?, angles(b, call, 2, &dims, &half)?];
    let interleaved = bool_attr(call, "interleaved", false)?;
    let of = Turned { outer: dims[..3].to_vec(), size: dims[3].clone(), turned, half, interleaved };
    let [first, second] = of.pairs(b, split)?;
    let mix = |b: &mut Builder, op: BinaryOp, f: ValueId, g: ValueId| {
        let (f, g) = (mul(b, f, first)?, mul(b, g, second)?);
        binary(b, op, f, g)
    };
    let pair = [mix(b, BinaryOp::Sub, cos, sin)?, mix(b, BinaryOp::Add, sin, cos)?];
    let y = of.whole(b, pair, split)?;
    if ty.shape.len() == 4 { transpose(b, y, &[0, 2, 1, 3]) } else { reshape(b, y, &ty.shape) }
}

/// Cosines or sines as `[batch, length, 1, half]`, picked by positions if these are given.
fn angles(b: &mut Builder, call: &OpCall, i: usize, dims: &[IntExpr], half: &IntExpr) -> Made {
    let (mut cache, ty) = tensor(b, call, i)?;
    let (_, first) = tensor(b, call, 0)?;
    same_dtype(i, &ty, &first)?;
    if call.args.len() > 3 {
        let (ids, places) = tensor(b, call, 3)?;
        integers(3, &places)?;
        shape(b, 3, &places, &dims[..2])?;
        rank(i, &ty, 2)?;
        cache = call_of(b, "take", &[cache, ids], &[("axis", AttrValue::Int(dim::int(0)))])?;
    }
    let found = b.tensor(cache).clone();
    shape(b, i, &found, &[dims[0].clone(), dims[1].clone(), half.clone()])?;
    reshape(b, cache, &[dims[0].clone(), dims[1].clone(), dim::int(1), half.clone()])
}

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "attention",
        "Attention",
        "q, k, v, mask?, past_key?, past_value?, lengths?",
        (3, 7),
        &[
            AttrDef {
                name: "is_causal",
                ty: "bool = false",
                doc: "whether a query sees no key behind its own position"
            },
            AttrDef { name: "scale", ty: "float = 1 / √size", doc: "the factor of products of queries and keys" },
            AttrDef {
                name: "softcap",
                ty: "float = 0.0",
                doc: "scores become softcap · tanh(score / softcap), if it is above 0"
            },
            AttrDef { name: "q_num_heads", ty: "int", doc: "heads of queries of rank 3" },
            AttrDef { name: "kv_num_heads", ty: "int", doc: "heads of keys and values of rank 3" },
            AttrDef {
                name: "left_window_size",
                ty: "int = -1",
                doc: "how far before its position a query sees; -1 has no end"
            },
            AttrDef {
                name: "right_window_size",
                ty: "int = -1",
                doc: "how far behind its position a query sees; -1 has no end"
            },
            AttrDef {
                name: "softmax_precision",
                ty: "\"own\" | \"f16\" | \"bf16\" | \"f32\" | \"f64\" = \"own\"",
                doc: "the dtype of the softmax; \"own\" is that of q"
            },
            AttrDef {
                name: "scores",
                ty: "\"none\" | \"raw\" | \"capped\" | \"biased\" | \"weights\" = \"none\"",
                doc: "which scores [batch, heads, queries, keys] are the last result as well"
            },
        ],
        attention,
        "softmax(scale · q kᵀ + mask) v per head: q is [batch, heads, queries, size], or [batch, queries, heads · size] with numbers of heads. Query heads share the heads of keys and values in turn, a mask is added, or of bools says what is seen, and a query that sees nothing gives zeros. With caches the result is (y, present_key, present_value), the keys and values behind those of the caches, and positions go on from them; `lengths` says how many keys of each batch count."
    ),
    graph!(
        "rotary_embedding",
        "RotaryEmbedding",
        "x, cos, sin, positions?",
        (3, 4),
        &[
            AttrDef {
                name: "interleaved",
                ty: "bool = false",
                doc: "whether pairs stand side by side; else halves of a head apart"
            },
            AttrDef { name: "num_heads", ty: "int", doc: "heads of x of rank 3" },
            AttrDef {
                name: "rotary_embedding_dim",
                ty: "int = all",
                doc: "how many first elements of a head are turned"
            },
        ],
        rotary_embedding,
        "Pairs (a, b) of x as (cos · a - sin · b, sin · a + cos · b). x is [batch, heads, length, size], or [batch, length, heads · size] with a number of heads; cos and sin are [batch, length, size / 2], or [positions, size / 2] where `positions` [batch, length] says which."
    ),
];
