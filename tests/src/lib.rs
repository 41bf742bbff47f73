//! Tests that span crates, and what they share.

pub mod elf;
pub mod outside;
pub mod ptxas;
pub mod tools;

/// Compiling and interpreting are many small pieces of memory: a tenth of the time of a test that does nothing else.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;
