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
}

impl DType {
    /// Every type, in the order of their codes.
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

    /// The code that stands in objects and blobs.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The type of a code.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        if code == 0 || code as usize > Self::ALL.len() {
            return None;
        }
        Some(Self::ALL[code as usize - 1])
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
        }
    }

    /// The type of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// How many bits of an element carry its value: 1 for `bool`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            _ => self.size_bytes() as u32 * 8,
        }
    }

    /// How many bytes an element takes in memory.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
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

    /// Whether this is an integer; `bool` is none.
    #[must_use]
    pub const fn is_int(self) -> bool {
        !self.is_float() && !self.is_bool()
    }

    /// Whether this is an integer or a float that has a sign.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        self.is_float() || matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
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
