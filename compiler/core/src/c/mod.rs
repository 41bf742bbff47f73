//! The C back end: readable, portable C11 through the C compiler that `cc` finds.
//!
//! It serves targets that LLVM lacks, machines without LLVM, and tests as a second opinion.

mod compile;
mod emit;
mod expr;
mod names;
mod split;

pub use compile::CBackend;
pub use emit::emit;
