//! Numbers that tensors store and no operator computes with: floats of 8 bits, by their bits, and integers of 4 bits, in
//! a byte each.
//!
//! Conversions are those of `as` in a tensor function.

use core::fmt;

use crate::float::behaves_as_f32;

/// Where the bits of a float of 8 bits are; the rest is its sign.
#[derive(Clone, Copy)]
struct Layout {
    /// Bits of the fraction.
    fraction: u32,
    /// What is taken from the exponent.
    bias: i32,
    /// The bits of the greatest number.
    most: u8,
    /// The bits of NaN.
    nan: u8,
}

/// The magnitude without its last `drop` bits, rounded to nearest with ties to even.
const fn rounded(magnitude: u32, drop: u32) -> u32 {
    (magnitude + (1 << (drop - 1)) - 1 + (magnitude >> drop & 1)) >> drop
}

impl Layout {
    /// Whether its only NaN is what would be minus zero.
    const fn has_no_minus_zero(self) -> bool {
        self.nan == 0x80
    }

    const fn is_nan(self, bits: u8) -> bool {
        // Above the greatest number is infinity, where there is one, and NaN.
        if self.has_no_minus_zero() { bits == self.nan } else { bits & 0x7f > self.most && bits & 0x7f != 0x7c }
    }

    const fn encode(self, value: f32) -> u8 {
        let bits = value.to_bits();
        let (sign, magnitude) = ((bits >> 24) as u8 & 0x80, bits & 0x7fff_ffff);
        if magnitude > 0x7f80_0000 {
            return self.nan;
        }
        let exponent = (magnitude >> 23) as i32 - 127 + self.bias;
        let code = if exponent >= 1 {
            rounded(magnitude - (((127 - self.bias) as u32) << 23), 23 - self.fraction)
        } else if exponent > -(self.fraction as i32) - 1 {
            rounded(magnitude & 0x007f_ffff | 0x0080_0000, (24 - self.fraction as i32 - exponent) as u32)
        } else {
            0
        };
        match (if code < self.most as u32 { code as u8 } else { self.most }, sign) {
            (0, _) if self.has_no_minus_zero() => 0,
            (code, sign) => code | sign,
        }
    }

    const fn decode(self, bits: u8) -> f32 {
        let (sign, magnitude) = ((bits as u32 & 0x80) << 24, bits as u32 & 0x7f);
        if self.is_nan(bits) {
            return f32::NAN;
        }
        let value = if magnitude > self.most as u32 {
            f32::INFINITY
        } else if magnitude >> self.fraction == 0 {
            // Below the least normal number a code counts units of the last place.
            magnitude as f32 * f32::from_bits(((128 - self.bias - self.fraction as i32) as u32) << 23)
        } else {
            f32::from_bits((magnitude << (23 - self.fraction)) + (((127 - self.bias) as u32) << 23))
        };
        f32::from_bits(value.to_bits() | sign)
    }
}

macro_rules! eight_bits {
    ($($float:ident: $fraction:literal $bias:literal $most:literal $nan:literal, $about:literal, $text:literal;)*) => {$(
        #[doc = $about]
        ///
        #[doc = concat!("```\nuse tenfold::", stringify!($float), ";\n")]
        #[doc = $text]
        #[doc = "```"]
        #[allow(non_camel_case_types, reason = "it is named as it stands in a signature")]
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $float(u8);

        impl $float {
            const LAYOUT: Layout = Layout { fraction: $fraction, bias: $bias, most: $most, nan: $nan };

            /// The greatest number.
            pub const MAX: Self = Self($most);

            /// The nearest number, ties to even; what is too large, infinities too, is the greatest, and NaN is NaN:
            /// as ONNX's conversion saturates.
            #[must_use]
            pub const fn from_f32(value: f32) -> Self {
                Self(Self::LAYOUT.encode(value))
            }

            /// The same value as an `f32`, which holds every one.
            #[must_use]
            pub const fn to_f32(self) -> f32 {
                Self::LAYOUT.decode(self.0)
            }

            /// The value of these bits.
            #[must_use]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// The bits of the value.
            #[must_use]
            pub const fn to_bits(self) -> u8 {
                self.0
            }
        }
    )*};
}

