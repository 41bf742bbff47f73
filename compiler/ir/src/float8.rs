//! Floats of 8 bits: four kinds, by where the bits are and how infinities and NaN are written.
//!
//! Conversion rounds to nearest, ties to even. What is too large becomes infinity, or NaN where there is none; ONNX's
//! saturating conversion is a `clip` before it. There is one NaN, without a sign.

use crate::DType;

/// Where the bits of such a float are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Float8 {
    /// Bits of the fraction.
    pub fraction: u32,
    /// What is taken from the exponent.
    pub bias: i32,
    /// The code of the greatest number.
    pub most: u8,
    /// What is too large: the code of infinity, or of NaN.
    pub over: u8,
    /// The code of NaN.
    pub nan: u8,
}

impl Float8 {
    /// The layout of a dtype, if it is one of these.
    pub fn of(dtype: DType) -> Option<Float8> {
        let kind = |fraction, bias, [most, over, nan]: [u8; 3]| Some(Float8 { fraction, bias, most, over, nan });
        match dtype {
            DType::F8E4M3FN => kind(3, 7, [0x7e, 0x7f, 0x7f]),
            DType::F8E4M3FNUZ => kind(3, 8, [0x7f, 0x80, 0x80]),
            DType::F8E5M2 => kind(2, 15, [0x7b, 0x7c, 0x7e]),
            DType::F8E5M2FNUZ => kind(2, 16, [0x7f, 0x80, 0x80]),
            _ => None,
        }
    }

    /// Whether what would be minus zero is NaN.
    pub fn has_no_minus_zero(self) -> bool {
        self.nan == 0x80
    }

    /// The value of a code.
    pub fn value(self, code: u8) -> f64 {
        let magnitude = code & 0x7f;
        let is_nan = if self.has_no_minus_zero() { code == 0x80 } else { magnitude > self.most && magnitude != 0x7c };
        if is_nan {
            return f64::NAN;
        }
        let (exponent, fraction) = (i32::from(magnitude >> self.fraction), magnitude & ((1 << self.fraction) - 1));
        let unit = f64::from(fraction) / f64::from(1u32 << self.fraction);
        let value = match exponent {
            _ if magnitude > self.most => f64::INFINITY,
            0 => unit * 2f64.powi(1 - self.bias),
            e => (1.0 + unit) * 2f64.powi(e - self.bias),
        };
        if code & 0x80 != 0 { -value } else { value }
    }

    /// The code of the nearest value.
    pub fn code(self, value: f64) -> u8 {
        if value.is_nan() {
            return self.nan;
        }
        let magnitude = self.magnitude(value.abs());
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        match magnitude {
            0 if self.has_no_minus_zero() => 0,
            m if m == self.nan => m,
            m => m | sign,
        }
    }

    fn magnitude(self, value: f64) -> u8 {
        let least = 2f64.powi(1 - self.bias);
        let code = if value < least {
            // Adding the fraction's last place, scaled to 1, is exact before it is rounded.
            (value * 2f64.powi(self.bias - 1 + self.fraction as i32)).round_ties_even() as u64
        } else {
            let shift = 52 - self.fraction;
            let bits = value.to_bits();
            let rounded = (bits + (1 << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift;
            rounded - (((1023 - self.bias) as u64) << self.fraction)
        };
        u8::try_from(code).ok().filter(|code| *code <= self.most).unwrap_or(self.over)
    }

    /// The code of the greatest value, infinity included.
    pub fn greatest(self) -> u8 {
        if self.over == self.nan { self.most } else { self.over }
    }

    /// The code of the least value, infinity included.
    pub fn least(self) -> u8 {
        self.greatest() | 0x80
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> impl Iterator<Item = (DType, Float8)> {
        DType::STORED.into_iter().filter_map(|dtype| Some((dtype, Float8::of(dtype)?)))
    }

    #[test]
    fn codes_round_trip() {
        for (dtype, format) in kinds() {
            for code in 0..=255u8 {
                let value = format.value(code);
                if !value.is_nan() {
                    assert_eq!(format.code(value), code, "{dtype} {value}");
                }
            }
            assert_eq!(
                (0..=255).filter(|code| format.value(*code).is_nan()).count(),
                match dtype {
                    DType::F8E4M3FN => 2,
                    DType::F8E5M2 => 6,
                    _ => 1,
                }
            );
        }
    }

    #[test]
    fn extremes_are_those_of_their_definitions() {
        let greatest = |dtype| Float8::of(dtype).map(|f| (f.value(f.most), f.value(1)));
        assert_eq!(greatest(DType::F8E4M3FN), Some((448.0, 2f64.powi(-9))));
        assert_eq!(greatest(DType::F8E4M3FNUZ), Some((240.0, 2f64.powi(-10))));
        assert_eq!(greatest(DType::F8E5M2), Some((57344.0, 2f64.powi(-16))));
        assert_eq!(greatest(DType::F8E5M2FNUZ), Some((57344.0, 2f64.powi(-17))));
    }

    /// Every value between two neighbours becomes the nearer one; the middle becomes the even one.
    #[test]
    fn values_become_the_nearest() {
        for (dtype, format) in kinds() {
            for code in 0..format.most {
                let (a, b) = (format.value(code), format.value(code + 1));
                let middle = (a + b) / 2.0;
                let even = if code % 2 == 0 { code } else { code + 1 };
                assert_eq!(format.code(middle), even, "{dtype} {middle}");
                assert_eq!(format.code(middle.next_down()), code, "{dtype} {middle}");
                assert_eq!(format.code(middle.next_up()), code + 1, "{dtype} {middle}");
                if code > 0 {
                    assert_eq!(format.code(-middle), even | 0x80, "{dtype} -{middle}");
                }
            }
            let last = format.value(format.most);
            let beyond = last + (last - format.value(format.most - 1)) / 2.0;
            assert_eq!(format.code(beyond.next_down()), format.most);
            assert_eq!((format.code(beyond.next_up()), format.code(f64::INFINITY)), (format.over, format.over));
        }
    }

    /// What is far too large is so however large it is; the sign stays where there is a sign.
    #[test]
    fn nothing_too_large_becomes_another_code() {
        for (dtype, format) in kinds() {
            let sign = if format.over == format.nan { 0 } else { 0x80 };
            for power in 1..200 {
                let far = format.value(format.most) * 2f64.powi(power);
                assert_eq!(format.code(far), format.over, "{dtype} {far:e}");
                assert_eq!(format.code(-far), format.over | sign, "{dtype} -{far:e}");
            }
        }
    }
}
