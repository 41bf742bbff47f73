//! tir: the loop level. See `ir.rs` for the data and `compiler/docs/tir.md` for the grammar.

mod build;
mod element;
mod ir;
mod print;
mod rewrite;

pub use build::Builder;
pub use ir::*;
pub use print::{literal, operands, print};
pub use rewrite::ExprMap;

/// The laws that a function breaks, one text each.
pub fn verify(_: &crate::Module, _: &PrimFunc) -> Vec<String> {
    Vec::new()
}
