//! exp and what is made of it.
//!
//! exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln 2 / 2; ln 2 is split so that n ln 2 is exact in its
//! high part.

use tenfold_ir::op::CmpOp::{Ge, Gt, Lt};
use tenfold_ir::tir::ExprId;

use super::kit::{Kit, Tables};
use super::power::{
    nearest_eighth, nearest_sixteenth, power_by_sixteenths, power_less_one, scale_by_eighths, scaled_by_sixteenths,
    tables,
};

/// (exp(r) - 1) / r, least squares of the relative error on [-ln 2 / 2, ln 2 / 2] weighted towards the largest; each
/// coefficient is rounded to f32 before those behind it are fitted.
const SINGLE: [f64; 6] = [
    1.0,
    4.999_999_403_953_552e-1,
    1.666_652_113_199_234e-1,
    4.166_826_605_796_814e-2,
    8.368_676_528_334_618e-3,
    1.382_069_312_967_36e-3,
];

/// The same on [-ln 2 / 16, ln 2 / 16].
const SHORT: [f64; 3] = [1.0, 5.000_647_902_488_708e-1, 1.666_811_257_600_784_3e-1];

/// The same on [-ln 2 / 32, ln 2 / 32].
const SHORTER: [f64; 3] = [1.0, 5.000_162_720_680_237e-1, 1.666_700_839_996_338e-1];

/// 1, 1/2!, 1/3!, …: the Taylor series is within 2^-57 on the interval.
const DOUBLE: [f64; 13] = [
    1.0,
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
];

/// (exp(r) - 1) / r for |r| <= ln 2 / 2.
fn grown_by(k: &mut Kit<'_>, r: ExprId) -> ExprId {
    if k.double() { k.poly(r, &DOUBLE) } else { k.poly(r, &SINGLE) }
}

/// exp(r) for |r| <= ln 2 / 2.
fn kernel(k: &mut Kit<'_>, r: ExprId) -> ExprId {
    let (p, one) = (grown_by(k, r), k.c(1.0));
    k.mad(p, r, one)
}

/// Keeps x where exp is neither 0 nor more than twice the greatest number: what is added in the same instruction as the last
/// factor is multiplied makes no number of that. NaN passes.
fn clamp(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let hi = if k.double() { 711.0 } else { 90.0 };
    let (x, high) = (clamp_below(k, x), k.c(hi));
    k.where_c(x, Gt, hi, high, x)
}

/// Keeps x where exp is not 0; NaN passes.
fn clamp_below(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let lo = if k.double() { -746.0 } else { -104.0 };
    let low = k.c(lo);
    k.where_c(x, Lt, lo, low, x)
}

/// n = round(x / ln 2), as an integer whose low bits are n plus `offset`, and r = x - n ln 2.
fn reduce(k: &mut Kit<'_>, x: ExprId, offset: i64) -> (ExprId, ExprId) {
    let inverse = k.c(std::f64::consts::LOG2_E);
    let scaled = k.mul(x, inverse);
    let (float, n) = k.nearest_and(scaled, offset);
    (n, without(k, x, float))
}

/// Of a target that looks powers up, x - float ln 2 with ln 2 rounded to f32: 2^-28.4 of x off.
fn about_without(k: &mut Kit<'_>, x: ExprId, float: ExprId) -> ExprId {
    let ln2 = k.c(-std::f64::consts::LN_2);
    k.fma(float, ln2, x)
}

/// x - float ln 2.
fn without(k: &mut Kit<'_>, x: ExprId, float: ExprId) -> ExprId {
    let hi = k.c2(-0.693_359_375, -6.931_471_803_691_238e-1);
    let lo = k.c2(2.121_944_400_546_905_8e-4, -1.908_214_929_270_587_7e-10);
    let r = k.mad(float, hi, x);
    k.mad(float, lo, r)
}

/// e to the x.
pub(super) fn exp(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let x = clamp(k, x);
    bounded(k, x, without)
}

/// [`exp`] of an x that is no greater than 0, or NaN, and that may be taken to be 2^-28 of it more or less.
pub(super) fn exp_nonpositive(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let x = clamp_below(k, x);
    bounded(k, x, about_without)
}

