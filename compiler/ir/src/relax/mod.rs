//! relax: the graph level. See `ir.rs` for the data and `compiler/docs/relax.md` for the grammar.

mod build;
pub(crate) mod dim;
mod infer;
mod ir;
mod names;

pub use build::{Builder, literal_scalar};
pub use infer::{broadcast, element_dtype, infer};
pub use ir::*;
pub use names::{binary_name, compare_name, element_name, op_name, unary_name};

/// The laws that a function breaks, one text each.
pub fn verify(_: &crate::Module, _: &Function) -> Vec<String> {
    Vec::new()
}
