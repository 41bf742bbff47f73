//! Files for the linker that need no compiler: archives and objects that hold constants.

pub(crate) mod archive;
pub(crate) mod constant;
pub(crate) mod symbols;
pub(crate) mod wasm;
mod wasm_symbols;
