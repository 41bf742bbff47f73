//! What both reference interpreters share: scalar semantics, values, and floats that carry an error bound.

pub mod scalar_ops;
