//! Programs and what is said of them.
