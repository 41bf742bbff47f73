//! Softmax and normalisation.

use tenfold_ir::DType;
use tenfold_ir::Scalar;
use tenfold_ir::op::{BinaryOp, CmpOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{Op, ValueId};

use super::element::{fixed_output, into_fixed};
use super::{Activation, Family, Kind, Results, kind};
use crate::fixed;
use crate::walk::{Call, Cx, Outcome, Quant, fault};

pub(super) const FAMILY: Family =
    &[("SOFTMAX", softmax), ("LOG_SOFTMAX", log_softmax), ("L2_NORMALIZATION", l2_normalization)];

/// Bits before the point of what exponentials are computed of.
const INTEGER: i32 = 5;
/// Bits before the point of their sums.
const SUM: i32 = 12;
/// Elements of a row at most: so many exponentials have room in a sum.
const MOST: i64 = 1 << 8;

fn softmax<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let kind = kind(call, 0)?;
    let (x, beta) = (call.x(cx, 0)?, call.float(0)?);
    let Some(axis) = cx.shape(x).len().checked_sub(1) else { return fault("its operand has no axis") };
    if kind == Kind::Float {
        let beta = cx.float(beta);
        let scaled = cx.binary(BinaryOp::Mul, x, beta)?;
        return Ok(vec![cx.emit(Op::Softmax { axis, log: false }, &[scaled])?]);
    }
    let own = fixed_output(call, Quant { scale: 1.0 / 256.0, zero: -128 })?;
    if cx.shape(x)[axis] > MOST {
        return fault(format!("its rows have {} elements, and {MOST} are the most of i8", cx.shape(x)[axis]));
    }
    let factor = f64::from(beta) * f64::from(own.scale) * f64::from(1 << (31 - INTEGER));
    let (by, radius) = into_fixed(factor, INTEGER);
    // what each is below the greatest of its row has 8 bits, so that its exponential is one of a table
    let wide = cx.cast(x, DType::I32)?;
    let most = cx.reduce(ReduceOp::Max, wide, &[axis], true)?;
    let below = cx.binary(BinaryOp::Sub, most, wide)?;
    let below = cx.cast(below, DType::U8)?;
    let exponentials = cx.table(below, DType::I32, |code| {
        let below = -(code & 255);
        let value = if below < -radius { 0 } else { fixed::exp(by.times(below), INTEGER) };
        Scalar::int(DType::I32, i128::from(value))
    })?;
    let places = cx.int(DType::I32, i64::from(SUM));
    let short = cx.divided_by(exponentials, places)?;
    let sum = cx.reduce(ReduceOp::Sum, short, &[axis], true)?;
    let (reciprocal, bits) = reciprocal(cx, sum)?;
    let product = cx.doubled_high(exponentials, reciprocal, 1 << 31)?;
    let places = cx.with(BinaryOp::Add, bits, 31 - 8)?;
    let y = cx.divided_by(product, places)?;
    // what the table has no exponential of is 0 as well
    Ok(vec![cx.quantised(y, Quant { scale: 1.0 / 256.0, zero: -128 }, (-128, 127))?])
}

/// The reciprocal of sums that are 1 or more, between a half and 1, and the power of two that it lacks.
fn reciprocal(cx: &mut Cx<'_>, sum: ValueId) -> Outcome<(ValueId, ValueId)> {
    // a sum of 1 is 2^19, and its bits over that are counted
    let unit = 31 - SUM;
    let bits = cx.powers_below(sum, unit + 1..31)?;
    let places = cx.int(DType::I32, i64::from(SUM));
    let places = cx.binary(BinaryOp::Sub, places, bits)?;
    // the highest bit, which is the sign's, goes
    let moved = cx.binary(BinaryOp::Shl, sum, places)?;
    let rest = cx.with(BinaryOp::And, moved, i64::from(i32::MAX))?;
    Ok((one_over_one_plus(cx, rest)?, bits))
}

/// [`fixed::one_over_one_plus`] as operators.
fn one_over_one_plus(cx: &mut Cx<'_>, x: ValueId) -> Outcome<ValueId> {
    let most = 1 << 31;
    // half of a sum with 2^31 - 1, halves up: 2^30 and half of x, down
    let half = cx.with(BinaryOp::Shr, x, 1)?;
    let divisor = cx.with(BinaryOp::Add, half, 1 << 30)?;
    let factor = cx.int(DType::I32, -1_010_580_540);
    let product = cx.doubled_high(divisor, factor, most)?;
    let mut result = cx.with(BinaryOp::Add, product, 1_515_870_810)?;
    for _ in 0..3 {
        let product = cx.doubled_high(divisor, result, most)?;
        let one = cx.int(DType::I32, 1 << 29);
        let error = cx.binary(BinaryOp::Sub, one, product)?;
        let step = cx.doubled_high(result, error, most)?;
        let step = cx.raised(step, 2)?;
        result = cx.binary(BinaryOp::Add, result, step)?;
    }
    cx.raised(result, 1)
}

