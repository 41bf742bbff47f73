//! relax: the graph level. See `ir.rs` for the data and `compiler/docs/relax.md` for the grammar.

mod ir;

pub use ir::*;
