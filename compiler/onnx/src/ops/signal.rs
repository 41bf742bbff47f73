//! Fourier transforms, mel bands, determinants.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::ops::AttrValue;
use tenfold_ir::relax::{Op, PadMode, ValueId};

use super::{OnnxOp, op};
use crate::call::{Call, axis_of};
use crate::elem::Elem;
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// One number that is known.
fn number(cx: &mut Cx<'_>, value: &Value) -> Outcome<i64> {
    match cx.i64s(value)?.as_slice() {
        [n] => Ok(*n),
        found => fault(format!("expected one number, found {}", found.len())),
    }
}

/// `x` cut or filled with zeros to an extent along an axis.
fn sized(cx: &mut Cx<'_>, x: ValueId, axis: usize, extent: i64) -> Outcome<ValueId> {
    let dims = cx.dims(x);
    match dims[axis].as_const() {
        Some(n) if n == extent => Ok(x),
        Some(n) if n > extent => cx.part(x, axis, int(0), int(extent)),
        Some(n) => {
            let mut after = vec![int(0); dims.len()];
            after[axis] = int(extent - n);
            let zero = cx.like(x, 0.0);
            cx.emit(Op::Pad { mode: PadMode::Constant, before: vec![int(0); dims.len()], after }, &[x, zero])
        }
        None => fault("`dft_length` beside an axis whose extent is not known; bind the dim"),
    }
}

/// Real numbers as complex ones.
fn complex(cx: &mut Cx<'_>, x: ValueId) -> Outcome<ValueId> {
    let zero = cx.like(x, 0.0);
    let zeros = cx.binary(BinaryOp::Mul, x, zero)?;
    let axis = cx.rank(x) - 1;
    cx.emit(Op::Concat { axis }, &[x, zeros])
}

fn axis_attr(axis: usize) -> (&'static str, AttrValue) {
    ("axis", AttrValue::Int(int(axis as i64)))
}

/// Real numbers from the first half of their transform.
fn to_real(cx: &mut Cx<'_>, x: ValueId, axis: usize, length: Option<i64>) -> Results {
    let (x, attrs) = match length {
        Some(n) => (sized(cx, x, axis, n / 2 + 1)?, vec![axis_attr(axis), ("n", AttrValue::Int(int(n)))]),
        None => (x, vec![axis_attr(axis)]),
    };
    let y = cx.op("irfft", &[x], &attrs)?;
    let shape = [cx.dims(y), vec![int(1)]].concat();
    let y = cx.reshape(y, &shape)?;
    cx.one(y)
}

fn dft<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let rank = cx.rank(x);
    let axis = match call.version {
        ..20 => call.int_or("axis", 1)?,
        _ if call.has(2) => number(cx, call.value(2)?)?,
        _ => -2,
    };
    let axis = axis_of(axis, rank)?;
    if axis + 1 == rank {
        return fault("the last axis holds the parts of complex numbers and is not transformed");
    }
    let (inverse, onesided) = (call.int_or("inverse", 0)? != 0, call.int_or("onesided", 0)? != 0);
    let length = if call.has(1) { Some(number(cx, call.value(1)?)?) } else { None };
    let real = match cx.dims(x)[rank - 1].as_const() {
        Some(1) => true,
        Some(2) => false,
        _ => return fault("expected 1 or 2 as the last extent"),
    };
    if inverse && onesided && !real {
        return to_real(cx, x, axis, length);
    }
    let x = length.map_or(Ok(x), |n| sized(cx, x, axis, n))?;
    let dims = cx.dims(x);
    if real && onesided && !inverse {
        let x = cx.reshape(x, &dims[..rank - 1])?;
        let y = cx.op("rfft", &[x], &[axis_attr(axis)])?;
        return cx.one(y);
    }
    let x = if real { complex(cx, x)? } else { x };
    let y = cx.op(if inverse { "ifft" } else { "fft" }, &[x], &[axis_attr(axis)])?;
    let y = if onesided {
        let half = &dims[axis].floor_div(&int(2)) + &int(1);
        cx.part(y, axis, int(0), half)?
    } else {
        y
    };
    cx.one(y)
}

fn stft<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let step = number(cx, call.value(1)?)?;
    let dims = cx.dims(x);
    let x = match dims.as_slice() {
        [_, _] => x,
        [_, _, last] if last.as_const() == Some(1) => cx.reshape(x, &dims[..2])?,
        _ => return fault("expected real signals, [batch, samples] or [batch, samples, 1]"),
    };
    let window = match call.optional(cx, 2)? {
        Some(window) => window,
        None => {
            let length = number(cx, call.value(3)?)?;
            let one = cx.like(x, 1.0);
            cx.full(&[int(length)], one)?
        }
    };
    if call.has(3) && cx.dims(window)[0] != IntExpr::from(number(cx, call.value(3)?)?) {
        return fault("the window has another length than `frame_length`");
    }
    let attrs =
        [("frame_step", AttrValue::Int(int(step))), ("onesided", AttrValue::Bool(call.int_or("onesided", 1)? != 0))];
    let y = cx.op("stft", &[x, window], &attrs)?;
    cx.one(y)
}

fn mel_weight_matrix<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let one = |cx: &mut Cx<'m>, i: usize| match cx.f64s(call.value(i)?)?.as_slice() {
        [x] => Ok(*x),
        found => fault(format!("expected one number, found {}", found.len())),
    };
    let (low, high) = (one(cx, 3)?, one(cx, 4)?);
    let whole = |x: f64| AttrValue::Int(int(x as i64));
    let attrs = [
        ("num_mel_bins", whole(one(cx, 0)?)),
        ("dft_length", whole(one(cx, 1)?)),
        ("sample_rate", whole(one(cx, 2)?)),
        ("lower_edge_hertz", AttrValue::Float(low)),
        ("upper_edge_hertz", AttrValue::Float(high)),
    ];
    let y = cx.operator("mel_weight_matrix", Vec::new(), &attrs)?;
    let code = call.int_or("output_datatype", 1)?;
    let Some(dtype) = Elem::from_code(code).filter(|e| e.is_plain()).and_then(Elem::storage) else {
        return fault(format!("the type {code} of `output_datatype` is not supported"));
    };
    let y = cx.cast(y, dtype)?;
    cx.one(y)
}

fn det<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let y = cx.op("det", &[x], &[])?;
    cx.one(y)
}

pub(super) static TABLE: &[OnnxOp] =
    &[op("DFT", 17, dft), op("Det", 11, det), op("MelWeightMatrix", 17, mel_weight_matrix), op("STFT", 17, stft)];
