//! The types of elements and their codes.
//!
//! Codes are stable: they stand in objects and blobs. 0 is no type, so that zeroed memory is
//! never taken for one; 64 and above are kept for types that are stored but not computed with
//! (8-bit floats, 4-bit integers).

use core::fmt;

/// The type of an element.
///
/// ```
/// use tenfold_abi::DType;
///
/// assert_eq!(DType::from_name("bf16"), Some(DType::BF16));
/// assert_eq!(DType::from_code(DType::F32.code()), Some(DType::F32));
/// assert_eq!(DType::U16.size_bytes(), 2);
/// assert_eq!(DType::ALL.iter().filter(|t| t.is_float()).count(), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DType {
    /// A byte that is 0 or 1.
    Bool = 1,
    /// A signed integer of 8 bits.
    I8 = 2,
    /// An unsigned integer of 8 bits.
    U8 = 3,
    /// A signed integer of 16 bits.
    I16 = 4,
    /// An unsigned integer of 16 bits.
    U16 = 5,
    /// A signed integer of 32 bits.
    I32 = 6,
    /// An unsigned integer of 32 bits.
    U32 = 7,
    /// A signed integer of 64 bits.
    I64 = 8,
    /// An unsigned integer of 64 bits.
    U64 = 9,
    /// IEEE 754 binary16.
    F16 = 10,
    /// The upper half of an IEEE 754 binary32.
    BF16 = 11,
    /// IEEE 754 binary32.
    F32 = 12,
    /// IEEE 754 binary64.
    F64 = 13,
    /// A float of 8 bits: 4 of exponent, 3 of fraction, no infinities. Stored only.
    F8E4M3FN = 64,
    /// The same with another bias and neither infinities nor a minus zero. Stored only.
    F8E4M3FNUZ = 65,
    /// A float of 8 bits: 5 of exponent, 2 of fraction, as IEEE 754 would have it. Stored only.
    F8E5M2 = 66,
    /// The same with another bias and neither infinities nor a minus zero. Stored only.
    F8E5M2FNUZ = 67,
    /// A signed integer of 4 bits, in a byte. Stored only.
    I4 = 68,
    /// An unsigned integer of 4 bits, in a byte. Stored only.
    U4 = 69,
}

impl DType {
    /// Every type that is computed with, in the order of their codes.
    pub const ALL: [Self; 13] = [
        Self::Bool,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
    ];

    /// Every type that is stored and not computed with, in the order of their codes: values are converted from it and to
    /// it, and moved.
    pub const STORED: [Self; 6] =
        [Self::F8E4M3FN, Self::F8E4M3FNUZ, Self::F8E5M2, Self::F8E5M2FNUZ, Self::I4, Self::U4];

    /// The code that stands in objects and blobs.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The type of a code.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        if code != 0 && code as usize <= Self::ALL.len() {
            return Some(Self::ALL[code as usize - 1]);
        }
        if code >= 64 && ((code - 64) as usize) < Self::STORED.len() {
            return Some(Self::STORED[code as usize - 64]);
        }
        None
    }

    /// The name in a signature, which is Rust's where Rust has the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F8E4M3FN => "f8e4m3fn",
            Self::F8E4M3FNUZ => "f8e4m3fnuz",
            Self::F8E5M2 => "f8e5m2",
            Self::F8E5M2FNUZ => "f8e5m2fnuz",
            Self::I4 => "i4",
            Self::U4 => "u4",
        }
    }

    /// The type of a name, those that are stored only among them.
    #[must_use]
    pub fn from_any_name(name: &str) -> Option<Self> {
        Self::from_name(name).or_else(|| Self::STORED.into_iter().find(|dtype| dtype.name() == name))
    }

    /// The type of a name, of those that are computed with.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// The type of a name in a safetensors file.
    ///
    /// ```
    /// use tenfold_abi::DType;
    ///
    /// assert_eq!(DType::from_safetensors("BF16"), Some(DType::BF16));
    /// assert_eq!(DType::from_safetensors("F8_E4M3"), Some(DType::F8E4M3FN));
    /// assert_eq!(DType::from_safetensors("bf16"), None);
    /// ```
    #[must_use]
    pub fn from_safetensors(name: &str) -> Option<Self> {
        let upper = |dtype: &Self| dtype.name().bytes().map(|b| b.to_ascii_uppercase()).eq(name.bytes());
        match name {
            "F8_E4M3" => Some(Self::F8E4M3FN),
            "F8_E4M3FNUZ" => Some(Self::F8E4M3FNUZ),
            "F8_E5M2" => Some(Self::F8E5M2),
            "F8_E5M2FNUZ" => Some(Self::F8E5M2FNUZ),
            _ => Self::ALL.into_iter().find(upper),
        }
    }

    /// How many bits of an element carry its value: 1 for `bool`, 4 for `i4` and `u4`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::I4 | Self::U4 => 4,
            _ => self.size_bytes() as u32 * 8,
        }
    }

    /// How many bytes an element takes in memory.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::F8E4M3FN | Self::F8E4M3FNUZ | Self::F8E5M2 | Self::F8E5M2FNUZ | Self::I4 | Self::U4 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The alignment in bytes that the compiler gives an element: its size.
    ///
    /// A target whose C aligns a wide type less (32-bit x86 aligns `double` to 4) is served by
    /// the code generator, which takes the smaller of the two.
    #[must_use]
    pub const fn align(self) -> usize {
        self.size_bytes()
    }

    /// Whether this is `f16`, `bf16`, `f32` or `f64`.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    /// Whether this is `f16` or `bf16`, which pass through entry points as their bits.
    #[must_use]
    pub const fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::BF16)
    }

    /// Whether this is stored and not computed with.
    #[must_use]
    pub const fn is_stored(self) -> bool {
        self.is_float8() || self.is_nibble()
    }

    /// Whether this is an integer of 4 bits.
    #[must_use]
    pub const fn is_nibble(self) -> bool {
        matches!(self, Self::I4 | Self::U4)
    }

    /// Whether this is a float of 8 bits.
    #[must_use]
    pub const fn is_float8(self) -> bool {
        matches!(self, Self::F8E4M3FN | Self::F8E4M3FNUZ | Self::F8E5M2 | Self::F8E5M2FNUZ)
    }

    /// Whether this is an integer that is computed with; `bool` is none.
    #[must_use]
    pub const fn is_int(self) -> bool {
        !self.is_float() && !self.is_bool() && !self.is_stored()
    }

    /// Whether this is an integer or a float that has a sign.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        self.is_float() || self.is_float8() || matches!(self, Self::I4 | Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Whether this is `bool`.
    #[must_use]
    pub const fn is_bool(self) -> bool {
        matches!(self, Self::Bool)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
