//! Programs of the language, compiled as a user writes them; the tests compare them with NumPy, or with Rust.

pub mod corners;
pub mod generic;
pub mod graphs;
pub mod growth;
pub mod loops;
pub mod memories;
pub mod models;
pub mod operators;
pub mod outside;
mod reference;
pub mod scheduled;
pub mod stored;
pub mod weights;

pub use reference::*;
