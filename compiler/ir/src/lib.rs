//! Tenfold's intermediate representations and their laws.
//!
//! `arith` holds integer expressions and the prover on which shapes, indices and every legality check rest.
//! `relax` is the graph level, `tir` the loop level; one [`Module`] holds functions of both.
//! This crate knows nothing of Rust syntax, of targets, of passes or of LLVM.

pub mod constant;
pub mod content;
pub mod eval;
pub mod float8;
pub mod loc;
pub mod module;
pub mod module_text;
pub mod op;
pub mod ops;
pub mod relax;
pub mod scalar;
pub mod text;
pub mod tir;

pub use tenfold_arith as arith;

pub use constant::{ConstBytes, ConstData, ConstId};
pub use loc::Loc;
pub use module::{Function, Module};
pub use module_text::{functions_text, module_text, parse_functions, parse_module};
pub use scalar::Scalar;
pub use tenfold_abi::DType;
