//! The two 16-bit floats, as their bits.
//!
//! Rust has no such types yet, and the crate `half` is not needed to pass one on: these carry the
//! bits and convert from and to `f32`. With feature `half`, slices of `half`'s types are accepted
//! wherever these are, and `From` leads both ways.

/// An IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of fraction.
///
/// ```
/// use tenfold::f16;
///
/// assert_eq!(f16::from_f32(1.0).to_bits(), 0x3c00);
/// assert_eq!(f16::from_f32(1.0 / 3.0).to_f32(), 0.33325195);
/// assert_eq!(f16::from_f32(1e6).to_f32(), f32::INFINITY);
/// ```
#[allow(non_camel_case_types, reason = "it is named as it stands in a signature")]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct f16(u16);

/// The upper half of an IEEE 754 binary32: 1 bit of sign, 8 of exponent, 7 of fraction.
///
/// ```
/// use tenfold::bf16;
///
/// assert_eq!(bf16::from_f32(1.0).to_bits(), 0x3f80);
/// assert_eq!(bf16::from_f32(3.1415927).to_f32(), 3.140625);
/// ```
#[allow(non_camel_case_types, reason = "it is named as it stands in a signature")]
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct bf16(u16);

impl f16 {
    /// The nearest value, ties to even; what is too large is an infinity.
    ///
    /// ```
    /// use tenfold::f16;
    ///
    /// assert_eq!(f16::from_f32(0.1).to_f32(), 0.099_975_586);
    /// assert_eq!(f16::from_f32(1e6).to_f32(), f32::INFINITY);
    /// ```
    #[must_use]
    pub const fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        let sign = (bits >> 16 & 0x8000) as u16;
        let magnitude = bits & 0x7fff_ffff;
        if magnitude > 0x7f80_0000 {
            // The top of a NaN's payload is kept, and it is made quiet.
            return Self(sign | 0x7e00 | (magnitude >> 13 & 0x3ff) as u16);
        }
        let exponent = (magnitude >> 23) as i32 - 127;
        if exponent > 15 {
            return Self(sign | 0x7c00);
        }
        let (fraction, drop, base) = if exponent >= -14 {
            (magnitude & 0x007f_ffff, 13, ((exponent + 15) as u32) << 10)
        } else if exponent >= -25 {
            (magnitude & 0x007f_ffff | 0x0080_0000, (-1 - exponent) as u32, 0)
        } else {
            return Self(sign);
        };
        let (kept, rest, half) = (base + (fraction >> drop), fraction & ((1 << drop) - 1), 1 << (drop - 1));
        let up = rest > half || rest == half && kept & 1 == 1;
        // A carry out of the fraction goes into the exponent, up to infinity, as it should.
        Self(sign | (kept + up as u32) as u16)
    }

    /// The same value as an `f32`, which holds every one.
    #[must_use]
    pub const fn to_f32(self) -> f32 {
        let sign = (self.0 as u32 & 0x8000) << 16;
        let (exponent, fraction) = (self.0 as u32 >> 10 & 0x1f, self.0 as u32 & 0x3ff);
        f32::from_bits(match (exponent, fraction) {
            (0, 0) => sign,
            (0, _) => {
                let shift = fraction.leading_zeros() - 21;
                sign | (113 - shift) << 23 | (fraction << shift & 0x3ff) << 13
            }
            (0x1f, _) => sign | 0x7f80_0000 | fraction << 13,
            _ => sign | (exponent + 112) << 23 | fraction << 13,
        })
    }
}

impl bf16 {
    /// The nearest value, ties to even; what is too large is an infinity.
    ///
    /// ```
    /// use tenfold::bf16;
    ///
    /// assert_eq!(bf16::from_f32(0.1).to_f32(), 0.100_097_656);
    /// assert_eq!(bf16::from_f32(3.4e38).to_f32(), f32::INFINITY);
    /// ```
    #[must_use]
    pub const fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        if bits & 0x7fff_ffff > 0x7f80_0000 {
            return Self((bits >> 16) as u16 | 0x0040);
        }
        Self(((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16)
    }

    /// The same value as an `f32`, which holds every one.
    #[must_use]
    pub const fn to_f32(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }
}

/// Small floats are compared, shown and converted as the `f32` of the same value.
macro_rules! behaves_as_f32 {
    ($($float:ident)*) => {$(
        impl PartialEq for $float {
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $float {
            fn partial_cmp(&self, other: &Self) -> Option<::core::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl From<$float> for f32 {
            fn from(value: $float) -> Self {
                value.to_f32()
            }
        }

        impl ::core::fmt::Debug for $float {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl ::core::fmt::Display for $float {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    )*};
}
pub(crate) use behaves_as_f32;

macro_rules! sixteen_bits {
    ($($float:ident)*) => {$(
        impl $float {
            /// The value of these bits.
            #[must_use]
            pub const fn from_bits(bits: u16) -> Self {
                Self(bits)
            }

            /// The bits of the value.
            #[must_use]
            pub const fn to_bits(self) -> u16 {
                self.0
            }
        }

        #[cfg(feature = "half")]
        impl From<half::$float> for $float {
            fn from(value: half::$float) -> Self {
                Self(value.to_bits())
            }
        }

        #[cfg(feature = "half")]
        impl From<$float> for half::$float {
            fn from(value: $float) -> Self {
                Self::from_bits(value.0)
            }
        }
    )*};
}

sixteen_bits!(f16 bf16);
behaves_as_f32!(f16 bf16);
