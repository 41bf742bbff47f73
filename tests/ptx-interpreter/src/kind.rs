//! Types of instructions.

use crate::round::{BF16, F16, F32, F64, Format};

/// What the bits of a type mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Predicate,
    Bits,
    Unsigned,
    Signed,
    /// A float.
    Float(Format),
    /// Two floats.
    Pair(Format),
    /// Two whole numbers, with a sign or without.
    Words {
        signed: bool,
    },
}

/// A type, and its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    pub(crate) bits: u32,
}

impl Type {
    /// The type of this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let kind = match name {
            "pred" => Kind::Predicate,
            "f16" => Kind::Float(F16),
            "bf16" => Kind::Float(BF16),
            "f32" => Kind::Float(F32),
            "f64" => Kind::Float(F64),
            "f16x2" => Kind::Pair(F16),
            "bf16x2" => Kind::Pair(BF16),
            "s16x2" | "u16x2" => Kind::Words { signed: name.starts_with('s') },
            _ if name.starts_with('b') => Kind::Bits,
            _ if name.starts_with('u') => Kind::Unsigned,
            _ if name.starts_with('s') => Kind::Signed,
            _ => return None,
        };
        crate::parse::bits(name).map(|bits| Self { kind, bits })
    }
}

/// The lowest bits.
pub(crate) fn low(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// The lowest bits as a number with a sign.
pub(crate) fn signed(value: u64, bits: u32) -> i64 {
    let shift = 64 - bits.clamp(1, 64);
    ((value << shift) as i64) >> shift
}
