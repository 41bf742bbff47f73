//! Powers.

use tenfold_ir::op::BinaryOp;
use tenfold_ir::op::CmpOp::{Eq, Gt, Lt, Ne};
use tenfold_ir::op::UnaryOp;
use tenfold_ir::tir::{Builder, Elem, Expr, ExprId};
use tenfold_ir::{DType, Scalar};

use super::exp::exp;
use super::kit::Kit;
use super::log::log;
use super::pow_double::magnitude;

/// The greatest whole power of f32 that is a product.
const WHOLE: i64 = 16;

/// x to the y: the power of |x|, with the sign that an odd whole y gives a negative x. For f32, |x|^y is exp(y log |x|)
/// in f64, or a product in f64 where y is a small whole number.
pub(super) fn pow(k: &mut Kit<'_>, x: ExprId, y: ExprId) -> ExprId {
    let dtype = k.dtype;
    if let Some(y) = whole(k, y).filter(|_| dtype == DType::F32) {
        return whole_pow(k, x, y);
    }
    let (wx, wy) = (k.b.cast(DType::F64, x), k.b.cast(DType::F64, y));
    let mut wide = Kit::new(k.b, DType::F64);
    let size = wide.abs(wx);
    let value = if dtype == DType::F64 {
        let value = magnitude(&mut wide, size, wy);
        ends(&mut wide, size, wy, value)
    } else {
        let l = log(&mut wide, size);
        let product = wide.mul(wy, l);
        exp(&mut wide, product)
    };
    let value = signed(&mut wide, wx, wy, value);
    let one = wide.c(1.0);
    let value = wide.where_c(wy, Eq, 0.0, one, value);
    let value = wide.where_c(wx, Eq, 1.0, one, value);
    k.b.cast(dtype, value)
}

/// The small whole number that an exponent is, in all lanes.
fn whole(k: &Kit<'_>, y: ExprId) -> Option<i64> {
    match *k.b.func().exprs.get(y) {
        Expr::Const(y) => Some(y.to_f64()).filter(|y| *y == y.trunc() && y.abs() <= WHOLE as f64).map(|y| y as i64),
        Expr::Broadcast(one, _) => whole(k, one),
        _ => None,
    }
}

/// A product of squares in f64, which has room for each of them, or is as far from f32 as the power is; 1 / 0 is the infinity
/// with the sign that such a power of a zero has.
fn whole_pow(k: &mut Kit<'_>, x: ExprId, y: i64) -> ExprId {
    let dtype = k.dtype;
    let wx = k.b.cast(DType::F64, x);
    let mut wide = Kit::new(k.b, DType::F64);
    let one = wide.c(1.0);
    let (mut value, mut square, mut left) = (None, wx, y.unsigned_abs());
    while left > 0 {
        if left % 2 == 1 {
            value = Some(value.map_or(square, |value| wide.mul(value, square)));
        }
        left /= 2;
        if left > 0 {
            square = wide.mul(square, square);
        }
    }
    let value = value.unwrap_or(one);
    let value = if y < 0 { wide.div(one, value) } else { value };
    k.b.cast(dtype, value)
}

/// Puts in the powers of 0, of infinity and of NaN, for x without a sign.
fn ends(k: &mut Kit<'_>, x: ExprId, y: ExprId, value: ExprId) -> ExprId {
    let (zero, up, nan) = (k.c(0.0), k.c(f64::INFINITY), k.c(f64::NAN));
    let negative = k.cmp_c(Lt, y, 0.0);
    let (of_zero, of_infinity) = (k.select(negative, up, zero), k.select(negative, zero, up));
    let value = k.where_c(x, Eq, 0.0, of_zero, value);
    let value = k.where_c(x, Eq, f64::INFINITY, of_infinity, value);
    let (nx, ny) = (k.unary(UnaryOp::IsNan, x), k.unary(UnaryOp::IsNan, y));
    let any = k.b.binary(BinaryOp::Or, nx, ny);
    k.select(any, nan, value)
}

/// NaN where x < 0 and y is not whole; negative where y is odd.
fn signed(k: &mut Kit<'_>, x: ExprId, y: ExprId, value: ExprId) -> ExprId {
    let (nan, half) = (k.c(f64::NAN), k.c(0.5));
    let whole = k.unary(UnaryOp::Trunc, y);
    let halved = k.mul(y, half);
    let half_whole = k.unary(UnaryOp::Trunc, halved);
    let (fraction, odd) = (k.cmp(Ne, whole, y), k.cmp(Ne, half_whole, halved));
    let even = k.unary(UnaryOp::Not, fraction);
    let odd = k.b.binary(BinaryOp::And, odd, even);
    let with_sign = k.with_sign(value, x);
    let value = k.select(odd, with_sign, value);
    let (negative, finite) = (k.cmp_c(Lt, x, 0.0), k.cmp_c(Gt, x, f64::NEG_INFINITY));
    let bad = k.b.binary(BinaryOp::And, negative, fraction);
    let bad = k.b.binary(BinaryOp::And, bad, finite);
    // -1 to an infinite power is 1, and every other |x| has no sign to lose there.
    let infinite = k.unary(UnaryOp::IsInf, y);
    let bounded = k.unary(UnaryOp::Not, infinite);
    let bad = k.b.binary(BinaryOp::And, bad, bounded);
    let value = k.select(bad, nan, value);
    let one = k.c(1.0);
    let minus_one = k.cmp_c(Eq, x, -1.0);
    let unit = k.b.binary(BinaryOp::And, minus_one, infinite);
    k.select(unit, one, value)
}

/// An integer to an integer power, wrapping, by squaring. A negative power gives 0, but of 1 and -1.
pub(super) fn int_pow(b: &mut Builder, x: ExprId, y: ExprId) -> ExprId {
    let (dtype, width) = match b.ty(x).elem {
        Elem::Scalar(dtype) => (dtype, 8 * dtype.size_bytes() as i64),
        Elem::Index => (DType::I64, 64),
    };
    let (zero, one) = (b.int_like(x, 0), b.int_like(x, 1));
    let (mut value, mut base) = (one, x);
    // A base is 0 or its own square modulo 2^width once it was squared `width` times, so higher bits of y matter
    // only through whether they are set; the loop over all of them is exact.
    for bit in 0..width {
        let mask = b.scalar(Scalar { dtype, bits: 1 << bit });
        let masked = b.binary(BinaryOp::And, y, mask);
        let set = b.compare(Ne, masked, zero);
        let product = b.mul(value, base);
        value = b.select(set, product, value);
        base = b.mul(base, base);
    }
    if !dtype.is_signed() {
        return value;
    }
    let minus = b.int_like(x, -1);
    let (negative, is_one, is_minus) = (b.compare(Lt, y, zero), b.compare(Eq, x, one), b.compare(Eq, x, minus));
    let parity = b.binary(BinaryOp::And, y, one);
    let odd = b.compare(Ne, parity, zero);
    let signed = b.select(odd, minus, one);
    let other = b.select(is_minus, signed, zero);
    let other = b.select(is_one, one, other);
    b.select(negative, other, value)
}
