//! The language of `#[tensor_fn]`: Rust tokens in, the tree of one function and every diagnostic out.
//!
//! The macro and the build script share this crate, so that they agree on what a function is: one parser, one
//! numbering of nodes, one fingerprint. It knows nothing of cargo, of files' contents or of back ends, reads and writes
//! no file, and does not panic, whatever the tokens.

pub mod ast;
pub mod code;
pub mod diagnostic;
pub mod elaborate;
mod extent;
pub mod fingerprint;
pub mod index;
pub mod parse;
pub mod print;
pub mod render;
mod search;
pub mod signature;
pub mod spans;

pub use code::Code;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use elaborate::{Elaborated, Environment, elaborate};
pub use fingerprint::{fingerprint, hash128};
pub use parse::{Outer, Parsed, parse_item, parse_text};
pub use print::print;
pub use signature::{Signature, signature};
pub use spans::SpanTable;
