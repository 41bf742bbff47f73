//! Angles, reduced by pi / 2 for every finite argument.
//!
//! `f32` multiplies by 2 / pi in parts of 29 bits: every product is exact in `f64`, so its whole part falls away without
//! a loss. Of a large argument the leading parts give whole turns alone, and later ones take their place.
//! `f64` subtracts multiples of pi / 2 (Cody and Waite), and from 2^20 on multiplies in integers by the bits of 2 / pi
//! that matter (Payne and Hanek).

use tenfold_ir::DType;
use tenfold_ir::op::CmpOp::{Ge, Lt};
use tenfold_ir::op::UnaryOp;
use tenfold_ir::tir::ExprId;

use super::kit::Kit;
use super::wide::{TWO_OVER_PI, Word, mul_high};

/// From where on each row of [`PARTS`] holds.
const FROM: [f64; 3] = [2_251_799_813_685_248.0, 1.511_157_274_518_286_5e23, 1.014_120_480_182_583_5e31];

/// 29 bits of 2 / pi, the next 29, and the rest: from the top, and from where multiples of 4 end for an argument of at
/// least 2^51, 2^77, 2^103 with 24 bits.
const PARTS: [[u64; 3]; 4] = [
    [0x3fe4_5f30_6d00_0000, 0x3e19_3910_5400_0000, 0x3c44_fe13_abe8_fa9a],
    [0x3e47_2722_0a00_0000, 0x3c72_9fc2_7500_0000, 0x3a9f_47d4_d377_036e],
    [0x3c94_a7f0_9c00_0000, 0x3ad5_f47d_4d00_0000, 0x38eb_b81b_6c52_b328],
    [0x3b0a_be8f_a900_0000, 0x3934_ddc0_db00_0000, 0x3758_a566_4f10_e410],
];

/// 26 bits of pi / 2, and the rest.
const HALF_PI: [f64; 2] = [1.570_796_310_901_641_8, 1.589_325_477_352_819_6e-8];

/// The multiple of pi / 2 nearest to x as an integer of 64 bits, of which the last two count, and what is left of x, in
/// the kit's dtype.
pub(super) fn reduce(k: &mut Kit<'_>, x: ExprId) -> (ExprId, ExprId) {
    if k.double() {
        return double(k, x);
    }
    let dtype = k.dtype;
    let wide_x = k.b.cast(DType::F64, x);
    let (n, r) = single(&mut Kit::new(k.b, DType::F64), wide_x);
    (n, k.b.cast(dtype, r))
}

/// Of an f32 in an f64.
fn single(k: &mut Kit<'_>, x: ExprId) -> (ExprId, ExprId) {
    let size = k.abs(x);
    let mut parts = PARTS[0].map(|bits| k.c(f64::from_bits(bits)));
    for (from, row) in FROM.iter().zip(&PARTS[1..]) {
        let large = k.cmp_c(Ge, size, *from);
        for (part, bits) in parts.iter_mut().zip(row) {
            let later = k.c(f64::from_bits(*bits));
            *part = k.select(large, later, *part);
        }
    }
    let [a, b, c] = parts.map(|part| k.mul(x, part));
    let ((na, ia), (nb, ib)) = (k.nearest(a), k.nearest(b));
    let (a, b) = (k.sub(a, na), k.sub(b, nb));
    let sum = k.add(a, b);
    let (nc, ic) = k.nearest(sum);
    // Near a multiple all of this is exact, and `c` decides.
    let a = k.sub(a, nc);
    let ab = k.add(a, b);
    let turns = k.add(ab, c);
    let (half_pi, n) = (k.c(std::f64::consts::FRAC_PI_2), k.b.add(ia, ib));
    (k.b.add(n, ic), k.mul(turns, half_pi))
}

fn double(k: &mut Kit<'_>, x: ExprId) -> (ExprId, ExprId) {
    let size = k.abs(x);
    let small = k.cmp_c(Lt, size, 1_048_576.0);
    let (near, near_r) = cody_waite(k, x);
    let (far, far_r) = payne_hanek(k, x);
    (k.either(small, near, far), k.either(small, near_r, far_r))
}

fn cody_waite(k: &mut Kit<'_>, x: ExprId) -> (ExprId, ExprId) {
    let inverse = k.c(std::f64::consts::FRAC_2_PI);
    let scaled = k.mul(x, inverse);
    let (n, int) = k.nearest(scaled);
    // Three parts of pi / 2 with 33 bits each (fdlibm's pio2_1, pio2_2, pio2_3), and the rest.
    let mut r = x;
    for part in
        [-1.570_796_326_734_125_6, -6.077_100_506_303_966e-11, -2.022_266_248_711_166_5e-21, -8.478_427_660_368_9e-32]
    {
        let c = k.c(part);
        r = k.mad(n, c, r);
    }
    (int, r)
}

