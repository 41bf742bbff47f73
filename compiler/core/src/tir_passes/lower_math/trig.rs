//! Sine, cosine, tangent and their inverses.
//!
//! The argument is reduced by pi / 2 (`angle`); the kernels are fdlibm's polynomials on [-pi/4, pi/4].

use tenfold_ir::DType;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::op::CmpOp::{Eq, Ge, Gt, Lt, Ne};
use tenfold_ir::op::UnaryOp;
use tenfold_ir::tir::ExprId;

use super::angle::{finite, reduce};
use super::kit::Kit;

const SIN: [f64; 6] = [
    -1.666_666_666_666_663_2e-1,
    8.333_333_333_322_49e-3,
    -1.984_126_982_985_795e-4,
    2.755_731_370_707_006_8e-6,
    -2.505_076_025_340_686_3e-8,
    1.589_690_995_211_55e-10,
];

const COS: [f64; 6] = [
    4.166_666_666_666_66e-2,
    -1.388_888_888_887_411e-3,
    2.480_158_728_947_673e-5,
    -2.755_731_435_139_066_3e-7,
    2.087_572_321_298_175e-9,
    -1.135_964_755_778_819_5e-11,
];

/// (r - atan(r)) / r^3 for |r| <= tan(pi / 8) (Cephes).
const ATAN_SINGLE: [f64; 4] = [3.333_294_915_39e-1, -1.997_771_064_78e-1, 1.387_768_560_32e-1, -8.053_744_495_38e-2];

const ATAN: [f64; 11] = [
    3.333_333_333_333_293e-1,
    -1.999_999_999_987_648_3e-1,
    1.428_571_427_250_346_6e-1,
    -1.111_111_040_546_235_6e-1,
    9.090_887_133_436_507e-2,
    -7.691_876_205_044_83e-2,
    6.661_073_137_387_531e-2,
    -5.833_570_133_790_573_5e-2,
    4.976_877_994_615_932_4e-2,
    -3.653_157_274_421_691_6e-2,
    1.628_582_011_536_578_2e-2,
];

/// sin(r) for |r| <= pi / 4.
fn sin_kernel(k: &mut Kit<'_>, r: ExprId) -> ExprId {
    let z = k.mul(r, r);
    let p = k.poly(z, if k.double() { &SIN } else { &SIN[..4] });
    let cube = k.mul(z, r);
    k.mad(cube, p, r)
}

/// cos(r) for |r| <= pi / 4: 1 - z/2 first, whose rounding error goes into the tail.
fn cos_kernel(k: &mut Kit<'_>, r: ExprId) -> ExprId {
    let z = k.mul(r, r);
    let p = k.poly(z, if k.double() { &COS } else { &COS[..4] });
    let (half, one, square) = (k.c(0.5), k.c(1.0), k.mul(z, z));
    let h = k.mul(half, z);
    let w = k.sub(one, h);
    let lost = k.sub(one, w);
    let lost = k.sub(lost, h);
    let tail = k.mad(square, p, lost);
    k.add(w, tail)
}

/// Bit `bit` of an integer of 64 bits, as a condition.
fn bit(k: &mut Kit<'_>, n: ExprId, bit: i64) -> ExprId {
    let mut wide = Kit::new(k.b, DType::F64);
    let (mask, zero) = (wide.int(bit), wide.int(0));
    let masked = wide.b.binary(BinaryOp::And, n, mask);
    wide.cmp(Ne, masked, zero)
}

/// sin of x plus `quarters` times pi / 2.
fn shifted_sin(k: &mut Kit<'_>, x: ExprId, quarters: i64) -> ExprId {
    let (n, r) = reduce(k, x);
    let shift = Kit::new(k.b, DType::F64).int(quarters);
    let n = k.b.add(n, shift);
    let (s, c) = (sin_kernel(k, r), cos_kernel(k, r));
    let odd = bit(k, n, 1);
    let value = k.select(odd, c, s);
    let minus = k.neg(value);
    let negative = bit(k, n, 2);
    let value = k.select(negative, minus, value);
    finite(k, x, value)
}

/// Sine.
pub(super) fn sin(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let value = shifted_sin(k, x, 0);
    k.where_c(x, Eq, 0.0, x, value)
}

/// Cosine.
pub(super) fn cos(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    shifted_sin(k, x, 1)
}

