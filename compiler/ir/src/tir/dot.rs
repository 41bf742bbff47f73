//! Sums of products of neighbours that targets have an instruction for.

use crate::DType;

/// A sum of products of neighbours, as many as a word of 32 bits or half a vector of 16 bytes or a whole one holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Dot {
    /// Of four integers of 8 bits each; the sum is an i32.
    Bytes {
        /// Whether those of each operand have a sign.
        signed: [bool; 2],
    },
    /// Of two bf16 each; the sum is an f32. Where it is added to something, the products are terms of that sum, which may
    /// be taken in any order, and what is smaller than the least normal f32 may be 0.
    Bf16,
    /// Of 8 integers of 8 bits with signs each; the sum is an i32.
    Eight,
    /// Of 16 such integers.
    Sixteen,
}

impl Dot {
    /// All with their names.
    pub const ALL: [(&'static str, Dot); 7] = [
        ("dot4_u8u8", Dot::Bytes { signed: [false, false] }),
        ("dot4_u8i8", Dot::Bytes { signed: [false, true] }),
        ("dot4_i8u8", Dot::Bytes { signed: [true, false] }),
        ("dot4_i8i8", Dot::Bytes { signed: [true, true] }),
        ("dot2_bf16", Dot::Bf16),
        ("dot8", Dot::Eight),
        ("dot16", Dot::Sixteen),
    ];

    /// Products that are added.
    pub fn terms(self) -> i64 {
        match self {
            Dot::Bytes { .. } => 4,
            Dot::Bf16 => 2,
            Dot::Eight => 8,
            Dot::Sixteen => 16,
        }
    }

    /// The dtype of the sum.
    pub fn dtype(self) -> DType {
        match self {
            Dot::Bytes { .. } | Dot::Eight | Dot::Sixteen => DType::I32,
            Dot::Bf16 => DType::F32,
        }
    }

    /// Operands: two words, or elements one by one.
    pub fn operands(self) -> usize {
        match self {
            Dot::Bytes { .. } | Dot::Bf16 => 2,
            Dot::Eight | Dot::Sixteen => 2 * self.terms() as usize,
        }
    }

    /// Whether its operands are vectors, given element by element, instead of words.
    pub fn is_wide(self) -> bool {
        match self {
            Dot::Bytes { .. } | Dot::Bf16 => false,
            Dot::Eight | Dot::Sixteen => true,
        }
    }
}
