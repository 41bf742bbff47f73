//! Rounding of exact numbers to floats of any width.

/// Where numbers between two floats go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// To the nearest one, of two that are as near to the even one.
    Nearest,
    Zero,
    Down,
    Up,
}

/// How many bits exponent and mantissa have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) exponent: u32,
    pub(crate) mantissa: u32,
}

pub(crate) const F16: Format = Format { exponent: 5, mantissa: 10 };
pub(crate) const BF16: Format = Format { exponent: 8, mantissa: 7 };
pub(crate) const F32: Format = Format { exponent: 8, mantissa: 23 };
pub(crate) const F64: Format = Format { exponent: 11, mantissa: 52 };

impl Format {
    /// The exponent of the least normal number.
    fn least(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    pub(crate) fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.mantissa
    }

    /// The NaN that operations give.
    pub(crate) fn nan(self) -> u64 {
        self.infinity() | ((1 << self.mantissa) - 1)
    }

    fn sign(self, negative: bool) -> u64 {
        u64::from(negative) << (self.exponent + self.mantissa)
    }

    /// The value as an f64, which is exact.
    pub(crate) fn value(self, bits: u64) -> f64 {
        if self == F64 {
            return f64::from_bits(bits);
        }
        if self == F32 {
            return f64::from(f32::from_bits(bits as u32));
        }
        let mantissa = bits & ((1 << self.mantissa) - 1);
        let exponent = (bits >> self.mantissa & ((1 << self.exponent) - 1)) as i32;
        let negative = bits >> (self.exponent + self.mantissa) & 1 == 1;
        let magnitude = match exponent {
            0 => mantissa as f64 * 2_f64.powi(self.least() - self.mantissa as i32),
            e if e == (1 << self.exponent) - 1 && mantissa == 0 => f64::INFINITY,
            e if e == (1 << self.exponent) - 1 => f64::NAN,
            e => (mantissa | 1 << self.mantissa) as f64 * 2_f64.powi(e - 1 + self.least() - self.mantissa as i32),
        };
        if negative { -magnitude } else { magnitude }
    }

    /// What lies above the greatest number.
    fn overflow(self, negative: bool, mode: Mode) -> u64 {
        let infinite = match mode {
            Mode::Nearest => true,
            Mode::Zero => false,
            Mode::Down => negative,
            Mode::Up => !negative,
        };
        self.infinity() - u64::from(!infinite)
    }

    /// `magnitude * 2^exponent` as the bits of a float.
    pub(crate) fn round(self, negative: bool, magnitude: u128, exponent: i32, mode: Mode) -> u64 {
        let sign = self.sign(negative);
        if magnitude == 0 {
            return sign;
        }
        let top = 127 - magnitude.leading_zeros() as i32 + exponent;
        let unit = top.max(self.least()) - self.mantissa as i32;
        let (whole, rest, half) = match unit - exponent {
            less @ ..=0 => (magnitude << -less, 0, 1),
            more @ 1..=127 => (magnitude >> more, magnitude & ((1 << more) - 1), 1 << (more - 1)),
            _ => (0, 1, 2),
        };
        let up = match mode {
            Mode::Nearest => rest > half || rest == half && whole & 1 == 1,
            Mode::Zero => false,
            Mode::Down => rest > 0 && negative,
            Mode::Up => rest > 0 && !negative,
        };
        let biased = (unit + self.mantissa as i32 - self.least()) as u64;
        let bits = (u128::from(biased) << self.mantissa) + whole + u128::from(up);
        if bits >= u128::from(self.infinity()) { sign | self.overflow(negative, mode) } else { sign | bits as u64 }
    }

    /// A whole number as a float.
    pub(crate) fn of_integer(self, value: i128, mode: Mode) -> u64 {
        self.round(value < 0, value.unsigned_abs(), 0, mode)
    }

    /// A number of double precision as a float.
    pub(crate) fn of(self, value: f64, mode: Mode) -> u64 {
        if value.is_nan() {
            return self.nan();
        }
        if value.is_infinite() {
            return self.sign(value.is_sign_negative()) | self.infinity();
        }
        let bits = value.to_bits();
        let (exponent, mantissa) = ((bits >> 52 & 0x7FF) as i32, bits & ((1 << 52) - 1));
        let (exponent, mantissa) = if exponent == 0 { (1, mantissa) } else { (exponent, mantissa | 1 << 52) };
        self.round(value.is_sign_negative(), mantissa.into(), exponent - 1075, mode)
    }
}

/// The sum of two numbers, whose last bit is 1 if the sum is not exact: rounded to half as many bits it is rounded once.
pub(crate) fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    let back = sum - a;
    let error = (a - (sum - back)) + (b - back);
    if error == 0.0 {
        return sum;
    }
    let bits = sum.to_bits();
    let cut = if (error < 0.0) == (sum < 0.0) { bits } else { bits - 1 };
    f64::from_bits(cut | 1)
}

#[cfg(test)]
mod tests {
    use super::{BF16, F16, F32, Mode, add_to_odd};

    #[test]
    fn numbers_are_rounded_as_the_processor_does() {
        let values =
            [0.0, -0.0, 1.0, 1.0 / 3.0, -7e-39, 1e-46, 7.1e-46, 3.4028236e38, -1e39, f64::INFINITY, 16777217.0];
        for value in values {
            assert_eq!(F32.of(value, Mode::Nearest) as u32, (value as f32).to_bits(), "{value}");
        }
        assert_eq!(F32.of_integer(i128::from(u64::MAX), Mode::Nearest) as u32, (u64::MAX as f32).to_bits());
    }

    #[test]
    fn halves_are_rounded() {
        let nearest = |value: f64| F16.of(value, Mode::Nearest);
        assert_eq!(
            [nearest(1.0), nearest(65504.0), nearest(65519.9), nearest(65520.0)],
            [0x3C00, 0x7BFF, 0x7BFF, 0x7C00]
        );
        assert_eq!([nearest(2_f64.powi(-24)), nearest(2_f64.powi(-25)), nearest(-2_f64.powi(-14))], [1, 0, 0x8400]);
        assert_eq!(F16.of(1e9, Mode::Zero), 0x7BFF);
        assert_eq!([F16.of(-1e-9, Mode::Down), F16.of(-1e-9, Mode::Up)], [0x8001, 0x8000]);
        assert_eq!(BF16.of(1.00390625, Mode::Nearest), 0x3F80);
        assert_eq!(BF16.of(1.01171875, Mode::Nearest), 0x3F82);
        for bits in (0..0x7C00).chain(0x8000..0xFC00) {
            assert_eq!(F16.of(F16.value(bits), Mode::Nearest), bits);
        }
        for bits in (0..0x7F80).chain(0x8000..0xFF80) {
            assert_eq!(BF16.of(BF16.value(bits), Mode::Nearest), bits);
        }
    }

    #[test]
    fn sums_are_rounded_once() {
        // A tie but for what is far below it.
        let tie = 1.0 + 2_f64.powi(-11);
        assert_eq!(F16.of(add_to_odd(tie, 2_f64.powi(-60)), Mode::Nearest), 0x3C01);
        assert_eq!(F16.of(add_to_odd(tie, -2_f64.powi(-60)), Mode::Nearest), 0x3C00);
        assert_eq!(F16.of(add_to_odd(-tie, 2_f64.powi(-60)), Mode::Nearest), 0xBC00);
    }
}
