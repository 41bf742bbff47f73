//! Text of a module, for dumps and `cargo tenfold show`.

/// Every function in the order of its name.
pub(crate) use tenfold_ir::functions_text as module_text;
