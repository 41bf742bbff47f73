//! Linear arithmetic over monomials.
use super::expr::IntExpr;
use super::prover::Prover;
pub(super) fn nonnegative(_: &Prover, _: &IntExpr) -> bool {
    false
}
pub(super) fn lower_bound(_: &Prover, _: &IntExpr) -> Option<i64> {
    None
}