eight_bits! {
    f8e4m3fn: 3 7 0x7e 0x7f,
        "A float of 8 bits: 4 of exponent, 3 of fraction; up to 448, with NaN and without infinities.",
        "assert_eq!(f8e4m3fn::from_f32(0.3).to_f32(), 0.3125);\nassert_eq!(f8e4m3fn::from_f32(-1e6).to_f32(), -448.0);";
    f8e4m3fnuz: 3 8 0x7f 0x80,
        "A float of 8 bits: 4 of exponent, 3 of fraction; up to 240, with one NaN, without infinities and minus zero.",
        "assert_eq!(f8e4m3fnuz::from_f32(-0.0).to_bits(), 0);\nassert_eq!(f8e4m3fnuz::MAX.to_f32(), 240.0);";
    f8e5m2: 2 15 0x7b 0x7e,
        "A float of 8 bits: 5 of exponent, 2 of fraction; up to 57344, with infinities and NaN.",
        "assert_eq!(f8e5m2::from_f32(0.3).to_f32(), 0.3125);\nassert_eq!(f8e5m2::from_bits(0xfc).to_f32(), f32::NEG_INFINITY);";
    f8e5m2fnuz: 2 16 0x7f 0x80,
        "A float of 8 bits: 5 of exponent, 2 of fraction; up to 57344, with one NaN, without infinities and minus zero.",
        "assert_eq!(f8e5m2fnuz::MAX.to_f32(), 57344.0);\nassert!(f8e5m2fnuz::from_bits(0x80).to_f32().is_nan());";
}

behaves_as_f32!(f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz);