/// Tangent: sin / cos of what is left, or its negative reciprocal.
pub(super) fn tan(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let (n, r) = reduce(k, x);
    let (s, c) = (sin_kernel(k, r), cos_kernel(k, r));
    let odd = bit(k, n, 1);
    let minus = k.neg(c);
    let top = k.select(odd, minus, s);
    let below = k.select(odd, s, c);
    let value = k.div(top, below);
    let value = k.where_c(x, Eq, 0.0, x, value);
    finite(k, x, value)
}

/// Arc tangent of t in [0, 1]: beyond tan(pi/8), pi/4 + atan((t - 1) / (t + 1)).
fn atan_unit(k: &mut Kit<'_>, t: ExprId) -> ExprId {
    let (one, quarter) = (k.c(1.0), k.c(std::f64::consts::FRAC_PI_4));
    let (top, below) = (k.sub(t, one), k.add(t, one));
    let moved = k.div(top, below);
    let far = k.cmp_c(Gt, t, 0.414_213_562_373_095_03);
    let r = k.select(far, moved, t);
    let z = k.mul(r, r);
    let p = k.poly(z, if k.double() { &ATAN } else { &ATAN_SINGLE });
    let zp = k.mul(z, p);
    let tail = k.mul(r, zp);
    let value = k.sub(r, tail);
    let shifted = k.add(quarter, value);
    k.select(far, shifted, value)
}

/// Arc tangent: of the reciprocal where |x| > 1.
pub(super) fn atan(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let size = k.abs(x);
    let (one, half) = (k.c(1.0), k.c(std::f64::consts::FRAC_PI_2));
    let inverse = k.div(one, size);
    let large = k.cmp_c(Gt, size, 1.0);
    let t = k.select(large, inverse, size);
    let value = atan_unit(k, t);
    let rest = k.sub(half, value);
    let value = k.select(large, rest, value);
    k.with_sign(value, x)
}

/// Arc tangent of y / x in the right quadrant.
pub(super) fn atan2(k: &mut Kit<'_>, y: ExprId, x: ExprId) -> ExprId {
    let (ay, ax) = (k.abs(y), k.abs(x));
    let steep = k.cmp(Gt, ay, ax);
    let (top, below) = (k.select(steep, ax, ay), k.select(steep, ay, ax));
    let ratio = k.div(top, below);
    // 0 / 0 is 0 and infinity / infinity is 1 here.
    let (zero, one) = (k.c(0.0), k.c(1.0));
    let ratio = k.where_c(below, Eq, 0.0, zero, ratio);
    let ratio = k.where_c(top, Eq, f64::INFINITY, one, ratio);
    let value = atan_unit(k, ratio);
    let (half, pi) = (k.c(std::f64::consts::FRAC_PI_2), k.c(std::f64::consts::PI));
    let rest = k.sub(half, value);
    let value = k.select(steep, rest, value);
    let (zero_bits, bits) = (k.int(0), k.bits(x));
    let behind = k.cmp(Lt, bits, zero_bits);
    let back = k.sub(pi, value);
    let value = k.select(behind, back, value);
    let value = k.with_sign(value, y);
    let sum = k.add(x, y);
    let (nx, ny) = (k.unary(UnaryOp::IsNan, x), k.unary(UnaryOp::IsNan, y));
    let any = k.b.binary(BinaryOp::Or, nx, ny);
    k.select(any, sum, value)
}

/// sqrt((1 - x) (1 + x)).
fn other_leg(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let one = k.c(1.0);
    let (a, b) = (k.sub(one, x), k.add(one, x));
    let product = k.mul(a, b);
    k.unary(UnaryOp::Sqrt, product)
}

/// NaN outside of [-1, 1].
fn in_unit(k: &mut Kit<'_>, x: ExprId, value: ExprId) -> ExprId {
    let (size, nan) = (k.abs(x), k.c(f64::NAN));
    let ok = k.cmp_c(Ge, size, 0.0);
    let value = k.select(ok, value, nan);
    k.where_c(size, Gt, 1.0, nan, value)
}

/// Arc sine: the angle of (sqrt(1 - x^2), x).
pub(super) fn asin(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let leg = other_leg(k, x);
    let value = atan2(k, x, leg);
    in_unit(k, x, value)
}

/// Arc cosine: the angle of (x, sqrt(1 - x^2)).
pub(super) fn acos(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let leg = other_leg(k, x);
    let value = atan2(k, leg, x);
    in_unit(k, x, value)
}
