//! Attention and what goes with it.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::relax::ValueId;

use super::{OnnxOp, op};
use crate::call::Call;
use crate::elem::Elem;
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

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

/// The scale of products of queries and keys: given, or one over the root of the size of a head.
pub(super) fn scale_of(call: &Call<'_, '_>, size: &IntExpr) -> Outcome<f64> {
    match (call.float("scale")?.filter(|scale| *scale != 0.0), size.as_const()) {
        (Some(scale), _) => Ok(f64::from(scale)),
        (None, Some(size)) => Ok(1.0 / (size as f64).sqrt()),
        (None, None) => fault("the size of a head must be known; bind the dim"),
    }
}

/// An empty cache for what a present one is asked for without a past.
fn no_cache(cx: &mut Cx<'_>, x: ValueId, heads: Option<i64>) -> Outcome<ValueId> {
    let dims = cx.dims(x);
    let (heads, size) = match (dims.as_slice(), heads) {
        ([_, heads, _, size], _) => (heads.clone(), size.clone()),
        ([_, _, hidden], Some(heads)) if heads > 0 => (int(heads), hidden.floor_div(&int(heads))),
        (dims, _) => return fault(format!("expected rank 4, or rank 3 with a number of heads; found {dims:?}")),
    };
    let zero = cx.like(x, 0.0);
    cx.full(&[dims[0].clone(), heads, int(0), size], zero)
}

fn attention<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let mut args = call.operands(cx)?;
    if args.len() > 4 || call.wants(1) || call.wants(2) {
        args.resize(args.len().max(6), Arg::List(Vec::new()));
        let heads = call.int("kv_num_heads")?;
        for (i, of) in [(4, 1), (5, 2)] {
            if !call.has(i) {
                let x = call.x(cx, of)?;
                args[i] = Arg::Value(no_cache(cx, x, heads)?);
            }
        }
    }
    let caches = args.len() > 4;
    let scores = match call.int_or("qk_matmul_output_mode", 0)? {
        _ if !call.wants(3) => "none",
        0 => "raw",
        1 => "capped",
        2 => "biased",
        _ => "weights",
    };
    let precision = call.int("softmax_precision")?.and_then(Elem::from_code).and_then(Elem::storage);
    let precision = precision.map_or("own", |dtype| dtype.name());
    let word = |text: &str| AttrValue::Text(text.to_string());
    let own = [("scores", word(scores)), ("softmax_precision", word(precision))];
    let results = cx.entry_with(call, "attention", args, &own)?;
    let mut all: Vec<Value> = results.iter().map(|y| cx.plain(*y)).collect();
    if !caches && all.len() > 1 {
        all.splice(1..1, [Value::None, Value::None]);
    }
    Ok(all)
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

pub(super) static TABLE: &[OnnxOp] = &[
    op("Attention", 23, attention),
    op("RotaryEmbedding", 23, |cx, call| super::same(cx, call, "rotary_embedding")),
    op("SwiGLU", 1, swiglu),
];