macro_rules! four_bits {
    ($($int:ident: $byte:ident $least:literal $greatest:literal, |$low:ident| $from_low:expr, $about:literal, $text:literal;)*) => {$(
        #[doc = $about]
        ///
        #[doc = concat!("```\nuse tenfold::", stringify!($int), ";\n")]
        #[doc = $text]
        #[doc = "```"]
        #[allow(non_camel_case_types, reason = "it is named as it stands in a signature")]
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $int($byte);

        impl $int {
            /// The least value.
            pub const MIN: Self = Self($least);
            /// The greatest value.
            pub const MAX: Self = Self($greatest);

            /// This value, if it has 4 bits.
            #[must_use]
            pub const fn new(value: $byte) -> Option<Self> {
                let wide = value as i16;
                if $least <= wide && wide <= $greatest { Some(Self(value)) } else { None }
            }

            /// The value of the low 4 bits.
            #[must_use]
            pub const fn from_low_bits($low: u8) -> Self {
                Self($from_low)
            }

            /// The value.
            #[must_use]
            pub const fn get(self) -> $byte {
                self.0
            }

            /// Two values a byte, the first in the low bits, as ONNX packs them. An odd last value leaves the high
            /// bits of its byte 0. Gives the number of bytes written: those that there is room for.
            pub fn pack(values: &[Self], bytes: &mut [u8]) -> usize {
                let pairs = values.chunks(2).zip(bytes);
                let pack = |(pair, byte): (&[Self], &mut u8)| {
                    let nibble = |n: usize| pair.get(n).map_or(0, |value| value.0 as u8 & 15);
                    *byte = nibble(0) | nibble(1) << 4;
                };
                pairs.map(pack).count()
            }

            /// The values of packed bytes, the inverse of `pack`. Gives the number of values written: those that there
            /// are bytes for.
            pub fn unpack(bytes: &[u8], values: &mut [Self]) -> usize {
                let both = bytes.iter().flat_map(|byte| [*byte, *byte >> 4]);
                values.iter_mut().zip(both).map(|(value, low)| *value = Self::from_low_bits(low)).count()
            }
        }

        impl From<$int> for $byte {
            fn from(value: $int) -> Self {
                value.0
            }
        }

        impl fmt::Debug for $int {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl fmt::Display for $int {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

four_bits! {
    i4: i8 -8 7, |low| (low << 4) as i8 >> 4,
        "A signed integer of 4 bits, in a byte: -8 to 7.",
        "assert_eq!(i4::new(-8), Some(i4::MIN));\nassert_eq!(i4::new(8), None);\nlet mut values = [i4::default(); 3];\nassert_eq!(i4::unpack(&[0xf1, 0x08], &mut values), 3);\nassert_eq!(values.map(i4::get), [1, -1, -8]);";
    u4: u8 0 15, |low| low & 15,
        "An unsigned integer of 4 bits, in a byte: 0 to 15.",
        "let mut bytes = [0; 2];\nassert_eq!(u4::pack(&[9, 14, 3].map(u4::from_low_bits), &mut bytes), 2);\nassert_eq!(bytes, [0xe9, 0x03]);";
}

#[cfg(test)]
mod tests {
    use super::*;

    // Every value comes back, and the middle between two neighbours becomes the one whose last bit is 0.
    macro_rules! check {
        ($($float:ident)*) => {$(
            for bits in 0..=255 {
                let value = $float::from_bits(bits);
                if value.to_f32().is_finite() {
                    assert_eq!($float::from_f32(value.to_f32()).to_bits(), bits, "{value}");
                }
            }
            for bits in 0..$float::MAX.to_bits() {
                let (a, b) = ($float::from_bits(bits).to_f32(), $float::from_bits(bits + 1).to_f32());
                let (middle, even) = ((a + b) / 2.0, bits + (bits & 1));
                assert!(a < b);
                assert_eq!($float::from_f32(middle).to_bits(), even, "{middle}");
                assert_eq!($float::from_f32(middle.next_down()).to_bits(), bits, "{middle}");
                assert_eq!($float::from_f32(middle.next_up()).to_bits(), bits + 1, "{middle}");
            }
            assert_eq!($float::from_f32(f32::INFINITY), $float::MAX);
            assert_eq!($float::from_f32(-f32::MAX).to_f32(), -$float::MAX.to_f32());
            assert!($float::from_f32(-f32::NAN).to_f32().is_nan());
        )*};
    }

    #[test]
    fn floats_are_the_nearest() {
        check!(f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz);
    }

    #[test]
    fn extremes_are_those_of_their_definitions() {
        assert_eq!((f8e4m3fn::from_bits(1).to_f32(), f8e4m3fn::MAX.to_f32()), (1.0 / 512.0, 448.0));
        assert_eq!((f8e4m3fnuz::from_bits(1).to_f32(), f8e4m3fnuz::MAX.to_f32()), (1.0 / 1024.0, 240.0));
        assert_eq!((f8e5m2::from_bits(1).to_f32(), f8e5m2::MAX.to_f32()), (1.0 / 65536.0, 57344.0));
        assert_eq!((f8e5m2fnuz::from_bits(1).to_f32(), f8e5m2fnuz::MAX.to_f32()), (1.0 / 131_072.0, 57344.0));
        assert_eq!(f8e5m2::from_bits(0x7c).to_f32(), f32::INFINITY);
        let nan = [
            f8e4m3fn::from_bits(0xff).to_f32(),
            f8e5m2::from_bits(0x7d).to_f32(),
            f8e5m2fnuz::from_bits(0x80).to_f32(),
        ];
        assert!(nan.iter().all(|value| value.is_nan()));
    }

    #[test]
    fn integers_pack_in_pairs() {
        let values: [i4; 16] = core::array::from_fn(|n| i4::from_low_bits(n as u8));
        let (mut bytes, mut back) = ([0; 8], [i4::default(); 16]);
        assert_eq!((i4::pack(&values, &mut bytes), i4::unpack(&bytes, &mut back)), (8, 16));
        assert_eq!((bytes[0], bytes[7], back), (0x10, 0xfe, values));
        let mut short = [0xff; 2];
        assert_eq!((u4::pack(&[u4::MAX], &mut short), short), (1, [0x0f, 0xff]));
        assert_eq!(u4::unpack(&[0x21], &mut [u4::default(); 5]), 2);
        assert_eq!((u4::new(16), i4::new(-9), i4::MIN.get()), (None, None, -8));
    }
}