/// x - float ln 2.
type Reduced = fn(&mut Kit<'_>, ExprId, ExprId) -> ExprId;

/// e to an x of which the result is neither 0 nor infinite, or hardly so; `reduced` is for tables.
fn bounded(k: &mut Kit<'_>, x: ExprId, reduced: Reduced) -> ExprId {
    match tables(k, x) {
        Tables::None => {
            let (n, r) = reduce(k, x, 2 * k.bias());
            let p = kernel(k, r);
            k.scale(p, n)
        }
        Tables::Eight => of_eighths(k, x, reduced),
        Tables::Sixteen => of_sixteenths(k, x, reduced),
    }
}

/// With n = round(8 x / ln 2) and |r| <= ln 2 / 16.
fn of_eighths(k: &mut Kit<'_>, x: ExprId, reduced: Reduced) -> ExprId {
    let inverse = k.c(std::f64::consts::LOG2_E);
    let scaled = k.mul(x, inverse);
    let (float, n) = nearest_eighth(k, scaled, 2 * k.bias());
    let r = reduced(k, x, float);
    let s = k.poly(r, &SHORT);
    let s = k.mul(s, r);
    scale_by_eighths(k, n, s)
}

/// With n = round(16 x / ln 2) and |r| <= ln 2 / 32.
fn of_sixteenths(k: &mut Kit<'_>, x: ExprId, reduced: Reduced) -> ExprId {
    let (float, n) = nearest_sixteenth(k, x, std::f64::consts::LOG2_E);
    let r = reduced(k, x, float);
    scaled_by_sixteenths(k, (float, n), r, &SHORTER)
}

/// 2 to the x: the fraction is exact, so only its product with ln 2 rounds.
pub(super) fn exp2(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let (lo, hi) = if k.double() { (-1080.0, 1030.0) } else { (-155.0, 130.0) };
    let (low, high) = (k.c(lo), k.c(hi));
    let x = k.where_c(x, Lt, lo, low, x);
    let x = k.where_c(x, Gt, hi, high, x);
    match tables(k, x) {
        Tables::None => {
            let (float, n) = k.nearest_and(x, 2 * k.bias());
            let f = k.sub(x, float);
            let ln2 = k.c(std::f64::consts::LN_2);
            let r = k.mul(f, ln2);
            let p = kernel(k, r);
            k.scale(p, n)
        }
        Tables::Eight => {
            let (float, n) = nearest_eighth(k, x, 2 * k.bias());
            let r = k.sub(x, float);
            let s = power_less_one(k, r);
            scale_by_eighths(k, n, s)
        }
        Tables::Sixteen => power_by_sixteenths(k, x),
    }
}

/// exp(x) - 1: twice 2^(n - 1) (exp(r) - 1) + (2^(n - 1) - 1 / 2), which cancels nothing near 0, and whose power is a
/// number where exp(x) is one; x itself where that is what it rounds to, and half of it may be no number.
pub(super) fn expm1(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let (lo, hi) = if k.double() { (-40.0, 710.0) } else { (-20.0, 89.0) };
    let tiny = if k.double() { 2_f64.powi(-54) } else { 2_f64.powi(-25) };
    let (low, high) = (k.c(lo), k.c(hi));
    let bounded = k.where_c(x, Lt, lo, low, x);
    let bounded = k.where_c(bounded, Gt, hi, high, bounded);
    let half = raised(k, bounded, k.bias() - 1, 0.5);
    let (value, size) = (k.add(half, half), k.abs(x));
    k.where_c(size, Lt, tiny, x, value)
}

/// p (exp(r) - 1) + (p - `one`) with p = 2^n by an exponent of n plus `bias`: (exp(x) - 1) times `one`.
fn raised(k: &mut Kit<'_>, x: ExprId, bias: i64, one: f64) -> ExprId {
    let (n, r) = reduce(k, x, bias);
    let p = grown_by(k, r);
    let (p, power, one) = (k.mul(p, r), k.power_of_biased(n), k.c(one));
    let rest = k.sub(power, one);
    k.mad(power, p, rest)
}

/// 1 / (1 + exp(-x)), by exp(-|x|), which neither overflows nor loses small results.
pub(super) fn sigmoid(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let size = k.abs(x);
    let down = k.neg(size);
    let down = clamp_below(k, down);
    let (e, one) = (bounded(k, down, without), k.c(1.0));
    let below = k.add(one, e);
    let top = k.where_c(x, Ge, 0.0, one, e);
    k.div(top, below)
}

/// t / (t + 2) with t = exp(2 |x|) - 1.
pub(super) fn tanh(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let size = k.abs(x);
    let top = k.c(22.0);
    let size = k.where_c(size, Gt, 22.0, top, size);
    let double = k.add(size, size);
    let (t, two) = (raised(k, double, k.bias(), 1.0), k.c(2.0));
    let below = k.add(t, two);
    let value = k.div(t, below);
    k.with_sign(value, x)
}

/// Half of exp(|x|), without overflow where the result has none.
fn half_exp(k: &mut Kit<'_>, size: ExprId) -> ExprId {
    let half = k.c(0.5);
    let x = k.mul(size, half);
    let root = exp(k, x);
    let scaled = k.mul(half, root);
    k.mul(scaled, root)
}

/// (t + t / (t + 1)) / 2 with t = exp(|x|) - 1.
pub(super) fn sinh(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let size = k.abs(x);
    let (t, one, half) = (expm1(k, size), k.c(1.0), k.c(0.5));
    let below = k.add(t, one);
    let quotient = k.div(t, below);
    let sum = k.add(t, quotient);
    let near = k.mul(half, sum);
    let far = half_exp(k, size);
    let value = k.where_c(size, Gt, 40.0, far, near);
    k.with_sign(value, x)
}

/// (exp(|x|) + exp(-|x|)) / 2.
pub(super) fn cosh(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let size = k.abs(x);
    let (e, half) = (exp(k, size), k.c(0.5));
    let (a, b) = (k.mul(half, e), k.div(half, e));
    let near = k.add(a, b);
    let far = half_exp(k, size);
    k.where_c(size, Gt, 40.0, far, near)
}
