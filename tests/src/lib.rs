//! Tests that span crates, and what they share.

pub mod elf;
pub mod outside;
pub mod ptxas;
pub mod tools;
