//! What each scalar operator gives, bit for bit where that is defined: LANGUAGE's rules for integers (wrapping,
//! division by zero, shifts) and floats (rounded to the dtype after each operator, NaN kept).
//!
//! `f16`, `bf16` and `f32` are computed in `f64` and rounded once: for `+ - * /` and `sqrt` that is the correctly
//! rounded result, since `f64` has more than twice their bits.

use crate::op::{BinaryOp, CmpOp, Compose, ElementOp, UnaryOp, activation};
use crate::{DType, Scalar};

/// The result of an operator of one value.
pub fn unary(op: UnaryOp, x: Scalar) -> Scalar {
    match op {
        UnaryOp::IsNan => Scalar::bool(x.to_f64().is_nan()),
        UnaryOp::IsInf => Scalar::bool(x.to_f64().is_infinite()),
        UnaryOp::IsFinite => Scalar::bool(x.to_f64().is_finite()),
        _ if x.dtype.is_float() => Scalar::float(x.dtype, unary_real(op, x.to_f64())),
        _ => unary_int(op, x),
    }
}

/// Integers and bools. Operators of floats alone leave the value as it is; no checked program asks for them.
fn unary_int(op: UnaryOp, x: Scalar) -> Scalar {
    let value = x.to_i128();
    match op {
        UnaryOp::Neg => Scalar::int(x.dtype, -value),
        UnaryOp::Not if x.dtype == DType::Bool => Scalar::bool(value == 0),
        UnaryOp::Not => Scalar::int(x.dtype, !value),
        UnaryOp::Abs => Scalar::int(x.dtype, value.abs()),
        UnaryOp::Sign => Scalar::int(x.dtype, value.signum()),
        UnaryOp::Square => Scalar::int(x.dtype, value.wrapping_mul(value)),
        UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Round
        | UnaryOp::Trunc
        | UnaryOp::Sqrt
        | UnaryOp::Rsqrt
        | UnaryOp::Reciprocal
        | UnaryOp::Exp
        | UnaryOp::Exp2
        | UnaryOp::Expm1
        | UnaryOp::Log
        | UnaryOp::Log2
        | UnaryOp::Log10
        | UnaryOp::Log1p
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Atan
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Tanh
        | UnaryOp::Asinh
        | UnaryOp::Acosh
        | UnaryOp::Atanh
        | UnaryOp::Erf
        | UnaryOp::Sigmoid
        | UnaryOp::IsNan
        | UnaryOp::IsInf
        | UnaryOp::IsFinite => x,
    }
}

