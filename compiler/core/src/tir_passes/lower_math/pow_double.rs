//! The magnitude of an f64 power: fdlibm's 2^(y log2 x), with the logarithm and its product with y in two floats.
//!
//! Leading parts keep half of their bits, so that their products are exact whether or not a target contracts them.

use tenfold_ir::op::CmpOp::{Ge, Gt, Lt};
use tenfold_ir::tir::ExprId;

use super::kit::Kit;
use super::log::split_at;

/// log(x) = 2 s + 2/3 s^3 + s^5 P(s^2) for s = (x - 1) / (x + 1) or s = (x - 1.5) / (x + 1.5).
const LOG: [f64; 6] = [
    5.999_999_999_999_946e-1,
    4.285_714_285_785_502e-1,
    3.333_333_298_183_774_3e-1,
    2.727_281_238_085_34e-1,
    2.306_607_457_755_617_5e-1,
    2.069_750_178_003_384_2e-1,
];
/// z - z^2 P(z^2) = 2 - 2 z / (exp(z) - 1).
const EXP: [f64; 5] = [
    1.666_666_666_666_660_2e-1,
    -2.777_777_777_701_559_3e-3,
    6.613_756_321_437_934e-5,
    -1.653_390_220_546_525_2e-6,
    4.138_136_797_057_238_5e-8,
];

/// A number as the sum of a leading and a small part.
struct Pair {
    high: ExprId,
    low: ExprId,
}

/// x to the y for x > 0 that is finite, and y that is no NaN.
pub(super) fn magnitude(k: &mut Kit<'_>, x: ExprId, y: ExprId) -> ExprId {
    // Beyond 2^66 only 1 has a power between 0 and infinity; products with the parts stay finite.
    let (least, most) = (k.c(-(2f64.powi(66))), k.c(2f64.powi(66)));
    let y = k.where_c(y, Lt, -(2f64.powi(66)), least, y);
    let y = k.where_c(y, Gt, 2f64.powi(66), most, y);
    let log = log2(k, x);
    let lead = k.top(y);
    let rest = k.sub(y, lead);
    let low = k.mul(y, log.low);
    let low = k.mad(rest, log.high, low);
    let high = k.mul(lead, log.high);
    exp2(k, Pair { high, low })
}

/// The logarithm to base 2; `high` has 21 bits.
fn log2(k: &mut Kit<'_>, x: ExprId) -> Pair {
    // m in [sqrt(3) / 2, sqrt(3)), of which the upper part lies around 1.5.
    let (e, m) = split_at(k, x, 0x3feb_b67a_e858_4caa);
    let upper = k.cmp_c(Ge, m, 1.224_744_871_391_589);
    let either = |k: &mut Kit<'_>, high: f64, low: f64| {
        let (high, low) = (k.c(high), k.c(low));
        k.select(upper, high, low)
    };
    let centre = either(k, 1.5, 1.0);
    let at_high = either(k, 5.849_624_872_207_642e-1, 0.0);
    let at_low = either(k, 1.350_039_202_129_749e-8, 0.0);
    let part = log_ratio(k, m, centre);
    // Times 2 / (3 ln 2).
    let (c_high, c_low, c) =
        (k.c(9.617_967_009_544_373e-1), k.c(-7.028_461_650_952_758e-9), k.c(9.617_966_939_259_756e-1));
    let high = k.mul(c_high, part.high);
    let low = k.mad(part.low, c, at_low);
    let low = k.mad(c_low, part.high, low);
    let sum = k.add(high, low);
    let sum = k.add(sum, at_high);
    let sum = k.add(sum, e);
    let top = k.top(sum);
    let lost = k.sub(top, e);
    let lost = k.sub(lost, at_high);
    let lost = k.sub(lost, high);
    Pair { high: top, low: k.sub(low, lost) }
}

/// 3/2 log(m / centre).
fn log_ratio(k: &mut Kit<'_>, m: ExprId, centre: ExprId) -> Pair {
    let (one, three, above, below) = (k.c(1.0), k.c(3.0), k.sub(m, centre), k.add(m, centre));
    let inverse = k.div(one, below);
    let s = k.mul(above, inverse);
    let s_high = k.top(s);
    // What s lacks of the quotient, with the divisor in two parts.
    let below_high = k.top(below);
    let below_low = k.sub(below_high, centre);
    let below_low = k.sub(m, below_low);
    let (a, b) = (k.mul(s_high, below_high), k.mul(s_high, below_low));
    let lacking = k.sub(above, a);
    let lacking = k.sub(lacking, b);
    let s_low = k.mul(inverse, lacking);
    let z = k.mul(s, s);
    let (p, zz) = (k.poly(z, &LOG), k.mul(z, z));
    let both = k.add(s_high, s);
    let r = k.mul(s_low, both);
    let r = k.mad(zz, p, r);
    let square = k.mul(s_high, s_high);
    let sum = k.add(three, square);
    let sum = k.add(sum, r);
    let t_high = k.top(sum);
    let back = k.sub(t_high, three);
    let back = k.sub(back, square);
    let t_low = k.sub(r, back);
    let lead = k.mul(s_high, t_high);
    let rest = k.mul(t_low, s);
    let rest = k.mad(s_low, t_high, rest);
    let sum = k.add(lead, rest);
    let high = k.top(sum);
    let back = k.sub(high, lead);
    Pair { high, low: k.sub(rest, back) }
}

/// 2 to the power of a pair.
fn exp2(k: &mut Kit<'_>, at: Pair) -> ExprId {
    let (zero, least, most) = (k.c(0.0), k.c(-1100.0), k.c(1100.0));
    let high = k.where_c(at.high, Lt, -1100.0, least, at.high);
    let high = k.where_c(high, Gt, 1100.0, most, high);
    let size = k.abs(at.high);
    let low = k.where_c(size, Gt, 1100.0, zero, at.low);
    let sum = k.add(high, low);
    let (whole, n) = k.nearest_and(sum, 2 * k.bias());
    let high = k.sub(high, whole);
    let sum = k.add(low, high);
    let top = k.top(sum);
    let back = k.sub(top, high);
    let low = k.sub(low, back);
    // Times ln 2, in 2 parts.
    let (c, c_high, c_low) =
        (k.c(std::f64::consts::LN_2), k.c(6.931_471_824_645_996e-1), k.c(-1.904_654_299_957_768e-9));
    let lead = k.mul(top, c_high);
    let rest = k.mul(top, c_low);
    let rest = k.mad(low, c, rest);
    let z = k.add(lead, rest);
    let back = k.sub(z, lead);
    let w = k.sub(rest, back);
    let square = k.mul(z, z);
    let p = k.poly(square, &EXP);
    let p = k.mul(square, p);
    let t = k.sub(z, p);
    let (one, two) = (k.c(1.0), k.c(2.0));
    let (top, below) = (k.mul(z, t), k.sub(t, two));
    let quotient = k.div(top, below);
    let correction = k.mad(z, w, w);
    let r = k.sub(quotient, correction);
    let r = k.sub(r, z);
    let value = k.sub(one, r);
    k.scale(value, n)
}
