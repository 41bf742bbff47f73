//! What both reference interpreters share: scalar semantics, values, and floats that carry an error bound.

pub mod bounded;
pub mod dot;
mod element;
pub mod scalar_ops;
mod sum;
mod ulps;
pub mod value;

pub use bounded::Bounded;
pub use element::element;
pub use sum::Sum;
pub(crate) use ulps::power_of_two;
pub use ulps::{binary_ulps, float_format, largest, ulp, ulps};
pub use value::Value;

/// How the errors of both interpreters end where results of different roundings would have different extents or run
/// something else.
pub const ROUNDED: &str = "depends on rounding";
