//! Tests of expressions and of the prover.
