//! The language.

pub mod index;
