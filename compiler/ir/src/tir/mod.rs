//! tir: the loop level. See `ir.rs` for the data and `compiler/docs/tir.md` for the grammar.

mod bounds;
mod build;
mod element;
mod eval;
mod ir;
mod print;
mod rewrite;
mod view;

pub use bounds::verify_bounds;
pub use build::Builder;
pub use eval::{Arg, eval};
pub use ir::*;
pub use print::{literal, operands, print};
pub use rewrite::ExprMap;
pub use view::Viewer;

/// The laws that a function breaks, one text each.
pub fn verify(_: &crate::Module, _: &PrimFunc) -> Vec<String> {
    Vec::new()
}
