//! The scalar operators that relax applies element by element and tir applies to values.
//!
//! Semantics (LANGUAGE.md, "Values") are fixed in [`crate::scalar`]; both interpreters and every back end follow it.

mod activation;
mod takes;

use std::fmt;

use crate::{DType, Scalar};

pub use activation::Activation;
pub(crate) use activation::{Compose, OPS, activation};
pub use takes::Takes;

/// An `f64` attribute with equality and hash by bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Real(u64);

impl Real {
    /// Wraps a value.
    pub fn new(value: f64) -> Self {
        Real(value.to_bits())
    }
    /// The value.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl fmt::Debug for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.get())
    }
}

/// An enum of operators, and the list of them.
macro_rules! operators {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $op:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name {
            $($(#[$doc])* $op,)+
        }

        impl $name {
            /// Every one, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$op),+];
        }
    };
}

operators! {
    /// Operators of one value. The result has the operand's dtype, except for the `is_*` tests, which give `bool`.
    UnaryOp {
        /// `-x`; integers wrap.
        Neg,
        /// `!x`: logical on bool, bitwise on integers.
        Not,
        /// Absolute value; `abs(MIN)` wraps to `MIN`.
        Abs,
        /// -1, 0 or 1; NaN stays NaN.
        Sign,
        /// Towards negative infinity.
        Floor,
        /// Towards positive infinity.
        Ceil,
        /// To nearest, ties to even.
        Round,
        /// Towards zero.
        Trunc,
        /// Square root.
        Sqrt,
        /// 1 / sqrt(x).
        Rsqrt,
        /// 1 / x.
        Reciprocal,
        /// x * x.
        Square,
        /// e to the x.
        Exp,
        /// 2 to the x.
        Exp2,
        /// exp(x) - 1.
        Expm1,
        /// Natural logarithm.
        Log,
        /// Logarithm to base 2.
        Log2,
        /// Logarithm to base 10.
        Log10,
        /// log(1 + x).
        Log1p,
        /// Sine.
        Sin,
        /// Cosine.
        Cos,
        /// Tangent.
        Tan,
        /// Arc sine.
        Asin,
        /// Arc cosine.
        Acos,
        /// Arc tangent.
        Atan,
        /// Hyperbolic sine.
        Sinh,
        /// Hyperbolic cosine.
        Cosh,
        /// Hyperbolic tangent.
        Tanh,
        /// Inverse hyperbolic sine.
        Asinh,
        /// Inverse hyperbolic cosine.
        Acosh,
        /// Inverse hyperbolic tangent.
        Atanh,
        /// Error function.
        Erf,
        /// 1 / (1 + exp(-x)).
        Sigmoid,
        /// Whether x is NaN.
        IsNan,
        /// Whether x is infinite.
        IsInf,
        /// Whether x is neither NaN nor infinite.
        IsFinite,
    }
}

operators! {
    /// Operators of two values of one dtype, which is the result's.
    BinaryOp {
        /// Sum.
        Add,
        /// Difference.
        Sub,
        /// Product.
        Mul,
        /// Quotient; of integers towards zero, `x / 0 = 0`, `MIN / -1 = MIN`.
        Div,
        /// Remainder with the dividend's sign; of integers `x % 0 = x`.
        Rem,
        /// Euclidean quotient; `x / 0 = 0`.
        DivEuclid,
        /// Euclidean remainder; `x % 0 = x`.
        RemEuclid,
        /// Power.
        Pow,
        /// The smaller; propagates NaN.
        Min,
        /// The larger; propagates NaN.
        Max,
        /// And: logical on bool, bitwise on integers.
        And,
        /// Or.
        Or,
        /// Exclusive or.
        Xor,
        /// Shift left; count modulo the width.
        Shl,
        /// Shift right, arithmetic if signed; count modulo the width.
        Shr,
        /// Arc tangent of y / x.
        Atan2,
    }
}

operators! {
    /// Comparisons; NaN is unordered.
    CmpOp {
        /// `==`
        Eq,
        /// `!=`
        Ne,
        /// `<`
        Lt,
        /// `<=`
        Le,
        /// `>`
        Gt,
        /// `>=`
        Ge,
    }
}

/// Everything that relax applies element by element with broadcasting.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ElementOp {
    /// One operand.
    Unary(UnaryOp),
    /// Two operands of one dtype.
    Binary(BinaryOp),
    /// Two operands of one dtype, giving `bool`.
    Compare(CmpOp),
    /// One operand.
    Activation(Activation),
    /// Conversion as Rust's `as`.
    Cast(DType),
    /// `select(c, t, f)`: `t` where `c`, else `f`.
    Select,
    /// `clip(x, lo, hi)`: min(max(x, lo), hi).
    Clip,
    /// `prelu(x, slope)`.
    Prelu,
    /// `q_multiply_shift(x, multiplier, shift)` of i32: `x * multiplier * 2^(shift - 31)`, rounded to nearest with
    /// ties up, saturating.
    QMultiplyShift,
    /// `nearest_int(x)` of floats: the nearest integer in `i32`, ties to even, where it lies within ±2^30 of an `f64` and ±2^22 of
    /// an `f32`. Of others nothing is said: passes make it where they know that there are none.
    NearestInt,
}

