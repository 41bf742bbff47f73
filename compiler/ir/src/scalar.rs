//! Scalar values of every dtype, by their bits.

use crate::DType;
use crate::eval::power_of_two;
use crate::float8::Float8;

/// A value of a dtype, as its bits in the low end of a `u64`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Scalar {
    /// The dtype.
    pub dtype: DType,
    /// The bits; those above the dtype's width are 0.
    pub bits: u64,
}

/// Keeps the low `bytes` bytes.
fn mask(bits: u64, bytes: usize) -> u64 {
    if bytes >= 8 { bits } else { bits & ((1 << (8 * bytes)) - 1) }
}

/// An integer reduced modulo the width of a dtype, of 4 bits too; those have a byte, which their sign fills.
fn wrapped(dtype: DType, value: i128) -> u64 {
    match dtype {
        DType::I4 => ((value as i8) << 4 >> 4) as u64,
        DType::U4 => value as u64 & 15,
        _ => value as u64,
    }
}

impl Scalar {
    /// A bool.
    pub fn bool(value: bool) -> Self {
        Scalar { dtype: DType::Bool, bits: u64::from(value) }
    }

    /// An integer reduced modulo its width, or, for a float dtype, the nearest float; for bool, whether it is not 0.
    pub fn int(dtype: DType, value: i128) -> Self {
        if dtype.is_float() || dtype.is_float8() {
            Scalar::float(dtype, value as f64)
        } else if dtype == DType::Bool {
            Scalar::bool(value != 0)
        } else {
            Scalar { dtype, bits: mask(wrapped(dtype, value), dtype.size_bytes()) }
        }
    }

    /// The nearest float (ties to even), or, for an integer dtype, Rust's `as`: towards zero, saturating, NaN is 0.
    pub fn float(dtype: DType, value: f64) -> Self {
        let bits = match dtype {
            DType::F64 => value.to_bits(),
            DType::F32 => u64::from((value as f32).to_bits()),
            DType::F16 => u64::from(f64_to_f16(value)),
            DType::BF16 => u64::from(f64_to_bf16(value)),
            DType::Bool => u64::from(value != 0.0),
            DType::I8 => value as i8 as u64,
            DType::U8 => u64::from(value as u8),
            DType::I16 => value as i16 as u64,
            DType::U16 => u64::from(value as u16),
            DType::I32 => value as i32 as u64,
            DType::U32 => u64::from(value as u32),
            DType::I64 => value as i64 as u64,
            DType::U64 => value as u64,
            DType::I4 => (value as i8).clamp(-8, 7) as u64,
            DType::U4 => u64::from((value as u8).min(15)),
            DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => {
                Float8::of(dtype).map_or(0, |format| u64::from(format.code(value)))
            }
        };
        Scalar { dtype, bits: mask(bits, dtype.size_bytes()) }
    }

    /// The nearest float; of a float of 8 bits the greatest number where that is too large, as `as` has it.
    pub fn saturated(dtype: DType, value: f64) -> Self {
        let most = Float8::of(dtype).map_or(f64::INFINITY, |format| format.value(format.most));
        Scalar::float(dtype, value.clamp(-most, most))
    }

    /// 0 of a dtype.
    pub fn zero(dtype: DType) -> Self {
        Scalar::int(dtype, 0)
    }

    /// 1 of a dtype.
    pub fn one(dtype: DType) -> Self {
        Scalar::int(dtype, 1)
    }

