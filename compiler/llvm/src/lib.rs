//! The LLVM back end: objects, assembly and LLVM's own text for flat tir.
//!
//! LLVM is loaded, never linked: [`find`] chooses a library, [`load`] opens it, and all else
//! asks for the [`Llvm`] that `load` gives. It is the only crate that names inkwell; it does not
//! know relax, schedules or files.
#![allow(unsafe_code, reason = "LLVM-C is a C interface; every block says what it relies on")]

mod backend;
mod diagnostics;
mod emit;
mod ir;
mod load;
mod machine;
mod stack;
#[cfg(test)]
mod tests;
mod transpose;

pub use backend::LlvmBackend;
pub use load::{Env, Found, Llvm, LoadError, OLDEST_MAJOR, Rung, Version, find, load};
pub use machine::{known_features, known_targets};
