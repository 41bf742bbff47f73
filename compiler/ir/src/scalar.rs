//! Scalar values of every dtype, by their bits.

use crate::DType;

/// A value of a dtype, as its bits in the low end of a `u64` (integers sign- or zero-extended to their width only).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Scalar {
    /// The dtype.
    pub dtype: DType,
    /// The bits; those above the dtype's width are 0.
    pub bits: u64,
}
