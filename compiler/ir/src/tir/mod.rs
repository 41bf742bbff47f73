//! tir: the loop level. See `ir.rs` for the data and `compiler/docs/tir.md` for the grammar.

mod build;
mod element;
mod ir;
mod rewrite;

pub use build::Builder;
pub use ir::*;
pub use rewrite::ExprMap;
pub fn verify(_: &crate::Module, _: &PrimFunc) -> Vec<String> {
    Vec::new()
}
