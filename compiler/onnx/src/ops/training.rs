//! Steps of training, windows of signals, and attention that graphs change.

use tenfold_ir::DType;
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::relax::{Op, ValueId};

use super::cast::table;
use super::{Convert, OnnxOp, op};
use crate::call::Call;
use crate::elem::Elem;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// A number times a tensor.
fn scaled(cx: &mut Cx<'_>, x: ValueId, factor: f64) -> Outcome<ValueId> {
    let factor = cx.like(x, factor);
    cx.binary(BinaryOp::Mul, x, factor)
}

/// `a · x + b · y`.
fn mixed(cx: &mut Cx<'_>, a: f64, x: ValueId, b: f64, y: ValueId) -> Outcome<ValueId> {
    let (x, y) = (scaled(cx, x, a)?, scaled(cx, y, b)?);
    cx.binary(BinaryOp::Add, x, y)
}

/// The operands behind rate and step: one row per tensor that is trained, with what belongs to it.
fn groups<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, groups: usize) -> Outcome<Vec<Vec<ValueId>>> {
    let rest = call.inputs.len().saturating_sub(2);
    if rest == 0 || !rest.is_multiple_of(groups) {
        return fault(format!("it has {rest} tensors, which are no {groups} groups"));
    }
    let each = rest / groups;
    (0..each).map(|i| (0..groups).map(|g| call.x(cx, 2 + g * each + i)).collect()).collect()
}

fn adam<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let number = |name: &str, default: f32| call.float_or(name, default).map(f64::from);
    let (alpha, beta) = (number("alpha", 0.9)?, number("beta", 0.999)?);
    let (norm, after) = (number("norm_coefficient", 0.0)?, number("norm_coefficient_post", 0.0)?);
    let (rate, turn) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let rate = corrected(cx, rate, turn, alpha, beta)?;
    let all = groups(cx, call, 4)?;
    let (mut xs, mut vs, mut hs) = (Vec::new(), Vec::new(), Vec::new());
    for row in all {
        let [x, g, v, h] = row[..] else { return fault("a tensor has no moments") };
        let g = mixed(cx, norm, x, 1.0, g)?;
        let v = mixed(cx, alpha, v, 1.0 - alpha, g)?;
        let square = cx.unary(UnaryOp::Square, g)?;
        let h = mixed(cx, beta, h, 1.0 - beta, square)?;
        let root = cx.unary(UnaryOp::Sqrt, h)?;
        let epsilon = cx.like(root, number("epsilon", 1e-6)?);
        let divisor = cx.binary(BinaryOp::Add, root, epsilon)?;
        let direction = cx.binary(BinaryOp::Div, v, divisor)?;
        let rate = cx.cast(rate, cx.dtype(x))?;
        let move_by = cx.binary(BinaryOp::Mul, direction, rate)?;
        let x = cx.binary(BinaryOp::Sub, x, move_by)?;
        xs.push(scaled(cx, x, 1.0 - after)?);
        vs.push(v);
        hs.push(h);
    }
    Ok(xs.into_iter().chain(vs).chain(hs).map(|v| cx.plain(v)).collect())
}

/// The rate, corrected for moments that begin at 0, from step 1 on.
fn corrected(cx: &mut Cx<'_>, rate: ValueId, turn: ValueId, alpha: f64, beta: f64) -> Outcome<ValueId> {
    let t = cx.cast(turn, cx.dtype(rate))?;
    let rest = |cx: &mut Cx<'_>, base: f64| {
        let (base, one) = (cx.like(t, base), cx.like(t, 1.0));
        let power = cx.binary(BinaryOp::Pow, base, t)?;
        cx.binary(BinaryOp::Sub, one, power)
    };
    let (second, first) = (rest(cx, beta)?, rest(cx, alpha)?);
    let root = cx.unary(UnaryOp::Sqrt, second)?;
    let factor = cx.binary(BinaryOp::Div, root, first)?;
    let adjusted = cx.binary(BinaryOp::Mul, rate, factor)?;
    let zero = cx.like(t, 0.0);
    let later = cx.compare(tenfold_ir::op::CmpOp::Gt, t, zero)?;
    cx.select(later, adjusted, rate)
}

fn momentum<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let number = |name: &str, default: f32| call.float_or(name, default).map(f64::from);
    let (alpha, beta, norm) = (number("alpha", 0.9)?, number("beta", 1.0)?, number("norm_coefficient", 0.0)?);
    let nesterov = match call.text("mode", "standard")?.as_str() {
        "standard" => false,
        "nesterov" => true,
        other => return fault(format!("the mode `{other}` is unknown")),
    };
    let (rate, turn) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let all = groups(cx, call, 3)?;
    let (mut xs, mut vs) = (Vec::new(), Vec::new());
    for row in all {
        let [x, g, v] = row[..] else { return fault("a tensor has no momentum") };
        let g = mixed(cx, norm, x, 1.0, g)?;
        let zero = cx.like(turn, 0.0);
        let later = cx.compare(tenfold_ir::op::CmpOp::Gt, turn, zero)?;
        let (beta, one) = (cx.like(g, beta), cx.like(g, 1.0));
        let weight = cx.select(later, beta, one)?;
        let weighted = cx.binary(BinaryOp::Mul, g, weight)?;
        let v = mixed(cx, alpha, v, 1.0, weighted)?;
        let direction = if nesterov { mixed(cx, 1.0, g, alpha, v)? } else { v };
        let rate = cx.cast(rate, cx.dtype(x))?;
        let move_by = cx.binary(BinaryOp::Mul, direction, rate)?;
        xs.push(cx.binary(BinaryOp::Sub, x, move_by)?);
        vs.push(v);
    }
    Ok(xs.into_iter().chain(vs).map(|v| cx.plain(v)).collect())
}

