//! Reductions.

use tenfold_ir::DType;
use tenfold_ir::op::{ArgOp, BinaryOp, CmpOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{Op, ValueId};

use super::{OnnxOp, op};
use crate::call::Call;
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// What a reduction is over; `None` means that there is nothing to do.
struct Over {
    x: ValueId,
    axes: Vec<usize>,
    keepdims: bool,
}

fn over<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Outcome<Option<Over>> {
    let x = call.x(cx, 0)?;
    let rank = cx.rank(x);
    let named = call.axes(cx, 1, "axes", rank)?;
    let noop = call.int_or("noop_with_empty_axes", 0)? != 0;
    let axes = match named {
        Some(axes) if !axes.is_empty() => axes,
        Some(_) | None if noop => return Ok(None),
        Some(_) | None => (0..rank).collect(),
    };
    Ok(Some(Over { x, axes, keepdims: call.int_or("keepdims", 1)? != 0 }))
}

/// `after(reduce(before(x)))`.
fn reduce<'m>(
    cx: &mut Cx<'m>,
    call: &Call<'_, 'm>,
    before: Option<UnaryOp>,
    reduce: ReduceOp,
    after: Option<UnaryOp>,
) -> Results {
    let given = over(cx, call)?;
    let mut y = match &given {
        Some(over) => over.x,
        None => call.x(cx, 0)?,
    };
    let own = cx.dtype(y);
    if let Some(op) = before {
        y = cx.unary(op, y)?;
    }
    if let Some(over) = given {
        y = sum(cx, reduce, y, &over)?;
    }
    if let Some(op) = after {
        let float = if own.is_float() { own } else { DType::F64 };
        y = cx.cast(y, float)?;
        y = cx.unary(op, y)?;
        y = cx.cast(y, own)?;
    }
    cx.one(y)
}

/// The reduction. A mean of integers rounds towards 0, and bools compare as 0 and 1.
fn sum(cx: &mut Cx<'_>, op: ReduceOp, x: ValueId, over: &Over) -> Outcome<ValueId> {
    let dtype = cx.dtype(x);
    if op == ReduceOp::Mean && dtype.is_int() {
        let shape = cx.dims(x);
        let count = over.axes.iter().fold(int(1), |n, axis| &n * &shape[*axis]);
        let total = cx.reduce(ReduceOp::Sum, x, &over.axes, over.keepdims)?;
        let count = cx.emit(Op::IndexValue { expr: count, dtype }, &[])?;
        return cx.binary(BinaryOp::Div, total, count);
    }
    let op = match (op, dtype) {
        (ReduceOp::Max, DType::Bool) => ReduceOp::Any,
        (ReduceOp::Min, DType::Bool) => ReduceOp::All,
        (op, _) => op,
    };
    cx.reduce(op, x, &over.axes, over.keepdims)
}

/// `m + ln Σ e^(x - m)`, m being the largest element where that is finite.
fn log_sum_exp<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let Some(mut over) = over(cx, call)? else { return Ok(vec![call.value(0)?.clone()]) };
    let own = cx.dtype(over.x);
    over.x = cx.cast(over.x, if own.is_float() { own } else { DType::F64 })?;
    let largest = cx.reduce(ReduceOp::Max, over.x, &over.axes, true)?;
    let finite = cx.unary(UnaryOp::IsFinite, largest)?;
    let zero = cx.like(over.x, 0.0);
    let m = cx.select(finite, largest, zero)?;
    let moved = cx.binary(BinaryOp::Sub, over.x, m)?;
    let e = cx.unary(UnaryOp::Exp, moved)?;
    let total = cx.reduce(ReduceOp::Sum, e, &over.axes, true)?;
    let log = cx.unary(UnaryOp::Log, total)?;
    let mut y = cx.binary(BinaryOp::Add, log, m)?;
    if !over.keepdims {
        let dims = cx.dims(y);
        let kept: Vec<_> = (0..dims.len()).filter(|i| !over.axes.contains(i)).map(|i| dims[i].clone()).collect();
        y = cx.reshape(y, &kept)?;
    }
    let y = cx.cast(y, own)?;
    cx.one(y)
}

fn arg<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, op: ArgOp) -> Results {
    let mut x = call.x(cx, 0)?;
    let axis = call.axis(0, cx.rank(x))?;
    let keepdims = call.int_or("keepdims", 1)? != 0;
    let last = call.int_or("select_last_index", 0)? != 0;
    let extent = cx.dims(x)[axis].clone();
    if last {
        x = cx.op("flip", &[x], &[("axis", tenfold_ir::ops::AttrValue::Int(int(axis as i64)))])?;
    }
    let mut y = cx.emit(Op::ArgReduce { op, axis: Some(axis), keepdims }, &[x])?;
    if last {
        let end = cx.emit(Op::IndexValue { expr: &extent - int(1), dtype: DType::I64 }, &[])?;
        y = cx.binary(BinaryOp::Sub, end, y)?;
    }
    cx.one(y)
}

/// `x / ‖x‖` along an axis; 0 where the norm is 0.
fn lp_normalization<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let axis = call.axis(-1, cx.rank(x))?;
    let norm = match call.int_or("p", 2)? {
        1 => {
            let a = cx.unary(UnaryOp::Abs, x)?;
            cx.reduce(ReduceOp::Sum, a, &[axis], true)?
        }
        2 => {
            let a = cx.unary(UnaryOp::Square, x)?;
            let total = cx.reduce(ReduceOp::Sum, a, &[axis], true)?;
            cx.unary(UnaryOp::Sqrt, total)?
        }
        p => return fault(format!("p = {p} is neither 1 nor 2")),
    };
    let zero = cx.like(x, 0.0);
    let nothing = cx.compare(CmpOp::Eq, norm, zero)?;
    let y = cx.binary(BinaryOp::Div, x, norm)?;
    let y = cx.select(nothing, zero, y)?;
    cx.one(y)
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("ArgMax", 1, |cx, call| arg(cx, call, ArgOp::ArgMax)),
    op("ArgMin", 1, |cx, call| arg(cx, call, ArgOp::ArgMin)),
    op("LpNormalization", 1, lp_normalization),
    op("ReduceL1", 1, |cx, call| reduce(cx, call, Some(UnaryOp::Abs), ReduceOp::Sum, None)),
    op("ReduceL2", 1, |cx, call| reduce(cx, call, Some(UnaryOp::Square), ReduceOp::Sum, Some(UnaryOp::Sqrt))),
    op("ReduceLogSum", 1, |cx, call| reduce(cx, call, None, ReduceOp::Sum, Some(UnaryOp::Log))),
    op("ReduceLogSumExp", 1, log_sum_exp),
    op("ReduceMax", 1, |cx, call| reduce(cx, call, None, ReduceOp::Max, None)),
    op("ReduceMean", 1, |cx, call| reduce(cx, call, None, ReduceOp::Mean, None)),
    op("ReduceMin", 1, |cx, call| reduce(cx, call, None, ReduceOp::Min, None)),
    op("ReduceProd", 1, |cx, call| reduce(cx, call, None, ReduceOp::Prod, None)),
    op("ReduceSum", 1, |cx, call| reduce(cx, call, None, ReduceOp::Sum, None)),
    op("ReduceSumSquare", 1, |cx, call| reduce(cx, call, Some(UnaryOp::Square), ReduceOp::Sum, None)),
];