/// For x of at least 2^20: x = m 2^(e - 52) with 53 bits of m, and the bits of 2 / pi before the (e - 54)-th give
/// multiples of 4. The product of m with the 192 bits from there on holds the quarter in its two top bits.
fn payne_hanek(k: &mut Kit<'_>, x: ExprId) -> (ExprId, ExprId) {
    let size = k.abs(x);
    let bits = k.bits(size);
    let mut w = Word { b: k.b };
    let bits = w.cast(bits);
    let exponent = w.shr_c(bits, 52);
    let first = w.c(1023 + 20);
    let start = w.sub(exponent, first);
    let m = w.and_c(bits, (1 << 52) - 1);
    let m = w.or_c(m, 1 << 52);
    let [a, b, c] = window(&mut w, start);
    let (top, middle) = (w.mul(m, a), w.mul(m, b));
    let (carried, deep) = (mul_high(&mut w, m, b), mul_high(&mut w, m, c));
    let low = w.add(middle, deep);
    let carry = w.carry(low, middle);
    let top = w.add(top, carried);
    let top = w.add(top, carry);
    // The nearest multiple, and the signed rest: 2^126 is a quarter.
    let half = w.c(1 << 61);
    let n = w.add(top, half);
    let n = w.shr_c(n, 62);
    let whole = w.shl_c(n, 62);
    let rest = w.sub(top, whole);
    let r = angle(k, rest, low);
    let n = k.b.cast(DType::I64, n);
    let zero = k.int(0);
    let (back, minus, negative) = (k.b.sub(zero, n), k.neg(r), k.cmp_c(Lt, x, 0.0));
    (k.select(negative, back, n), k.select(negative, minus, r))
}

/// 192 bits of 2 / pi from bit `start` on, after 34 zeros.
fn window(w: &mut Word<'_>, start: ExprId) -> [ExprId; 3] {
    let mut words: Vec<ExprId> = TWO_OVER_PI.iter().map(|word| w.c(*word)).collect();
    // Words fall away by the bits of their number; four remain.
    for (bit, keep) in [(3, 11), (2, 7), (1, 5), (0, 4)] {
        let set = w.bit(start, bit + 6);
        words = (0..keep).map(|i| w.b.select(set, words[i + (1 << bit)], words[i])).collect();
    }
    let by = w.and_c(start, 63);
    let most = w.c(63);
    let back = w.sub(most, by);
    [0, 1, 2].map(|i| {
        let high = w.shl(words[i], by);
        let low = w.shr_c(words[i + 1], 1);
        let low = w.shr(low, back);
        w.or(high, low)
    })
}

/// (high 2^64 + low) 2^-126 quarters as an angle, `high` being signed.
fn angle(k: &mut Kit<'_>, high: ExprId, low: ExprId) -> ExprId {
    let mut w = Word { b: k.b };
    // Three whole numbers that floats hold exactly.
    let middle = w.and_c(high, 0xffff_ffff);
    let middle = w.shl_c(middle, 20);
    let upper = w.shr_c(low, 44);
    let middle = w.or(middle, upper);
    let bottom = w.and_c(low, (1 << 44) - 1);
    let high = k.b.cast(DType::I64, high);
    let high = k.shr(high, 32);
    let [high, middle, bottom] = [(high, -30), (middle, -82), (bottom, -126)].map(|(part, exponent)| {
        let whole = k.b.cast(DType::I64, part);
        let (float, unit) = (k.float(whole), k.c(2f64.powi(exponent)));
        k.mul(float, unit)
    });
    let sum = k.add(high, middle);
    let lost = k.sub(high, sum);
    let lost = k.add(lost, middle);
    let lost = k.add(lost, bottom);
    // The product of the leading halves is exact, the rest small.
    let lead = k.top(sum);
    let tail = k.sub(sum, lead);
    let [p, q] = HALF_PI.map(|part| k.c(part));
    let half_pi = k.c(std::f64::consts::FRAC_PI_2);
    let rest = k.mul(lost, half_pi);
    let rest = k.mad(sum, q, rest);
    let rest = k.mad(tail, p, rest);
    k.mad(lead, p, rest)
}

/// NaN where x is infinite or NaN.
pub(super) fn finite(k: &mut Kit<'_>, x: ExprId, value: ExprId) -> ExprId {
    let (ok, nan) = (k.unary(UnaryOp::IsFinite, x), k.c(f64::NAN));
    k.select(ok, value, nan)
}
