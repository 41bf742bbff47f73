//! Bounds put in place of variables.
use super::expr::IntExpr;
use super::prover::Prover;
pub(super) fn nonnegative(_: &Prover, _: &IntExpr) -> bool {
    false
}
pub(super) fn symbolic(_: &Prover, _: &IntExpr) -> (Option<IntExpr>, Option<IntExpr>) {
    (None, None)
}
