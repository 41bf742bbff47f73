//! Exact fractions.
