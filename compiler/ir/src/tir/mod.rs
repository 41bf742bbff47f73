//! tir: the loop level. See `ir.rs` for the data and `compiler/docs/tir.md` for the grammar.

mod bounds;
mod build;
mod element;
mod eval;
mod hash;
mod ir;
mod parse;
mod parse_expr;
mod print;
mod rewrite;
mod scope;
mod verify;
mod verify_types;
mod view;
mod walk;

pub use bounds::{Unproven, unproven, verify_bounds};
pub use build::Builder;
pub use eval::{Arg, eval};
pub use hash::{structural_hash, structurally_equal};
pub use ir::*;
pub use parse::parse;
pub use print::{literal, operands, print};
pub use rewrite::ExprMap;
pub use verify::verify;
pub use view::Viewer;
