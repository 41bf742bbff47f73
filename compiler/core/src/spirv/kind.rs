//! What holds a value of tir in a register, and an element in memory.

use tenfold_ir::DType;
use tenfold_ir::tir::Elem;

/// What a register holds. Integers of 8 and 16 bits lie in 32, extended by their sign, and wrap after each operation;
/// 16-bit floats are their bits in the low half of 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Bool,
    Int { signed: bool, bits: u32 },
    Half { brain: bool },
    Float { bits: u32 },
}

impl Kind {
    pub(super) fn of(elem: Elem) -> Kind {
        match elem {
            Elem::Index => Kind::Int { signed: true, bits: 64 },
            Elem::Scalar(dtype) => Kind::of_dtype(dtype),
        }
    }

    pub(super) fn of_dtype(dtype: DType) -> Kind {
        match dtype {
            DType::Bool => Kind::Bool,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kind::Int { signed: true, bits: dtype.bits() },
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Int { signed: false, bits: dtype.bits() },
            // As their bytes: `FP8ComputeLegalize` has written out what computes with them.
            DType::I4 => Kind::Int { signed: true, bits: 8 },
            DType::U4 | DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => {
                Kind::Int { signed: false, bits: 8 }
            }
            DType::F16 => Kind::Half { brain: false },
            DType::BF16 => Kind::Half { brain: true },
            DType::F32 | DType::F64 => Kind::Float { bits: dtype.bits() },
        }
    }

    pub(super) fn is_signed(self) -> bool {
        matches!(self, Kind::Int { signed: true, .. })
    }

    /// Bits of an element in a storage buffer.
    pub(super) fn stored_bits(self) -> u32 {
        match self {
            Kind::Bool => 8,
            Kind::Half { .. } => 16,
            Kind::Int { bits, .. } | Kind::Float { bits } => bits,
        }
    }

    /// Its name in messages.
    pub(super) fn name(self) -> String {
        match self {
            Kind::Bool => "bool".into(),
            Kind::Int { signed, bits } => format!("{}{bits}", if signed { 'i' } else { 'u' }),
            Kind::Half { brain } => if brain { "bf16" } else { "f16" }.into(),
            Kind::Float { bits } => format!("f{bits}"),
        }
    }
}

pub(super) const I32: Kind = Kind::Int { signed: true, bits: 32 };
pub(super) const U32: Kind = Kind::Int { signed: false, bits: 32 };
pub(super) const F32: Kind = Kind::Float { bits: 32 };
pub(super) const F64: Kind = Kind::Float { bits: 64 };