fn adagrad<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let number = |name: &str, default: f32| call.float_or(name, default).map(f64::from);
    let (decay, norm, epsilon) =
        (number("decay_factor", 0.0)?, number("norm_coefficient", 0.0)?, number("epsilon", 0.0)?);
    let (rate, turn) = (call.x(cx, 0)?, call.x(cx, 1)?);
    // The rate falls with the number of steps.
    let turns = cx.cast(turn, cx.dtype(rate))?;
    let one = cx.like(rate, 1.0);
    let slower = scaled(cx, turns, decay)?;
    let slower = cx.binary(BinaryOp::Add, slower, one)?;
    let rate = cx.binary(BinaryOp::Div, rate, slower)?;
    let (mut xs, mut hs) = (Vec::new(), Vec::new());
    for row in groups(cx, call, 3)? {
        let [x, g, h] = row[..] else { return fault("a tensor has no sum of squares") };
        let g = mixed(cx, norm, x, 1.0, g)?;
        let square = cx.unary(UnaryOp::Square, g)?;
        let h = cx.binary(BinaryOp::Add, h, square)?;
        let root = cx.unary(UnaryOp::Sqrt, h)?;
        let epsilon = cx.like(root, epsilon);
        let divisor = cx.binary(BinaryOp::Add, root, epsilon)?;
        let direction = cx.binary(BinaryOp::Div, g, divisor)?;
        let rate = cx.cast(rate, cx.dtype(x))?;
        let move_by = cx.binary(BinaryOp::Mul, direction, rate)?;
        xs.push(cx.binary(BinaryOp::Sub, x, move_by)?);
        hs.push(h);
    }
    Ok(xs.into_iter().chain(hs).map(|v| cx.plain(v)).collect())
}

/// A window by the weights of its cosines.
fn cosines<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, weights: &[f64]) -> Results {
    let size = cx.i64s(call.value(0)?)?.first().copied().unwrap_or(0);
    if !(0..1 << 24).contains(&size) {
        return fault(format!("a window of {size} samples"));
    }
    let code = call.int_or("output_datatype", 1)?;
    let dtype = Elem::from_code(code).and_then(Elem::storage);
    let Some(dtype) = dtype.filter(|dtype| !dtype.is_bool()) else { return fault("its dtype is unknown") };
    let periodic = call.int_or("periodic", 1)? != 0;
    let length = if periodic { size } else { size - 1 }.max(1) as f64;
    let value = |n: i64| {
        let angle = 2.0 * std::f64::consts::PI * n as f64 / length;
        weights.iter().enumerate().map(|(k, w)| w * (k as f64 * angle).cos()).sum()
    };
    let values: Vec<f64> = (0..size).map(value).collect();
    let y = table(cx, dtype, &values)?;
    cx.one(y)
}

/// Attention whose scores and weights go through graphs.
fn flex_attention<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (q, k, v) = (call.x(cx, 0)?, call.x(cx, 1)?, call.x(cx, 2)?);
    let dims = cx.dims(q);
    let [_, heads, _, size] = dims.as_slice() else { return fault("expected rank 4") };
    let scale = super::attention::scale_of(call, size)?;
    let (k, v) = (super::attention::shared(cx, k, heads)?, super::attention::shared(cx, v, heads)?);
    let (q, k) = (scaled(cx, q, scale.sqrt())?, scaled(cx, k, scale.sqrt())?);
    let k = cx.transpose(k, &[0, 1, 3, 2])?;
    let mut scores = cx.emit(Op::MatMul, &[q, k])?;
    let (own, given) = (cx.dtype(v), call.int("softmax_precision")?);
    let wide = if cx.dtype(q).is_half() { DType::F32 } else { cx.dtype(q) };
    let wide = given.and_then(Elem::from_code).and_then(Elem::storage).unwrap_or(wide);
    scores = cx.cast(scores, wide)?;
    scores = through(cx, call, "score_mod", scores)?;
    let axis = cx.rank(scores) - 1;
    let weights = cx.emit(Op::Softmax { axis, log: false }, &[scores])?;
    let weights = through(cx, call, "prob_mod", weights)?;
    let v = cx.cast(v, wide)?;
    let y = cx.emit(Op::MatMul, &[weights, v])?;
    let y = cx.cast(y, own)?;
    cx.one(y)
}

/// What a graph of the node makes of a tensor; without the graph, the tensor.
fn through<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, name: &str, x: ValueId) -> Outcome<ValueId> {
    if !call.attributes.contains_key(name) {
        return Ok(x);
    }
    let given = cx.plain(x);
    let dtype = cx.dtype(x);
    match cx.subgraph(call.graph(name)?, vec![given])?.first() {
        Some(y) => {
            let y = cx.node(y)?;
            cx.cast(y, dtype)
        }
        None => fault(format!("the graph `{name}` gives nothing")),
    }
}

const fn preview(domain: &'static str, name: &'static str, convert: Convert) -> OnnxOp {
    OnnxOp { domain, name, since: 1, convert }
}

pub(super) static TABLE: &[OnnxOp] = &[
    preview("ai.onnx.preview.training", "Adagrad", adagrad),
    preview("ai.onnx.preview.training", "Adam", adam),
    preview("ai.onnx.preview.training", "Momentum", momentum),
    preview("ai.onnx.preview", "FlexAttention", flex_attention),
    op("BlackmanWindow", 17, |cx, call| cosines(cx, call, &[0.42, -0.5, 0.08])),
    op("HammingWindow", 17, |cx, call| cosines(cx, call, &[25.0 / 46.0, -21.0 / 46.0])),
    op("HannWindow", 17, |cx, call| cosines(cx, call, &[0.5, -0.5])),
];
