//! relax: the graph level. See `ir.rs` for the data and `compiler/docs/relax.md` for the grammar.

mod build;
pub(crate) mod dim;
mod eval;
mod eval_layout;
mod eval_ops;
mod exprs;
mod hash;
mod infer;
mod ir;
mod kernels;
mod known;
mod layout;
mod names;
mod parse;
mod parse_op;
mod print;
mod random;
mod rewrite;
mod symbols;
mod verify;
mod walk;
mod wraps;

pub use build::{Builder, binding_kind, block_kind, literal_scalar};
pub use eval::{CallExternal, CallPrim, Callees, Inputs, Outputs, eval, eval_with};
pub use hash::{fnv1a, structural_hash, structurally_equal};
pub use infer::{broadcast, element_dtype, infer};
pub use ir::*;
pub use known::{known_at, region_facts};
pub use layout::{
    ConvLayout, DataLayout, KernelLayout, Part, in_plain_order, inverse, permutation, plain_shape, stored_shape,
};
pub use names::{binary_name, compare_name, element_name, op_name, unary_name};
pub use parse::{parse_function, parse_type};
pub use parse_op::plain_element;
pub use print::{PrintOptions, print_function, print_with, scalar_text, type_text};
pub use random::{Random, random_module};
pub use rewrite::renumbered;
pub use symbols::{call_facts, dims, known_facts, natural, range_facts, ranges};
pub use verify::{RULES, Rule, Violation, prover, verify, violations};
pub use walk::{Bindings, Definition, Definitions, Event, User, Uses, bindings_mut, bindings_of, bodies_mut, walk};
pub use wraps::{Wraps, is_free};
