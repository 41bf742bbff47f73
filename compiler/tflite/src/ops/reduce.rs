//! Reductions over axes.

use tenfold_ir::DType;
use tenfold_ir::op::{ArgOp, BinaryOp, ReduceOp};
use tenfold_ir::relax::Op;

use super::{Family, Kind, Results, axes, axis_of, kind};
use crate::fixed::Multiplier;
use crate::walk::{Call, Cx, dtype, fault};

pub(super) const FAMILY: Family = &[
    ("MEAN", |cx, call| sum(cx, call, ReduceOp::Mean)),
    ("SUM", |cx, call| sum(cx, call, ReduceOp::Sum)),
    ("REDUCE_MAX", |cx, call| extreme(cx, call, ReduceOp::Max)),
    ("REDUCE_MIN", |cx, call| extreme(cx, call, ReduceOp::Min)),
    ("ARG_MAX", |cx, call| place(cx, call, ArgOp::ArgMax)),
    ("ARG_MIN", |cx, call| place(cx, call, ArgOp::ArgMin)),
];

fn extreme<'m>(cx: &mut Cx<'m>, call: &Call<'m>, op: ReduceOp) -> Results {
    let kind = kind(call, 0)?;
    let x = call.x(cx, 0)?;
    let over = axes(&call.known_ints(1, "the axes")?, cx.shape(x).len())?;
    if kind == Kind::Int8 && call.quant(0)? != call.out_quant()? {
        return fault("its operand and its result must have one scale and one zero point");
    }
    Ok(vec![cx.reduce(op, x, &over, call.byte(0)? != 0)?])
}

/// Elements that are added at most, so that a sum of 8 bits times a count has room.
const MOST: i64 = 1 << 20;

fn sum<'m>(cx: &mut Cx<'m>, call: &Call<'m>, op: ReduceOp) -> Results {
    let kind = kind(call, 0)?;
    let x = call.x(cx, 0)?;
    let shape = cx.shape(x);
    let over = axes(&call.known_ints(1, "the axes")?, shape.len())?;
    let keeps = call.byte(0)? != 0;
    if kind == Kind::Float {
        return Ok(vec![cx.reduce(op, x, &over, keeps)?]);
    }
    if op != ReduceOp::Mean {
        return fault("it is supported on f32 alone");
    }
    let count: i64 = over.iter().map(|axis| shape[*axis]).product();
    if !(1..=MOST).contains(&count) {
        return fault(format!("it adds {count} elements of i8, and from 1 to {MOST} are supported"));
    }
    let (own, out) = (call.quant(0)?, call.out_quant()?);
    let wide = cx.cast(x, DType::I32)?;
    let sum = cx.reduce(ReduceOp::Sum, wide, &over, keeps)?;
    let sum = if own.zero == 0 { sum } else { cx.with(BinaryOp::Sub, sum, i64::from(own.zero) * count)? };
    let factor = f64::from(own.scale) / f64::from(out.scale);
    let mut by = Multiplier::of(factor);
    // the reference divides the fraction by the count, with as many bits as leave room
    let places = (63 - (count as u64).leading_zeros() as i32).min(32).min(31 + by.shift);
    by.fraction = ((i64::from(by.fraction) << places) / count) as i32;
    by.shift -= places;
    let y = cx.times(sum, count * 255, &[by])?;
    Ok(vec![cx.quantised(y, out, (-128, 127))?])
}

fn place<'m>(cx: &mut Cx<'m>, call: &Call<'m>, op: ArgOp) -> Results {
    kind(call, 0)?;
    let x = call.x(cx, 0)?;
    let [axis] = call.known_ints(1, "the axis")?[..] else { return fault("it needs one axis") };
    let axis = axis_of(axis, cx.shape(x).len())?;
    let y = cx.emit(Op::ArgReduce { op, axis: Some(axis), keepdims: false }, &[x])?;
    match dtype(call.result(0)?.code) {
        Some(to @ (DType::I32 | DType::I64)) => Ok(vec![cx.cast(y, to)?]),
        _ => fault("its result must have elements of i32 or i64"),
    }
}