impl ElementOp {
    /// Every one without attributes that is no activation; those have a list of their own.
    pub fn plain() -> impl Iterator<Item = Self> {
        let unary = UnaryOp::ALL.iter().copied().map(Self::Unary);
        let binary = BinaryOp::ALL.iter().copied().map(Self::Binary);
        let compare = CmpOp::ALL.iter().copied().map(Self::Compare);
        unary.chain(binary).chain(compare).chain([
            Self::Select,
            Self::Clip,
            Self::Prelu,
            Self::QMultiplyShift,
            Self::NearestInt,
        ])
    }
}

/// Reductions over axes or ranges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ReduceOp {
    /// Sum; empty gives 0.
    Sum,
    /// Product; empty gives 1.
    Prod,
    /// Largest; empty gives the least value.
    Max,
    /// Smallest; empty gives the greatest value.
    Min,
    /// Mean; empty gives NaN.
    Mean,
    /// Whether any is true.
    Any,
    /// Whether all are true.
    All,
}

impl ReduceOp {
    /// What it gives over nothing, and starts from.
    pub fn unit(self, dtype: DType) -> Scalar {
        match self {
            ReduceOp::Sum | ReduceOp::Mean => Scalar::zero(dtype),
            ReduceOp::Prod => Scalar::one(dtype),
            ReduceOp::Max => Scalar::least(dtype),
            ReduceOp::Min => Scalar::greatest(dtype),
            ReduceOp::Any => Scalar::bool(false),
            ReduceOp::All => Scalar::bool(true),
        }
    }

    /// How two parts become one. A mean is a sum that is divided at the end.
    pub fn combiner(self) -> BinaryOp {
        match self {
            ReduceOp::Sum | ReduceOp::Mean => BinaryOp::Add,
            ReduceOp::Prod => BinaryOp::Mul,
            ReduceOp::Max => BinaryOp::Max,
            ReduceOp::Min => BinaryOp::Min,
            ReduceOp::Any => BinaryOp::Or,
            ReduceOp::All => BinaryOp::And,
        }
    }

    /// The dtype that it accumulates elements of `dtype` in: halves are rounded once, at the end.
    pub fn accumulator(self, dtype: DType) -> DType {
        let rounds = match self {
            ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Prod => true,
            ReduceOp::Max | ReduceOp::Min | ReduceOp::Any | ReduceOp::All => false,
        };
        match dtype {
            DType::F16 | DType::BF16 if rounds => DType::F32,
            DType::F16
            | DType::BF16
            | DType::Bool
            | DType::I8
            | DType::U8
            | DType::I16
            | DType::U16
            | DType::I32
            | DType::U32
            | DType::I64
            | DType::U64
            | DType::F32
            | DType::F64
            | DType::F8E4M3FN
            | DType::F8E4M3FNUZ
            | DType::F8E5M2
            | DType::F8E5M2FNUZ
            | DType::I4
            | DType::U4 => dtype,
        }
    }
}

/// Index of an extreme; the first of equals or the first NaN wins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ArgOp {
    /// Of the largest.
    ArgMax,
    /// Of the smallest.
    ArgMin,
}
