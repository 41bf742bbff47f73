//! Residues.
use super::expr::IntExpr;
use super::prover::Prover;
pub(super) fn divisible(_: &Prover, e: &IntExpr, c: i64) -> bool {
    e.exact_quotient(c).is_some()
}
pub(super) fn nonzero(_: &Prover, _: &IntExpr) -> bool {
    false
}
