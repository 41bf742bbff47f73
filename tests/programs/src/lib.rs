//! The programs of `compiler/syntax/tests/data/programs.rs` that are compiled, as a user writes them.
//! `tests/numpy.rs` compares them with NumPy.

pub mod corners;
pub mod graphs;
pub mod scheduled;
