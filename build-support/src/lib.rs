//! Compiles the `#[tensor_fn]` functions of a crate while its build script runs.

#![allow(dead_code, reason = "the parts land before the whole")]

mod cfg;
mod hash;
mod object;
mod scan;
