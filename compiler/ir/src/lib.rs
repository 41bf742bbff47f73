//! The IRs.
