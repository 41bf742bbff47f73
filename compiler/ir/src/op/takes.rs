//! Which dtypes scalar operators take: the one place that relax, tir and the front end ask.

use super::{BinaryOp, UnaryOp};
use crate::DType;

/// A set of dtypes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// Integers and floats.
    Number,
    /// Floats.
    Float,
    /// Integers.
    Integer,
    /// Integers and bools.
    BoolOrInteger,
}

impl Takes {
    /// Whether the dtype is one of the set.
    pub fn holds(self, dtype: DType) -> bool {
        match self {
            Takes::Number => dtype.is_int() || dtype.is_float(),
            Takes::Float => dtype.is_float(),
            Takes::Integer => dtype.is_int(),
            Takes::BoolOrInteger => dtype.is_bool() || dtype.is_int(),
        }
    }
}

impl UnaryOp {
    /// The dtypes that it takes.
    pub fn takes(self) -> Takes {
        use UnaryOp as U;
        match self {
            U::Neg | U::Abs | U::Sign | U::Square => Takes::Number,
            U::Not => Takes::BoolOrInteger,
            U::Floor | U::Ceil | U::Round | U::Trunc | U::Sqrt | U::Rsqrt | U::Reciprocal => Takes::Float,
            U::Exp | U::Exp2 | U::Expm1 | U::Log | U::Log2 | U::Log10 | U::Log1p => Takes::Float,
            U::Sin | U::Cos | U::Tan | U::Asin | U::Acos | U::Atan => Takes::Float,
            U::Sinh | U::Cosh | U::Tanh | U::Asinh | U::Acosh | U::Atanh => Takes::Float,
            U::Erf | U::Sigmoid | U::IsNan | U::IsInf | U::IsFinite => Takes::Float,
        }
    }
}

impl BinaryOp {
    /// The dtypes that it takes.
    pub fn takes(self) -> Takes {
        use BinaryOp as B;
        match self {
            B::Add | B::Sub | B::Mul | B::Div | B::Rem | B::DivEuclid | B::RemEuclid | B::Pow | B::Min | B::Max => {
                Takes::Number
            }
            B::And | B::Or | B::Xor => Takes::BoolOrInteger,
            B::Shl | B::Shr => Takes::Integer,
            B::Atan2 => Takes::Float,
        }
    }
}
