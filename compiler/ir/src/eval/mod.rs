//! What both reference interpreters share: scalar semantics, values, and floats that carry an error bound.

pub mod bounded;
pub mod scalar_ops;
mod sum;
mod ulps;

pub use bounded::Bounded;
pub use sum::Sum;
pub use ulps::{binary_ulps, largest, ulp, ulps};
