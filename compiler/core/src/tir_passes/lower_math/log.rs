//! log and what is made of it.
//!
//! x = 2^e m with m in [sqrt(1/2), sqrt(2)); with f = m - 1 and s = f / (2 + f), log(1 + f) = 2 atanh(s) is a
//! polynomial in s^2 (fdlibm).

use tenfold_ir::op::CmpOp::{Eq, Gt, Lt};
use tenfold_ir::op::UnaryOp;
use tenfold_ir::tir::ExprId;

use super::kit::Kit;

const SINGLE: [f64; 4] =
    [0.666_666_626_930_236_8, 0.400_009_721_517_562_87, 0.284_987_866_878_509_5, 0.242_790_788_412_094_12];

const DOUBLE: [f64; 7] = [
    6.666_666_666_666_735e-1,
    3.999_999_999_940_942e-1,
    2.857_142_874_366_239e-1,
    2.222_219_843_214_978_4e-1,
    1.818_357_216_161_805e-1,
    1.531_383_769_920_937_3e-1,
    1.479_819_860_511_658_6e-1,
];

/// e as a float and f = m - 1 of a positive, finite x, for m from sqrt(1/2) on.
fn split(k: &mut Kit<'_>, x: ExprId) -> (ExprId, ExprId) {
    let root = if k.double() { 0x3fe6_a09e_667f_3bcd } else { 0x3f35_04f3 };
    let (e, m) = split_at(k, x, root);
    let one = k.c(1.0);
    (e, k.sub(m, one))
}

/// e as a float and m of a positive, finite x = 2^e m, for m from the number with the bits `least_bits` to its double.
pub(super) fn split_at(k: &mut Kit<'_>, x: ExprId, least_bits: i64) -> (ExprId, ExprId) {
    // Subnormals are scaled up first.
    let (least, up, down) =
        if k.double() { (2.0f64.powi(-1022), 2.0f64.powi(54), -54) } else { (2.0f64.powi(-126), 2.0f64.powi(25), -25) };
    let (factor, shift, zero) = (k.c(up), k.int(down), k.int(0));
    let scaled = k.mul(x, factor);
    let small = k.cmp_c(Lt, x, least);
    let x = k.select(small, scaled, x);
    let start = k.select(small, shift, zero);
    // Subtracting the bits of the least m makes the exponent field that of m.
    let least_bits = k.int(least_bits);
    let bits = k.bits(x);
    let offset = k.b.sub(bits, least_bits);
    let e = k.shr(offset, k.significand());
    let field = k.shl(e, k.significand());
    let m = k.b.sub(bits, field);
    let m = k.of_bits(m);
    let e = k.b.add(e, start);
    (k.float(e), m)
}

/// log(1 + f) - f = -(f^2 / 2 - s (f^2 / 2 + R)), for f = m - 1.
fn tail(k: &mut Kit<'_>, f: ExprId) -> (ExprId, ExprId) {
    let two = k.c(2.0);
    let below = k.add(two, f);
    let s = k.div(f, below);
    let z = k.mul(s, s);
    let p = if k.double() { k.poly(z, &DOUBLE) } else { k.poly(z, &SINGLE) };
    let r = k.mul(z, p);
    let (square, half) = (k.mul(f, f), k.c(0.5));
    let h = k.mul(half, square);
    let sum = k.add(h, r);
    (h, k.mul(s, sum))
}

/// Puts in what x <= 0, infinity and NaN give.
fn special(k: &mut Kit<'_>, x: ExprId, value: ExprId) -> ExprId {
    let (nan, down, up) = (k.c(f64::NAN), k.c(f64::NEG_INFINITY), k.c(f64::INFINITY));
    let value = k.where_c(x, Eq, 0.0, down, value);
    let value = k.where_c(x, Lt, 0.0, nan, value);
    let value = k.where_c(x, Eq, f64::INFINITY, up, value);
    let is_nan = k.unary(UnaryOp::IsNan, x);
    k.select(is_nan, x, value)
}

/// Natural logarithm.
pub(super) fn log(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let (e, f) = split(k, x);
    let (h, t) = tail(k, f);
    let hi = k.c2(6.931_381_225_585_938e-1, 6.931_471_803_691_238e-1);
    let lo = k.c2(9.058_000_614_459_16e-6, 1.908_214_929_270_587_7e-10);
    let low = k.mad(e, lo, t);
    let inner = k.sub(h, low);
    let inner = k.sub(inner, f);
    let high = k.mul(e, hi);
    let value = k.sub(high, inner);
    special(k, x, value)
}

