//! Operators that make tensors of a shape.

use super::call::{extent, index, shape, tensor, value_meeting};
use super::error::{At, OpError, OpErrorKind};
use super::kernel::Kernel;
use super::{Arg, Literal, OpCall, OpDef};
use crate::arith::IntExpr;
use crate::op::{CmpOp, ElementOp};
use crate::relax::{Builder, Op, TensorType, ValueId, dim};
use crate::{DType, Scalar};

/// The turbofish, or an error that shows one.
fn dtype(call: &OpCall, name: &str) -> Result<DType, OpError> {
    call.dtype.ok_or_else(|| {
        OpError::new(At::Call, OpErrorKind::Attribute, format!("`{name}` needs a dtype"))
            .help(format!("write `{name}::<f32>(…)`"))
    })
}

fn filled(b: &mut Builder, call: &OpCall, name: &str, one: bool) -> Result<ValueId, OpError> {
    let dtype = dtype(call, name)?;
    let shape = shape(b, call, 0)?;
    let value = b.scalar(if one { Scalar::one(dtype) } else { Scalar::zero(dtype) });
    b.emit(Op::Full { shape }, &[value])
}

fn full(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let shape = shape(b, call, 0)?;
    if let (None, Arg::Literal(Literal::Int(n))) = (call.dtype, &call.args[1]) {
        let message = format!("the literal `{n}` has no dtype yet");
        return Err(OpError::new(At::Arg(1), OpErrorKind::DType, message)
            .help(format!("write `full::<i32>(…, {n})`, `{n}i32` or `{n}.0`")));
    }
    let value = value_meeting(b, call, 1, call.dtype)?;
    if let Some(dtype) = call.dtype {
        let found = b.tensor(value).dtype;
        if found != dtype {
            let message = format!("expected `{dtype}`, found `{found}`");
            return Err(OpError::new(At::Arg(1), OpErrorKind::DType, message).help(format!("convert it: `as {dtype}`")));
        }
    }
    b.emit(Op::Full { shape }, &[value]).map_err(|mut error| {
        error.at = At::Arg(1);
        error
    })
}

/// NumPy's arange: `stop`, or `start, stop`, or `start, stop, step`, of index values.
fn arange(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let dtype = call.dtype.unwrap_or(DType::I64);
    if dtype.is_bool() {
        let error = OpError::new(At::Call, OpErrorKind::DType, "expected a dtype of numbers, found `bool`");
        return Err(error.help("write `arange::<i32>(…)`"));
    }
    let (start, stop) = match call.args.len() {
        1 => (dim::int(0), index(call, 0)?),
        _ => (index(call, 0)?, index(call, 1)?),
    };
    let step = if call.args.len() == 3 { index(call, 2)? } else { dim::int(1) };
    let Some(distance) = dim::as_int(&step).filter(|n| *n != 0) else {
        let message = format!("expected a constant step other than 0, found `{step}`");
        return Err(OpError::new(At::Arg(2), OpErrorKind::Operand, message)
            .help("multiply instead: `arange(n) * (step as i64)`"));
    };
    let extent = range_extent(b, &start, &stop, distance)?;
    b.emit(Op::Arange { start, step, extent, dtype }, &[])
}

/// Number of values from `start` to before `stop`: known if both are, else the ends must be proven in order.
fn range_extent(b: &Builder, start: &IntExpr, stop: &IntExpr, step: i64) -> Result<IntExpr, OpError> {
    let span = if step > 0 { stop - start } else { start - stop };
    let width = step.saturating_abs();
    if let Some(n) = dim::as_int(&span) {
        return Ok(dim::int(if n <= 0 { 0 } else { (n - 1) / width + 1 }));
    }
    if !dim::at_most(&b.prover, &dim::int(0), &span) {
        let message = format!("the number of values, `{span}`, is not proven to be 0 or more");
        return Err(
            OpError::new(At::Call, OpErrorKind::Range, message).help(format!("state a fact: `dims({span} >= 0)`"))
        );
    }
    Ok(dim::div_floor(&(&span + &dim::int(width - 1)), width))
}

/// `eye::<T>(n)` and `eye::<T>(n, m)`: whether row equals column, converted.
fn eye(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let dtype = dtype(call, "eye")?;
    let rows = extent(b, call, 0)?;
    let columns = if call.args.len() == 2 { extent(b, call, 1)? } else { rows.clone() };
    let count = |extent: IntExpr| Op::Arange { start: dim::int(0), step: dim::int(1), extent, dtype: DType::I64 };
    let row = b.emit(count(rows.clone()), &[])?;
    let row = b.emit(Op::Reshape { shape: vec![rows, dim::int(1)] }, &[row])?;
    let column = b.emit(count(columns.clone()), &[])?;
    let column = b.emit(Op::Reshape { shape: vec![dim::int(1), columns] }, &[column])?;
    let equal = b.element(ElementOp::Compare(CmpOp::Eq), &[row, column])?;
    if dtype.is_bool() { Ok(equal) } else { b.element(ElementOp::Cast(dtype), &[equal]) }
}

/// The bits of each element as another dtype of their width.
fn bit_cast(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let to = dtype(call, "bit_cast")?;
    let (x, ty) = tensor(b, call, 0)?;
    let from = ty.dtype;
    if from.is_bool() || to.is_bool() || from.bits() != to.bits() {
        let message = format!("`{from}` and `{to}` are no numbers of one width");
        return Err(OpError::new(At::Arg(0), OpErrorKind::DType, message).help("`as` converts values"));
    }
    let is_whole = |dtype: DType| dtype.is_int() || dtype.is_nibble();
    if is_whole(from) && is_whole(to) {
        return b.element(ElementOp::Cast(to), &[x]);
    }
    let k = Kernel::new(b, "bit_cast");
    let source = k.input(b, x);
    let out = k.output(TensorType { dtype: to, shape: ty.shape });
    k.each("bit_cast", out, |i| source.at(i).bits_as(to));
    k.finish(b)
}

pub(super) static TABLE: &[OpDef] = &[
    typed!("zeros", "", "shape", (1, 1), &[], |b, call| filled(b, call, "zeros", false), "A tensor of zeros (false)."),
    typed!("ones", "", "shape", (1, 1), &[], |b, call| filled(b, call, "ones", true), "A tensor of ones (true)."),
    typed!("full", "", "shape, value", (2, 2), &[], full, "A tensor of one value, whose dtype it takes."),
    typed!(
        "arange",
        "Range",
        "start?, stop, step?",
        (1, 3),
        &[],
        arange,
        "y[i] = start + i · step for all below stop (above it if step is negative); i64 without a turbofish."
    ),
    typed!(
        "bit_cast",
        "BitCast",
        "x",
        (1, 1),
        &[],
        bit_cast,
        "The bits of x as another dtype of its width: `bit_cast::<u32>(x)` of `f32`."
    ),
    typed!("eye", "EyeLike", "n, m?", (1, 2), &[], eye, "The matrix with 1 where row equals column, else 0."),
];