/// The function over the reals, before rounding to a dtype.
pub(crate) fn unary_real(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Neg => -x,
        UnaryOp::Abs => x.abs(),
        UnaryOp::Sign if x == 0.0 || x.is_nan() => x,
        UnaryOp::Sign => x.signum(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Round => x.round_ties_even(),
        UnaryOp::Trunc => x.trunc(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Rsqrt => 1.0 / x.sqrt(),
        UnaryOp::Reciprocal => 1.0 / x,
        UnaryOp::Square => x * x,
        UnaryOp::Exp => x.exp(),
        UnaryOp::Exp2 => x.exp2(),
        UnaryOp::Expm1 => x.exp_m1(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log2 => x.log2(),
        UnaryOp::Log10 => x.log10(),
        UnaryOp::Log1p => x.ln_1p(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Atan => x.atan(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Tanh => x.tanh(),
        // The library's formulas double the operand first.
        UnaryOp::Asinh if x.abs() > 1e100 => (x.abs().ln() + std::f64::consts::LN_2).copysign(x),
        UnaryOp::Asinh => x.asinh(),
        UnaryOp::Acosh if x > 1e100 => x.ln() + std::f64::consts::LN_2,
        UnaryOp::Acosh if x < 1.0 => f64::NAN,
        // The library's formula cancels near 1, that of atanh near -1.
        UnaryOp::Acosh => (x - 1.0 + (2.0 * (x - 1.0) + (x - 1.0) * (x - 1.0)).sqrt()).ln_1p(),
        UnaryOp::Atanh => (0.5 * (2.0 * x.abs() / (1.0 - x.abs())).ln_1p()).copysign(x),
        UnaryOp::Erf => erf(x),
        UnaryOp::Sigmoid if x < 0.0 => x.exp() / (1.0 + x.exp()),
        UnaryOp::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        UnaryOp::Not | UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => x,
    }
}

/// Error function, to about an ulp of `f64`: its Taylor series near 0, Lentz's continued fraction of erfc beyond.
pub(crate) fn erf(x: f64) -> f64 {
    let a = x.abs();
    if x.is_nan() || x == 0.0 || a >= 6.0 {
        return if x.is_nan() || x == 0.0 { x } else { x.signum() };
    }
    let two_over_sqrt_pi = std::f64::consts::FRAC_2_SQRT_PI;
    // e^(-x²), with what the square has lost.
    let square = a * a;
    let decay = (-square).exp() * (1.0 - a.mul_add(a, -square));
    if a < 1.25 {
        // erf x = 2/√π e^(-x²) Σ 2ⁿ x^(2n+1) / (2n+1)!!, whose terms are all positive; the sum keeps what it loses.
        let (mut term, mut sum, mut lost, mut n) = (a, a, 0.0, 0.0);
        while term > sum * 1e-18 {
            n += 1.0;
            term *= 2.0 * square / (2.0 * n + 1.0);
            let next = sum + term;
            lost += term - (next - sum);
            sum = next;
        }
        return x.signum() * two_over_sqrt_pi * decay * (sum + lost);
    }
    // erfc x = e^(-x²) / √π · 1 / (x + (1/2) / (x + 1 / (x + (3/2) / (x + …)))).
    let tail = (1..=200).rev().fold(a, |tail, n| a + f64::from(n) / 2.0 / tail);
    x.signum() * (1.0 - decay * two_over_sqrt_pi / 2.0 / tail)
}

/// The result of an operator of two values of one dtype.
pub fn binary(op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
    if a.dtype.is_float() {
        Scalar::float(a.dtype, binary_real(op, a.to_f64(), b.to_f64(), a.dtype))
    } else if a.dtype == DType::Bool {
        binary_bool(op, a.bits != 0, b.bits != 0)
    } else {
        Scalar::int(a.dtype, binary_int(op, a.dtype, a.to_i128(), b.to_i128()))
    }
}

/// The function over the reals, before rounding to a dtype.
pub(crate) fn binary_real(op: BinaryOp, a: f64, b: f64, dtype: DType) -> f64 {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::DivEuclid => {
            // 16-bit floats are computed in f32.
            let wide = if dtype.is_half() { DType::F32 } else { dtype };
            let quotient = Scalar::float(wide, a / b).to_f64().trunc();
            match a % b < 0.0 {
                true if b > 0.0 => quotient - 1.0,
                true => quotient + 1.0,
                false => quotient,
            }
        }
        BinaryOp::RemEuclid => a.rem_euclid(b),
        BinaryOp::Pow => a.powf(b),
        BinaryOp::Min => minimum(a, b),
        BinaryOp::Max => -minimum(-a, -b),
        BinaryOp::Atan2 => a.atan2(b),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => f64::NAN,
    }
}

/// The smaller; NaN if either is; -0 is below +0.
fn minimum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a == b {
        if a.is_sign_negative() { a } else { b }
    } else if a < b {
        a
    } else {
        b
    }
}

fn binary_bool(op: BinaryOp, a: bool, b: bool) -> Scalar {
    Scalar::bool(match op {
        BinaryOp::And | BinaryOp::Mul | BinaryOp::Min => a && b,
        BinaryOp::Or | BinaryOp::Max => a || b,
        BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub => a != b,
        BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::DivEuclid
        | BinaryOp::RemEuclid
        | BinaryOp::Pow
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::Atan2 => a,
    })
}

/// Exact results that the caller reduces modulo the width.
fn binary_int(op: BinaryOp, dtype: DType, a: i128, b: i128) -> i128 {
    // Modulo the width, which is a power of two.
    let count = b as u32 & (dtype.bits() - 1);
    if let Some(value) = divided(op, a, b) {
        return value.into();
    }
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div if b == 0 => 0,
        BinaryOp::Div => a / b,
        BinaryOp::Rem if b == 0 => a,
        BinaryOp::Rem => a % b,
        BinaryOp::DivEuclid if b == 0 => 0,
        BinaryOp::DivEuclid => a.div_euclid(b),
        BinaryOp::RemEuclid if b == 0 => a,
        BinaryOp::RemEuclid => a.rem_euclid(b),
        BinaryOp::Pow => power(dtype, a, b),
        BinaryOp::Min => a.min(b),
        BinaryOp::Max => a.max(b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => a.wrapping_shl(count),
        BinaryOp::Shr => a >> count,
        BinaryOp::Atan2 => a,
    }
}

/// What a division of numbers of 64 bits gives, as nearly all are: processors have no instruction for more.
fn divided(op: BinaryOp, a: i128, b: i128) -> Option<i64> {
    let by = match op {
        BinaryOp::Div => i64::checked_div,
        BinaryOp::Rem => i64::checked_rem,
        BinaryOp::DivEuclid => i64::checked_div_euclid,
        BinaryOp::RemEuclid => i64::checked_rem_euclid,
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Pow
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::Atan2 => return None,
    };
    by(i64::try_from(a).ok()?, i64::try_from(b).ok()?)
}

/// `a^b` wrapping at each product; a negative exponent divides 1 by the power, so only 1 and -1 leave anything.
fn power(dtype: DType, a: i128, b: i128) -> i128 {
    if b < 0 {
        return match a {
            1 => 1,
            -1 if b % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut base, mut left) = (1i128, a, b);
    while left > 0 {
        if left & 1 == 1 {
            result = Scalar::int(dtype, result.wrapping_mul(base)).to_i128();
        }
        base = Scalar::int(dtype, base.wrapping_mul(base)).to_i128();
        left >>= 1;
    }
    result
}

/// The result of a comparison; NaN is unordered.
pub fn compare(op: CmpOp, a: Scalar, b: Scalar) -> bool {
    let order =
        if a.dtype.is_float() { a.to_f64().partial_cmp(&b.to_f64()) } else { Some(a.to_i128().cmp(&b.to_i128())) };
    match op {
        CmpOp::Eq => order.is_some_and(std::cmp::Ordering::is_eq),
        CmpOp::Ne => !order.is_some_and(std::cmp::Ordering::is_eq),
        CmpOp::Lt => order.is_some_and(std::cmp::Ordering::is_lt),
        CmpOp::Le => order.is_some_and(std::cmp::Ordering::is_le),
        CmpOp::Gt => order.is_some_and(std::cmp::Ordering::is_gt),
        CmpOp::Ge => order.is_some_and(std::cmp::Ordering::is_ge),
    }
}

/// Conversion as Rust's `as`: floats to integers saturate, NaN becomes 0, integers wrap, floats round to nearest.
pub fn cast(to: DType, x: Scalar) -> Scalar {
    match (x.dtype.is_float() || x.dtype.is_float8(), to) {
        (true, _) => Scalar::float(to, x.to_f64()),
        // By way of f64 the value would be rounded twice.
        (false, DType::F32) => Scalar::float(to, f64::from(x.to_i128() as f32)),
        (false, _) => Scalar::int(to, x.to_i128()),
    }
}

/// x 2^⌊n⌋ of f32, rounded once: beyond a thousand the exponent makes no difference.
pub fn scalef(x: Scalar, n: Scalar) -> Scalar {
    let n = n.to_f64();
    let value = if n.is_nan() { n } else { x.to_f64() * n.floor().clamp(-1000.0, 1000.0).exp2() };
    Scalar::float(DType::F32, value)
}

/// `x * multiplier * 2^(shift - 31)` of i32, rounded to nearest with ties up, saturating.
pub fn q_multiply_shift(x: Scalar, multiplier: Scalar, shift: Scalar) -> Scalar {
    let product = x.to_i128() * multiplier.to_i128();
    let right = 31 - shift.to_i128();
    // The product has at most 63 bits: beyond 64 places to the right nothing is left, beyond 64 to the left all saturates.
    let value = if right > 0 {
        let right = right.min(100) as u32;
        (product + (1 << (right - 1))) >> right
    } else {
        product << (-right).min(64) as u32
    };
    Scalar::int(DType::I32, value.clamp(i128::from(i32::MIN), i128::from(i32::MAX)))
}

/// Composition over plain scalars.
struct Plain;

impl Compose for Plain {
    type Value = Scalar;
    fn real(&self, like: Scalar, value: f64) -> Scalar {
        Scalar::float(like.dtype, value)
    }
    fn unary(&self, op: UnaryOp, x: Scalar) -> Scalar {
        unary(op, x)
    }
    fn binary(&self, op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
        binary(op, a, b)
    }
    fn compare(&self, op: CmpOp, a: Scalar, b: Scalar) -> Scalar {
        Scalar::bool(compare(op, a, b))
    }
    fn select(&self, c: Scalar, t: Scalar, f: Scalar) -> Scalar {
        if c.bits != 0 { t } else { f }
    }
}

/// The result of an elementwise operator on scalars. `args` are as many as the operator takes.
pub fn element(op: ElementOp, args: &[Scalar]) -> Scalar {
    let x = args[0];
    match op {
        ElementOp::Unary(op) => unary(op, x),
        ElementOp::Binary(op) => binary(op, x, args[1]),
        ElementOp::Compare(op) => Scalar::bool(compare(op, x, args[1])),
        ElementOp::Activation(op) => activation(&Plain, op, x),
        ElementOp::Cast(to) => cast(to, x),
        ElementOp::Select => {
            if x.bits != 0 {
                args[1]
            } else {
                args[2]
            }
        }
        ElementOp::Clip => binary(BinaryOp::Min, binary(BinaryOp::Max, x, args[1]), args[2]),
        ElementOp::Prelu if x.to_f64() >= 0.0 => x,
        ElementOp::Prelu => binary(BinaryOp::Mul, args[1], x),
        ElementOp::NearestInt => cast(DType::I32, unary(UnaryOp::Round, x)),
        ElementOp::QMultiplyShift => q_multiply_shift(x, args[1], args[2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(dtype: DType, value: i128) -> Scalar {
        Scalar::int(dtype, value)
    }

    #[test]
    fn integers_wrap_and_never_trap() {
        let rows = [
            (BinaryOp::Add, DType::I8, 127, 1, -128),
            (BinaryOp::Sub, DType::U8, 0, 1, 255),
            (BinaryOp::Mul, DType::U64, u64::MAX.into(), u64::MAX.into(), 1),
            (BinaryOp::Div, DType::I32, 7, 0, 0),
            (BinaryOp::Div, DType::I8, -128, -1, -128),
            (BinaryOp::Div, DType::I8, -7, 2, -3),
            (BinaryOp::Rem, DType::I8, -7, 2, -1),
            (BinaryOp::Rem, DType::I8, -7, 0, -7),
            (BinaryOp::DivEuclid, DType::I8, -7, 2, -4),
            (BinaryOp::RemEuclid, DType::I8, -7, 2, 1),
            (BinaryOp::RemEuclid, DType::I8, -7, 0, -7),
            (BinaryOp::Div, DType::I64, i64::MIN.into(), -1, i64::MIN.into()),
            (BinaryOp::Rem, DType::I64, i64::MIN.into(), -1, 0),
            (BinaryOp::DivEuclid, DType::U64, u64::MAX.into(), 2, i64::MAX.into()),
            (BinaryOp::RemEuclid, DType::U64, u64::MAX.into(), 10, 5),
            (BinaryOp::Shl, DType::U8, 1, 9, 2),
            (BinaryOp::Shl, DType::I32, 1, -1, i32::MIN.into()),
            (BinaryOp::Shr, DType::I8, -128, 7, -1),
            (BinaryOp::Shr, DType::U8, 128, 7, 1),
            (BinaryOp::Pow, DType::I32, 3, 4, 81),
            (BinaryOp::Pow, DType::U8, 2, 8, 0),
            (BinaryOp::Pow, DType::I32, -1, -3, -1),
            (BinaryOp::Pow, DType::I32, 2, -1, 0),
            (BinaryOp::Pow, DType::I32, 0, 0, 1),
        ];
        for (op, dtype, a, b, expected) in rows {
            assert_eq!(binary(op, int(dtype, a), int(dtype, b)).to_i128(), expected, "{op:?} {dtype} {a} {b}");
        }
    }

    #[test]
    fn floats_round_once_and_keep_nan() {
        let f = |x| Scalar::float(DType::F32, x);
        assert_eq!(binary(BinaryOp::Add, f(16_777_216.0), f(1.0)).to_f64(), 16_777_216.0);
        assert!(binary(BinaryOp::Max, f(f64::NAN), f(1.0)).to_f64().is_nan());
        assert!(binary(BinaryOp::Min, f(1.0), f(f64::NAN)).to_f64().is_nan());
        assert_eq!(unary(UnaryOp::Round, f(2.5)).to_f64(), 2.0);
        assert_eq!(unary(UnaryOp::Round, f(-0.5)).to_f64().to_bits(), (-0.0f64).to_bits());
        assert_eq!(binary(BinaryOp::Div, f(1.0), f(0.0)).to_f64(), f64::INFINITY);
        assert_eq!(cast(DType::F32, int(DType::I64, (1 << 53) + (1 << 29) + 1)).to_f64(), 9_007_200_328_482_816.0);
    }

    #[test]
    fn quantised_products_round_up_at_ties() {
        let i = |x| int(DType::I32, x);
        assert_eq!(q_multiply_shift(i(3), i(1 << 30), i(0)).to_i128(), 2);
        assert_eq!(q_multiply_shift(i(-3), i(1 << 30), i(0)).to_i128(), -1);
        assert_eq!(q_multiply_shift(i(i32::MAX.into()), i(1 << 30), i(20)).to_i128(), i32::MAX.into());
        assert_eq!(q_multiply_shift(i(i32::MAX.into()), i(i32::MAX.into()), i(-40)).to_i128(), 0);
    }

    #[test]
    fn scaled_numbers_are_rounded_once() {
        let of = |x: f32, n: f32| {
            let [x, n] = [x, n].map(|x| Scalar::float(DType::F32, f64::from(x)));
            scalef(x, n).to_f64() as f32
        };
        assert_eq!(of(1.5, 3.999), 12.0);
        assert_eq!(of(-1.5, -0.5), -0.75);
        assert_eq!(of(f32::from_bits(0x00ff_ffff), -1.0).to_bits(), 0x0080_0000, "a tie goes to the even one");
        assert_eq!(of(f32::from_bits(1), 149.5), 1.0);
        assert_eq!(of(f32::MAX, 1.0), f32::INFINITY);
        assert_eq!(of(f32::MAX, -4000.0), 0.0);
        assert!(of(f32::NAN, 0.0).is_nan() && of(0.0, f32::NAN).is_nan());
    }

    #[test]
    fn erf_agrees_with_tables() {
        for (x, y) in [
            (0.0, 0.0),
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (2.4, 0.999_311_486_103_354_9),
            (3.0, 0.999_977_909_503_001_4),
            (-1.0, -0.842_700_792_949_714_9),
        ] {
            assert!((erf(x) - y).abs() < 4e-16, "{x}: {} {y}", erf(x));
        }
    }
}