/// Logarithm to base 2; exact for powers of two.
pub(super) fn log2(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let (e, f) = split(k, x);
    let (h, t) = tail(k, f);
    let (rest, c) = (k.sub(t, h), k.c(std::f64::consts::LOG2_E));
    let low = k.mul(rest, c);
    let main = k.mad(f, c, low);
    let value = k.add(e, main);
    special(k, x, value)
}

/// Logarithm to base 10: log(m) / ln 10 + e log10(2), with log(m) and both constants in two parts of which the leading
/// ones have exact products.
pub(super) fn log10(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let (e, f) = split(k, x);
    let (h, t) = tail(k, f);
    let sum = k.sub(f, h);
    let high = k.top(sum);
    let low = k.sub(f, high);
    let low = k.sub(low, h);
    let low = k.add(low, t);
    let c_high = k.c2(4.343_261_718_75e-1, 4.342_944_818_781_689e-1);
    let c_low = k.c2(-3.168_997_136_526_860_3e-5, 2.508_294_671_164_527_5e-11);
    let p_high = k.c2(3.010_292_053_222_656e-1, 3.010_299_956_636_117_7e-1);
    let p_low = k.c2(7.903_415_166_765_626e-7, 3.694_239_077_158_931e-13);
    let (a, b) = (k.mul(e, p_high), k.mul(high, c_high));
    let whole = k.add(low, high);
    let rest = k.mul(low, c_high);
    let rest = k.mad(whole, c_low, rest);
    let rest = k.mad(e, p_low, rest);
    let main = k.add(a, b);
    let lost = k.sub(a, main);
    let lost = k.add(lost, b);
    let rest = k.add(rest, lost);
    let value = k.add(main, rest);
    special(k, x, value)
}

/// From here on a number is what it is plus or minus 1, and its quotient by that is 1: devices may take quotients by numbers
/// above 2^126 for 0.
const LARGE: f64 = (1u128 << 100) as f64;

/// log(1 + x) = log(u) x / (u - 1) with u = 1 + x as rounded (Kahan).
pub(super) fn log1p(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let one = k.c(1.0);
    let u = k.add(one, x);
    let (main, back) = (log(k, u), k.sub(u, one));
    let ratio = k.div(x, back);
    let value = k.mul(main, ratio);
    let value = k.where_c(u, Eq, 1.0, x, value);
    k.where_c(x, Gt, LARGE, main, value)
}

/// log(|x|) + log(2), for |x| so large that adding 1 changes nothing.
fn log_double(k: &mut Kit<'_>, size: ExprId) -> ExprId {
    let (value, ln2) = (log(k, size), k.c(std::f64::consts::LN_2));
    k.add(value, ln2)
}

/// log1p(a + a^2 / (1 + sqrt(1 + a^2))) for a = |x|.
pub(super) fn asinh(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let size = k.abs(x);
    let (square, one) = (k.mul(size, size), k.c(1.0));
    let sum = k.add(one, square);
    let root = k.unary(UnaryOp::Sqrt, sum);
    let below = k.add(one, root);
    let ratio = k.div(square, below);
    let inner = k.add(size, ratio);
    let (near, far) = (log1p(k, inner), log_double(k, size));
    let limit = if k.double() { 1e9 } else { 1e5 };
    let value = k.where_c(size, Gt, limit, far, near);
    k.with_sign(value, x)
}

/// log1p(t + sqrt(2 t + t^2)) for t = x - 1.
pub(super) fn acosh(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let (one, two) = (k.c(1.0), k.c(2.0));
    let t = k.sub(x, one);
    let square = k.mul(t, t);
    let sum = k.mad(two, t, square);
    let root = k.unary(UnaryOp::Sqrt, sum);
    let inner = k.add(t, root);
    let (near, far) = (log1p(k, inner), log_double(k, x));
    let limit = if k.double() { 1e9 } else { 1e5 };
    let value = k.where_c(x, Gt, limit, far, near);
    // Far below 1 the sum under the root cancels instead of giving NaN.
    let nan = k.c(f64::NAN);
    k.where_c(x, Lt, 1.0, nan, value)
}

/// log1p(2 a / (1 - a)) / 2 for a = |x|.
pub(super) fn atanh(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let size = k.abs(x);
    let (one, half) = (k.c(1.0), k.c(0.5));
    let (top, below) = (k.add(size, size), k.sub(one, size));
    let ratio = k.div(top, below);
    let value = log1p(k, ratio);
    let value = k.mul(half, value);
    k.with_sign(value, x)
}
