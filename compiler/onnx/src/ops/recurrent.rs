//! Recurrent networks and other operators that go along a sequence.

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::relax::{ConvLayout, Op, Region, SliceAxis, SymDecl, SymKind, Type, ValueId};
use tenfold_ir::{DType, Loc};

use super::{OnnxOp, op};
use crate::call::Call;
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// A loop of the graph: `extent` turns over what is carried.
pub(super) fn repeat<'m>(
    cx: &mut Cx<'m>,
    extent: &IntExpr,
    first: Vec<ValueId>,
    body: impl FnOnce(&mut Cx<'m>, &IntExpr, Vec<ValueId>) -> Outcome<Vec<ValueId>>,
) -> Outcome<Vec<ValueId>> {
    let var = Sym::new(format!("step{}", cx.b.sym_count()));
    let at = IntExpr::var(var.clone());
    cx.b.prover.assume_range(&var, &int(0), extent);
    let types: Vec<Type> = first.iter().map(|v| cx.b.ty(*v).clone()).collect();
    cx.b.open_body(Vec::new());
    let params: Vec<ValueId> = types.iter().map(|ty| cx.b.region_param(ty.clone(), "carried")).collect();
    let next = body(cx, &at, params.clone());
    let blocks = cx.b.close_body();
    let next = next?;
    if next.len() != types.len() || next.iter().zip(&types).any(|(v, ty)| cx.b.ty(*v) != ty) {
        return fault("what a step gives has another type than what it takes");
    }
    let ty = if types.len() == 1 { types[0].clone() } else { Type::Tuple(types) };
    let op = Op::For { var: var.clone(), begin: int(0), extent: extent.clone(), step: 1 };
    let out = cx.b.emit_regions(op, &first, vec![Region { params, blocks, results: next }], ty);
    cx.b.declare_sym(SymDecl { sym: var, kind: SymKind::Loop(out), loc: Loc::default() });
    cx.components(out)
}

/// Element `at` of the first axis.
fn step(cx: &mut Cx<'_>, x: ValueId, at: &IntExpr) -> Outcome<ValueId> {
    let mut axes = cx.whole(x);
    axes[0] = SliceAxis { begin: at.clone(), extent: int(1), step: 1 };
    cx.emit(Op::Slice { axes, drop: vec![0] }, &[x])
}

/// `all` with element `at` of the first axis replaced.
fn store(cx: &mut Cx<'_>, all: ValueId, one: ValueId, at: &IntExpr) -> Outcome<ValueId> {
    let mut axes = cx.whole(all);
    axes[0] = SliceAxis { begin: at.clone(), extent: int(1), step: 1 };
    cx.emit(Op::SliceUpdate { axes, drop: vec![0] }, &[all, one])
}

fn zeros(cx: &mut Cx<'_>, shape: &[IntExpr], dtype: DType) -> Outcome<ValueId> {
    let zero = cx.scalar(dtype, 0.0);
    cx.full(shape, zero)
}

/// A network that the language has; its hidden size is that of the weights.
fn recurrent<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, name: &str) -> Results {
    let weights = call.x(cx, 2)?;
    let own = cx.dims(weights).get(2).and_then(IntExpr::as_const);
    if let (Some(asked), Some(own)) = (call.int("hidden_size")?, own)
        && asked != own
    {
        return fault(format!("`hidden_size` is {asked}, and its weights are for {own}"));
    }
    super::same(cx, call, name)
}

/// `[batch, length, heads · size]` with the length first: `[length, batch, heads, size]`.
fn unpacked(cx: &mut Cx<'_>, x: ValueId, heads: i64) -> Outcome<ValueId> {
    let dims = cx.dims(x);
    let [batch, length, hidden] = dims.as_slice() else { return fault("expected rank 3") };
    let x = cx.cast(x, DType::F32)?;
    let x = cx.reshape(x, &[batch.clone(), length.clone(), int(heads), hidden.floor_div(&int(heads))])?;
    cx.transpose(x, &[1, 0, 2, 3])
}

