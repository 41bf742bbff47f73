//! Why a map was not found.

use super::super::expr::IntExpr;
use super::super::fact::Fact;
use super::super::sym::Sym;
use std::fmt;

/// Why indices are not the iteration map that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IterMapError {
    /// A part of an index is no sum of quotients and remainders of loop variables.
    NotAffine(IntExpr),
    /// A divisor was not proven to be positive.
    Divisor(IntExpr),
    /// The range of a loop depends on another loop.
    Dependent(Sym),
    /// A condition does not bound a fused iteration.
    Predicate(Fact),
    /// The terms leave gaps or overlap.
    Gaps(IntExpr),
    /// Two indices, or a condition and an index, use the same part of a loop.
    Overlap(IntExpr),
    /// A part of a loop reaches no index.
    Unused(Sym),
    /// An index mixes inner loops into outer ones.
    Mixed(IntExpr),
}

impl fmt::Display for IterMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAffine(e) => write!(f, "`{e}` is no sum of quotients and remainders of loop variables"),
            Self::Divisor(e) => write!(f, "the divisor `{e}` is not known to be positive"),
            Self::Dependent(sym) => write!(f, "the range of `{sym}` depends on another loop"),
            Self::Predicate(fact) => write!(f, "the condition `{fact}` does not bound a fused iteration"),
            Self::Gaps(e) => write!(f, "the terms of `{e}` leave gaps or overlap"),
            Self::Overlap(e) => write!(f, "`{e}` is used more than once"),
            Self::Unused(sym) => write!(f, "no index has all of `{sym}`"),
            Self::Mixed(e) => write!(f, "`{e}` mixes inner loops into outer ones"),
        }
    }
}

impl std::error::Error for IterMapError {}
