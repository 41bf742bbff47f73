//! Powers of two, to all functions that make theirs of them: of f32 the whole part of an exponent is an exponent, and
//! the rest a polynomial. Where vectors look one of eight numbers up by an instruction, those are the powers of eighths,
//! what is left is within a sixteenth, and its polynomial is short; of sixteen, they are the powers of sixteenths.

use tenfold_ir::tir::{ExprId, Intrinsic};

use super::kit::{Kit, Tables};

/// (2^r - 1) / r for |r| <= 1 / 2, least squares of the relative error weighted towards the largest; each coefficient is
/// rounded to f32 before those behind it are fitted.
pub(super) const OF_HALF: [f64; 6] = [
    6.931_471_824_645_996e-1,
    2.402_264_922_857_284_5e-1,
    5.550_367_385_149_002e-2,
    9.618_311_189_115_047e-3,
    1.338_738_366_030_156_6e-3,
    1.538_208_598_503_843e-4,
];
/// The same for |r| <= 1 / 16.
const OF_SIXTEENTH: [f64; 3] = [6.931_471_824_645_996e-1, 2.402_576_357_126_236e-1, 5.550_833_791_494_37e-2];
/// 2^(j / 8) as bits of f32, less those of 1 and less j in the place of eighths of an exponent.
const EIGHTHS: [i64; 8] = [0, -289_342, -509_968, -655_657, -719_629, -694_486, -572_163, -343_865];
/// Where j lies in those bits.
const EIGHTH: i64 = 20;
/// (2^r - 1) / r for |r| <= 1 / 32.
const OF_THIRTY_SECOND: [f64; 3] = [6.931_471_824_645_996e-1, 2.402_343_302_965_164_2e-1, 5.550_290_644_168_854e-2];
/// 2^(j / 16), rounded to f32.
const SIXTEENTHS: [f64; 16] = [
    1.0,
    1.044_273_734_092_712_4,
    1.090_507_745_742_797_9,
    1.138_788_580_894_470_2,
    1.189_207_077_026_367_2,
    1.241_857_767_105_102_5,
    1.296_839_594_841_003_4,
    1.354_255_557_060_241_7,
    1.414_213_538_169_860_8,
    1.476_826_190_948_486_3,
    1.542_210_817_337_036_1,
    1.610_490_322_113_037,
    1.681_792_855_262_756_3,
    1.756_252_169_609_069_8,
    1.834_008_097_648_620_6,
    1.915_206_551_551_818_5,
];

/// Of how many numbers one is looked up: of none, unless `x` is a vector of f32 on a target that has the instruction.
pub(super) fn tables(k: &Kit<'_>, x: ExprId) -> Tables {
    match k.b.ty(x).lanes {
        _ if k.double() => Tables::None,
        lanes if lanes.is_multiple_of(16) => k.tables,
        lanes if lanes.is_multiple_of(8) => k.tables.min(Tables::Eight),
        _ => Tables::None,
    }
}

/// Whether powers of eighths are looked up.
pub(super) fn by_table(k: &Kit<'_>, x: ExprId) -> bool {
    tables(k, x) != Tables::None
}

/// `x` rounded to the nearest eighth, and an integer whose low bits are its eighths plus 8 `offset`.
pub(super) fn nearest_eighth(k: &mut Kit<'_>, x: ExprId, offset: i64) -> (ExprId, ExprId) {
    let magic = k.c(1_572_864.0 + offset as f64);
    let shifted = k.add(x, magic);
    let float = k.sub(shifted, magic);
    (float, k.bits(shifted))
}

/// 2^(n / 8), whose result is a normal number, of an integer whose low bits are n plus 8 times the bias.
fn power_of_eighths(k: &mut Kit<'_>, biased: ExprId, number: ExprId) -> ExprId {
    let table = EIGHTHS.map(|value| k.int(value));
    let eighth = k.lookup(number, &table);
    let moved = k.shl(biased, EIGHTH);
    let bits = k.b.add(moved, eighth);
    k.of_bits(bits)
}

/// 2^r - 1 for |r| <= 1 / 16.
pub(super) fn power_less_one(k: &mut Kit<'_>, r: ExprId) -> ExprId {
    let s = k.poly(r, &OF_SIXTEENTH);
    k.mul(s, r)
}

/// (p, s) with p (1 + s) = 2^e / 2, whose result is a normal number; s is small, and 0 where e is.
pub(super) fn half_of_power(k: &mut Kit<'_>, e: ExprId) -> (ExprId, ExprId) {
    let bias = k.bias() - 1;
    let (float, power, coefficients) = if by_table(k, e) {
        let (float, n) = nearest_eighth(k, e, bias);
        (float, power_of_eighths(k, n, n), &OF_SIXTEENTH[..])
    } else {
        let (float, n) = k.nearest_and(e, bias);
        (float, k.power_of_biased(n), &OF_HALF[..])
    };
    let r = k.sub(e, float);
    let s = k.poly(r, coefficients);
    (power, k.mul(s, r))
}

/// 2^(n / 8) (1 + s) of an integer whose low bits are n plus 16 times the bias: in two steps, so that results down to the
/// least subnormal and up to infinity come out right.
pub(super) fn scale_by_eighths(k: &mut Kit<'_>, biased: ExprId, s: ExprId) -> ExprId {
    let half = k.shr(biased, 4);
    let eighths = k.shl(half, 3);
    let rest = k.b.sub(biased, eighths);
    let power = power_of_eighths(k, rest, biased);
    let value = k.mad(power, s, power);
    let half = k.power_of_biased(half);
    k.mul(value, half)
}

/// `x` times `by` rounded to the nearest sixteenth, and an integer whose low bits are its sixteenths.
pub(super) fn nearest_sixteenth(k: &mut Kit<'_>, x: ExprId, by: f64) -> (ExprId, ExprId) {
    let magic = k.c(786_432.0);
    let shifted = if by == 1.0 {
        k.add(x, magic)
    } else {
        let by = k.c(by);
        k.mad(x, by, magic)
    };
    let float = k.sub(shifted, magic);
    (float, k.bits(shifted))
}

/// 2^n (1 + r p(r)) of n in sixteenths, as a float and by the low bits of an integer: the whole part of n is an exponent by
/// one operation, whose results down to the least subnormal and up to infinity come out right.
pub(super) fn scaled_by_sixteenths(k: &mut Kit<'_>, (float, n): (ExprId, ExprId), r: ExprId, p: &[f64]) -> ExprId {
    let power = k.lookup_c(n, &SIXTEENTHS);
    let (s, t) = (k.poly(r, p), k.mul(power, r));
    let value = k.mad(t, s, power);
    let ty = k.b.ty(value);
    k.b.call(Intrinsic::Scalef, vec![value, float], ty)
}

/// 2^x by sixteenths, where neither it nor its inverse is far beyond the greatest number.
pub(super) fn power_by_sixteenths(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let (float, n) = nearest_sixteenth(k, x, 1.0);
    let r = k.sub(x, float);
    scaled_by_sixteenths(k, (float, n), r, &OF_THIRTY_SECOND)
}