/// Attention by a state that is updated at each step.
fn linear_attention<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (query, key, value) = (call.x(cx, 0)?, call.x(cx, 1)?, call.x(cx, 2)?);
    let (q_heads, heads) = (call.int_or("q_num_heads", 0)?, call.int_or("kv_num_heads", 0)?);
    if heads < 1 || q_heads < heads || q_heads % heads != 0 {
        return fault(format!("{q_heads} query heads do not share {heads} heads"));
    }
    let rule = call.text("update_rule", "gated_delta")?;
    let (gated, delta) = match rule.as_str() {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return fault(format!("the rule `{other}` is unknown")),
    };
    let own = cx.dtype(query);
    let dims = cx.dims(query);
    let (batch, length) = (dims[0].clone(), dims[1].clone());
    let (q, k, v) = (unpacked(cx, query, q_heads)?, unpacked(cx, key, heads)?, unpacked(cx, value, heads)?);
    let (dk, dv) = (cx.dims(k)[3].clone(), cx.dims(v)[3].clone());
    let scale = super::attention::scale_of(call, &dk)?;
    let per_head = |cx: &mut Cx<'m>, i: usize| -> Outcome<ValueId> {
        let x = call.x(cx, i)?;
        let last = cx.dims(x)[2].clone();
        unpacked(cx, x, if last.as_const() == Some(1) { 1 } else { heads })
    };
    let decay = if gated { Some(per_head(cx, 4)?) } else { None };
    let beta = if delta { Some(per_head(cx, 5)?) } else { None };
    let (state, kept) = match call.optional(cx, 3)? {
        Some(state) => (cx.cast(state, DType::F32)?, cx.dtype(state)),
        None => (zeros(cx, &[batch.clone(), int(heads), dk.clone(), dv.clone()], DType::F32)?, own),
    };
    let group = int(q_heads / heads);
    let y = zeros(cx, &[length.clone(), batch.clone(), int(q_heads), dv.clone()], DType::F32)?;
    let out = repeat(cx, &length, vec![state, y], |cx, t, carried| {
        let [mut state, y] = carried[..] else { return fault("a step carries two values") };
        let (q, k, mut v) = (step(cx, q, t)?, step(cx, k, t)?, step(cx, v, t)?);
        if let Some(decay) = decay {
            let g = step(cx, decay, t)?;
            let g = cx.unary(UnaryOp::Exp, g)?;
            let g = cx.expand_dims(g, 3)?;
            state = cx.binary(BinaryOp::Mul, state, g)?;
        }
        let row = cx.expand_dims(k, 2)?;
        if let Some(beta) = beta {
            let seen = cx.emit(Op::MatMul, &[row, state])?;
            let seen = cx.reshape(seen, &cx.dims(v))?;
            let error = cx.binary(BinaryOp::Sub, v, seen)?;
            let b = step(cx, beta, t)?;
            v = cx.binary(BinaryOp::Mul, b, error)?;
        }
        let (column, row) = (cx.expand_dims(k, 3)?, cx.expand_dims(v, 2)?);
        let update = cx.binary(BinaryOp::Mul, column, row)?;
        state = cx.binary(BinaryOp::Add, state, update)?;
        let q = cx.reshape(q, &[batch.clone(), int(heads), group.clone(), dk.clone()])?;
        let o = cx.emit(Op::MatMul, &[q, state])?;
        let o = cx.reshape(o, &[batch.clone(), int(q_heads), dv.clone()])?;
        let factor = cx.like(o, scale);
        let o = cx.binary(BinaryOp::Mul, o, factor)?;
        Ok(vec![state, store(cx, y, o, t)?])
    })?;
    let [state, y] = out[..] else { return fault("a loop gives two values") };
    let y = cx.transpose(y, &[1, 0, 2, 3])?;
    let y = cx.reshape(y, &[batch, length, int(q_heads) * dv])?;
    let (y, state) = (cx.cast(y, own)?, cx.cast(state, kept)?);
    Ok(vec![cx.plain(y), cx.plain(state)])
}

/// A convolution per channel that sees the past alone, which it is given and hands on.
fn causal_conv<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, w) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let dims = cx.dims(x);
    let kernel = cx.fixed(w)?;
    let ([batch, channels, _], [_, _, k]) = (dims.as_slice(), kernel.as_slice()) else {
        return fault("expected rank 3");
    };
    let past = match call.optional(cx, 3)? {
        Some(past) => past,
        None => zeros(cx, &[batch.clone(), channels.clone(), int(k - 1)], cx.dtype(x))?,
    };
    let padded = cx.emit(Op::Concat { axis: 2 }, &[past, x])?;
    let mut args = vec![padded, w];
    args.extend(call.optional(cx, 2)?);
    let Some(group) = channels.as_const() else { return fault("the number of channels must be known") };
    let window = tenfold_ir::relax::Window { kernel: vec![*k], strides: vec![1], pads: vec![0, 0], dilations: vec![1] };
    let mut y = cx.emit(Op::Conv { window, group, layout: ConvLayout::PLAIN }, &args)?;
    match call.text("activation", "none")?.as_str() {
        "none" => {}
        "silu" | "swish" => y = cx.op("silu", &[y], &[])?,
        other => return fault(format!("the activation `{other}` is unknown")),
    }
    let total = cx.dims(padded)[2].clone();
    let state = cx.part(padded, 2, total - int(k - 1), int(k - 1))?;
    Ok(vec![cx.plain(y), cx.plain(state)])
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("CausalConvWithState", 1, causal_conv),
    op("GRU", 7, |cx, call| recurrent(cx, call, "gru")),
    op("LSTM", 7, |cx, call| recurrent(cx, call, "lstm")),
    op("LinearAttention", 1, linear_attention),
    op("RNN", 7, |cx, call| recurrent(cx, call, "rnn")),
];
