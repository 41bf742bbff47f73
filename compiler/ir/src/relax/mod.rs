//! relax: the graph level. See `ir.rs` for the data and `compiler/docs/relax.md` for the grammar.

mod build;
pub(crate) mod dim;
mod eval;
mod eval_ops;
mod hash;
mod infer;
mod ir;
mod names;
mod parse;
mod parse_op;
mod print;
mod rewrite;
mod verify;

pub use build::{Builder, literal_scalar};
pub use eval::{CallPrim, Inputs, Outputs, eval, eval_with};
pub use hash::{fnv1a, structural_hash, structurally_equal};
pub use infer::{broadcast, element_dtype, infer};
pub use ir::*;
pub use names::{binary_name, compare_name, element_name, op_name, unary_name};
pub use parse::{parse_function, parse_type};
pub use parse_op::plain_elements;
pub use print::{PrintOptions, print_function, print_with, scalar_text, type_text};
pub use rewrite::renumbered;
pub use verify::{prover, verify};