    /// The least value: of floats negative infinity.
    pub fn least(dtype: DType) -> Self {
        match dtype {
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Scalar::float(dtype, f64::NEG_INFINITY),
            DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => {
                Scalar { dtype, bits: Float8::of(dtype).map_or(0, |format| u64::from(format.least())) }
            }
            DType::I4 => Scalar::int(dtype, -8),
            DType::Bool | DType::U4 | DType::U8 | DType::U16 | DType::U32 | DType::U64 => Scalar::zero(dtype),
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
                Scalar { dtype, bits: 1 << (8 * dtype.size_bytes() - 1) }
            }
        }
    }

    /// The greatest value: of floats that have infinity, infinity.
    pub fn greatest(dtype: DType) -> Self {
        match dtype {
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Scalar::float(dtype, f64::INFINITY),
            DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => {
                Scalar { dtype, bits: Float8::of(dtype).map_or(0, |format| u64::from(format.greatest())) }
            }
            DType::I4 => Scalar::int(dtype, 7),
            DType::U4 => Scalar::int(dtype, 15),
            DType::Bool => Scalar::bool(true),
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Scalar::int(dtype, -1),
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
                Scalar { dtype, bits: mask(u64::MAX, dtype.size_bytes()) >> 1 }
            }
        }
    }

    /// As an `f64`: exact for floats and integers below 2^53.
    pub fn to_f64(self) -> f64 {
        match self.dtype {
            DType::F64 => f64::from_bits(self.bits),
            DType::F32 => f64::from(f32::from_bits(self.bits as u32)),
            DType::F16 => f16_to_f64(self.bits as u16),
            DType::BF16 => f64::from(f32::from_bits((self.bits as u32) << 16)),
            DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => {
                Float8::of(self.dtype).map_or(0.0, |format| format.value(self.bits as u8))
            }
            DType::Bool
            | DType::I4
            | DType::U4
            | DType::I8
            | DType::U8
            | DType::I16
            | DType::U16
            | DType::I32
            | DType::U32
            | DType::I64
            | DType::U64 => self.to_i128() as f64,
        }
    }

    /// As an integer: exact for integers and bools; floats as Rust's `as i128`.
    pub fn to_i128(self) -> i128 {
        match self.dtype {
            DType::Bool | DType::U4 | DType::U8 | DType::U16 | DType::U32 | DType::U64 => i128::from(self.bits),
            DType::I4 | DType::I8 => i128::from(self.bits as i8),
            DType::I16 => i128::from(self.bits as i16),
            DType::I32 => i128::from(self.bits as i32),
            DType::I64 => i128::from(self.bits as i64),
            DType::F16
            | DType::BF16
            | DType::F32
            | DType::F64
            | DType::F8E4M3FN
            | DType::F8E4M3FNUZ
            | DType::F8E5M2
            | DType::F8E5M2FNUZ => self.to_f64() as i128,
        }
    }

    /// Little-endian bytes of the value, as many as the dtype has.
    pub fn to_le_bytes(self) -> Vec<u8> {
        self.bits.to_le_bytes()[..self.dtype.size_bytes()].to_vec()
    }

    /// The value whose little-endian bytes these are; `bytes` has the dtype's length.
    pub fn from_le_bytes(dtype: DType, bytes: &[u8]) -> Self {
        let mut all = [0; 8];
        let n = dtype.size_bytes().min(bytes.len());
        all[..n].copy_from_slice(&bytes[..n]);
        Scalar { dtype, bits: u64::from_le_bytes(all) }
    }
}

/// Value of the bits of an IEEE 754 binary16.
pub fn f16_to_f64(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let mantissa = bits & 0x3ff;
    match exponent {
        0 => sign * f64::from(mantissa) * power_of_two(-24),
        31 if mantissa == 0 => sign * f64::INFINITY,
        31 => f64::NAN,
        e => sign * f64::from_bits(((e - 15 + 1023) as u64) << 52 | u64::from(mantissa) << 42),
    }
}

/// Rounds to a float with `precision` bits of significand and least exponent `least`, ties to even.
fn round_to(value: f64, precision: i32, least: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
    let shift = precision - 1 - exponent;
    // Scaling by a power of two is exact here: |shift| stays far below 1000 for the widths in use.
    (value * power_of_two(shift)).round_ties_even() * power_of_two(-shift)
}

/// The nearest binary16, ties to even.
pub fn f64_to_f16(value: f64) -> u16 {
    let sign = u16::from(value.is_sign_negative()) << 15;
    if value.is_nan() {
        return sign | 0x7e00;
    }
    let r = round_to(value.abs(), 11, -14);
    if r >= 65520.0 {
        return sign | 0x7c00;
    }
    if r < power_of_two(-14) {
        return sign | (r * power_of_two(24)) as u16;
    }
    let exponent = (r.to_bits() >> 52) as i32 - 1023;
    let mantissa = (r.to_bits() >> 42) as u16 & 0x3ff;
    sign | ((exponent + 15) as u16) << 10 | mantissa
}

/// The nearest bfloat16, ties to even.
pub fn f64_to_bf16(value: f64) -> u16 {
    if value.is_nan() {
        return 0x7fc0 | u16::from(value.is_sign_negative()) << 15;
    }
    // A bfloat16 is a binary32 whose low half is 0, and rounding to 8 bits first makes the second rounding exact.
    ((round_to(value, 8, -126) as f32).to_bits() >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_trip() {
        for bits in 0..=u16::MAX {
            let x = f16_to_f64(bits);
            if !x.is_nan() {
                assert_eq!(f64_to_f16(x), bits, "{x}");
            }
            let b = Scalar { dtype: DType::BF16, bits: u64::from(bits) };
            if !b.to_f64().is_nan() {
                assert_eq!(Scalar::float(DType::BF16, b.to_f64()), b);
            }
        }
    }

    #[test]
    fn halves_round_to_even() {
        assert_eq!(f64_to_f16(1.0 + 1.0 / 2048.0), 0x3c00);
        assert_eq!(f64_to_f16(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!(f64_to_f16(65519.9), 0x7bff);
        assert_eq!(f64_to_f16(65520.0), 0x7c00);
        assert_eq!(f64_to_bf16(3.4e38), 0x7f80);
    }

    #[test]
    fn casts_saturate() {
        assert_eq!(Scalar::float(DType::I8, 300.0).to_i128(), 127);
        assert_eq!(Scalar::float(DType::U8, f64::NAN).to_i128(), 0);
        assert_eq!(Scalar::int(DType::I8, 200).to_i128(), -56);
        assert_eq!(Scalar::least(DType::I16).to_i128(), -32768);
        assert_eq!(Scalar::greatest(DType::I64).to_i128(), i128::from(i64::MAX));
        assert_eq!(Scalar::greatest(DType::U64).to_i128(), i128::from(u64::MAX));
    }
}
