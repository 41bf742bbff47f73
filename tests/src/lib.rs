//! Tests that span crates, and what they share.

pub mod tools;
