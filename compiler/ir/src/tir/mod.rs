//! tir: the loop level. See `ir.rs` for the data and `compiler/docs/tir.md` for the grammar.

mod ir;

pub use ir::*;
