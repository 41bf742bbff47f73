//! tir: the loop level. See `ir.rs` for the data and `compiler/docs/tir.md` for the grammar.

mod annotation;
mod annotation_text;
mod bounds;
mod build;
pub mod copy;
mod counter;
mod dims;
mod dot;
mod element;
mod eval;
mod group;
mod hash;
mod intrinsic;
mod ir;
mod parse;
mod parse_expr;
mod print;
pub mod random;
mod rewrite;
mod scope;
pub mod tensor;
mod verify;
mod verify_types;
mod view;
mod walk;
pub mod warp;

pub use annotation::{AnnValue, Annotation};
pub(crate) use annotation_text::quote;
pub use bounds::{Unproven, unproven, verify_bounds};
pub use build::Builder;
pub use counter::Counters;
pub use dot::Dot;
pub use eval::{Arg, CallExtern, eval, eval_values, eval_with};
pub use group::Group;
pub use hash::{structural_hash, structurally_equal};
pub use intrinsic::Intrinsic;
pub use ir::*;
pub use parse::parse;
pub use print::{literal, operands, print, stmt_text};
pub use rewrite::{
    BufAccess, ExprMap, accesses, expr_vars, free_vars, map_operands, own_accesses, read, substitution, written,
};
pub use tensor::{Mbarrier, TensorCopy};
pub use verify::{RULES, UNWRITABLE, verify, violations};
pub use view::Viewer;
pub use warp::{Bit, Lines, WARP, WARPGROUP, Warp};