fn log_softmax<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    if kind(call, 0)? != Kind::Float {
        return fault("it is supported on f32 alone");
    }
    let x = call.x(cx, 0)?;
    let Some(axis) = cx.shape(x).len().checked_sub(1) else { return fault("its operand has no axis") };
    Ok(vec![cx.emit(Op::Softmax { axis, log: true }, &[x])?])
}

fn l2_normalization<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    if Activation::of(call.byte(0)?)? != Activation::None {
        return fault("an activation behind it is not supported");
    }
    let kind = kind(call, 0)?;
    let x = call.x(cx, 0)?;
    let Some(axis) = cx.shape(x).len().checked_sub(1) else { return fault("its operand has no axis") };
    if kind == Kind::Int8 {
        let own = fixed_output(call, Quant { scale: 1.0 / 128.0, zero: 0 })?;
        return integers_by_norm(cx, x, own, axis);
    }
    let squares = cx.binary(BinaryOp::Mul, x, x)?;
    let sum = cx.reduce(ReduceOp::Sum, squares, &[axis], true)?;
    let norm = cx.unary(UnaryOp::Sqrt, sum)?;
    let least = cx.float(1e-6);
    let norm = cx.binary(BinaryOp::Max, norm, least)?;
    Ok(vec![cx.binary(BinaryOp::Div, x, norm)?])
}

/// Elements of a row at most whose squares have room in a sum.
const MOST_SQUARES: i64 = 1 << 12;

fn integers_by_norm(cx: &mut Cx<'_>, x: ValueId, own: Quant, axis: usize) -> Results {
    if cx.shape(x)[axis] > MOST_SQUARES {
        return fault(format!("its rows have {} elements, and {MOST_SQUARES} are the most of i8", cx.shape(x)[axis]));
    }
    let x = cx.centred(x, own)?;
    let squares = cx.binary(BinaryOp::Mul, x, x)?;
    let sum = cx.reduce(ReduceOp::Sum, squares, &[axis], true)?;
    let (factor, power) = reciprocal_root(cx, sum)?;
    // results are 2^7 times the quotient
    let power = cx.with(BinaryOp::Add, power, 7)?;
    let zero = cx.int(DType::I32, 0);
    let (left, right) = (cx.binary(BinaryOp::Max, power, zero)?, cx.binary(BinaryOp::Sub, zero, power)?);
    let right = cx.binary(BinaryOp::Max, right, zero)?;
    let moved = cx.binary(BinaryOp::Shl, x, left)?;
    let high = cx.doubled_high(moved, factor, 1 << 31)?;
    let y = cx.divided_by(high, right)?;
    Ok(vec![cx.quantised(y, Quant { scale: 1.0 / 128.0, zero: 0 }, (-128, 127))?])
}

/// `1 / √x` of x below 2^29, between a half and 1 without integer bits, and its power of two: five steps of Newton's.
fn reciprocal_root(cx: &mut Cx<'_>, x: ValueId) -> Outcome<(ValueId, ValueId)> {
    let most = 1 << 31;
    let above = cx.powers_below(x, (1..=27).step_by(2))?;
    let pairs = cx.int(DType::I32, 14);
    let pairs = cx.binary(BinaryOp::Sub, pairs, above)?;
    let places = cx.with(BinaryOp::Shl, pairs, 1)?;
    let moved = cx.binary(BinaryOp::Shl, x, places)?;
    // three bits before the point from here on
    let number = cx.with(BinaryOp::Shr, moved, 1)?;
    let one = cx.int(DType::I32, 1);
    let half = cx.divided_by(number, one)?;
    let three_halves = cx.int(DType::I32, (1 << 28) + (1 << 27));
    let mut root = cx.int(DType::I32, 1 << 28);
    for _ in 0..5 {
        let square = cx.doubled_high(root, root, most)?;
        let cube = cx.doubled_high(square, root, most)?;
        let cube = cx.raised(cube, 6)?;
        let (first, second) = (cx.doubled_high(three_halves, root, most)?, cx.doubled_high(half, cube, most)?);
        let difference = cx.binary(BinaryOp::Sub, first, second)?;
        root = cx.raised(difference, 3)?;
    }
    let half_root_of_two = cx.int(DType::I32, 1_518_500_250);
    let root = cx.doubled_high(root, half_root_of_two, most)?;
    // powers above 0 go into the factor
    let zero = cx.int(DType::I32, 0);
    let power = cx.with(BinaryOp::Sub, pairs, 11)?;
    let over = cx.binary(BinaryOp::Max, power, zero)?;
    let factor = cx.binary(BinaryOp::Shl, root, over)?;
    let power = cx.binary(BinaryOp::Min, power, zero)?;
    let is_large = cx.compare(CmpOp::Gt, x, one)?;
    let greatest = cx.int(DType::I32, i64::from(i32::MAX));
    Ok((cx.select(is_large, factor, greatest)?, cx.select(is_large, power, zero)?))
}
