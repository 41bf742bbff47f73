//! How far expanded math functions may be from the exact value. The interpreters carry these bounds; the suite in
//! `tests/conformance` measures the expansions against them.

use crate::DType;
use crate::op::{BinaryOp, UnaryOp};

/// The bound of an operator of one value, in units in the last place of its result.
pub fn ulps(op: UnaryOp) -> f64 {
    match op {
        UnaryOp::Neg
        | UnaryOp::Not
        | UnaryOp::Abs
        | UnaryOp::Sign
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Round
        | UnaryOp::Trunc
        | UnaryOp::IsNan
        | UnaryOp::IsInf
        | UnaryOp::IsFinite => 0.0,
        UnaryOp::Sqrt | UnaryOp::Square | UnaryOp::Reciprocal => 0.5,
        UnaryOp::Rsqrt => 1.5,
        UnaryOp::Exp | UnaryOp::Exp2 | UnaryOp::Log | UnaryOp::Sin | UnaryOp::Cos => 2.0,
        UnaryOp::Atan | UnaryOp::Log2 | UnaryOp::Log10 | UnaryOp::Log1p | UnaryOp::Erf | UnaryOp::Sigmoid => 4.0,
        UnaryOp::Expm1
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Tanh
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Asinh
        | UnaryOp::Acosh
        | UnaryOp::Atanh => 6.0,
    }
}

/// The bound of an operator of two values: above 0.5 for those that are expanded.
pub fn binary_ulps(op: BinaryOp) -> f64 {
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => 0.5,
        BinaryOp::Pow => 4.0,
        BinaryOp::Atan2 => 6.0,
        BinaryOp::DivEuclid | BinaryOp::RemEuclid => 0.5,
        BinaryOp::Rem
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::Shr => 0.0,
    }
}

/// Bits of a float dtype's significand, the leading one included, and the exponent of its least normal number.
pub fn float_format(dtype: DType) -> Option<(i32, i32)> {
    match dtype {
        DType::F16 => Some((11, -14)),
        DType::BF16 => Some((8, -126)),
        DType::F32 => Some((24, -126)),
        DType::F64 => Some((53, -1022)),
        DType::Bool
        | DType::I8
        | DType::U8
        | DType::I16
        | DType::U16
        | DType::I32
        | DType::U32
        | DType::I64
        | DType::U64
        | DType::F8E4M3FN
        | DType::F8E4M3FNUZ
        | DType::F8E5M2
        | DType::F8E5M2FNUZ
        | DType::I4
        | DType::U4 => None,
    }
}

/// Distance from one float of `dtype` to the next at the magnitude of `x`; 0 for integers.
pub fn ulp(dtype: DType, x: f64) -> f64 {
    let Some((precision, least)) = float_format(dtype) else { return 0.0 };
    if !x.is_finite() {
        return 0.0;
    }
    let exponent = if x == 0.0 { least } else { exponent(x.abs()).max(least) };
    power_of_two(exponent + 1 - precision)
}

/// The greatest finite float of `dtype`.
pub fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => 3.389_531_389_251_535_5e38,
        DType::F32 => f64::from(f32::MAX),
        DType::F64 => f64::MAX,
        DType::Bool
        | DType::I8
        | DType::U8
        | DType::I16
        | DType::U16
        | DType::I32
        | DType::U32
        | DType::I64
        | DType::U64
        | DType::F8E4M3FN
        | DType::F8E4M3FNUZ
        | DType::F8E5M2
        | DType::F8E5M2FNUZ
        | DType::I4
        | DType::U4 => f64::INFINITY,
    }
}

/// Exponent of a positive normal `f64`; of a subnormal one, that of the least normal number.
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> 52) as i32 - 1023).max(-1022)
}

/// 2 to the `n`, for `n` from -1074 to 1023.
pub(crate) fn power_of_two(n: i32) -> f64 {
    if n >= -1022 { f64::from_bits(((n + 1023) as u64) << 52) } else { f64::from_bits(1 << (n + 1074).max(0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_in_the_last_place() {
        assert_eq!(ulp(DType::F32, 1.0), f64::from(f32::EPSILON));
        assert_eq!(ulp(DType::F64, 1.5), f64::EPSILON);
        assert_eq!(ulp(DType::F32, 0.0), f64::from(f32::from_bits(1)));
        assert_eq!(ulp(DType::F64, 0.0), f64::from_bits(1));
        assert_eq!(ulp(DType::F16, 2048.0), 2.0);
        assert_eq!(ulp(DType::I32, 7.0), 0.0);
    }
}
