//! Proofs by residues.

use super::atom::Atom;
use super::expr::IntExpr;
use super::fact::Fact;
use super::modular_set::ModularSet;
use super::prover::Prover;

/// Whether `e` was found to be a multiple of `c`.
pub(super) fn divisible(prover: &Prover, e: &IntExpr, c: i64) -> bool {
    let Some(c) = c.checked_abs().filter(|c| *c > 0) else { return e.is_zero() };
    let is_multiple = |e: &IntExpr| ModularSet::of(prover, e).is_multiple_of(c);
    is_multiple(e)
        || prover.facts().iter().any(|fact| {
            let Fact::Divisible(f, by) = fact else { return false };
            by % c == 0 && multiples(e, f).into_iter().any(|k| is_multiple(&(e - f * k)))
        })
}

/// Factors by which `f` may cancel a term of `e`.
fn multiples(e: &IntExpr, f: &IntExpr) -> Vec<i64> {
    let mut out = Vec::new();
    for (monomial, k) in f.terms() {
        let other = e.terms().iter().find(|(m, _)| m == monomial);
        if let Some((_, coefficient)) = other.filter(|(_, it)| it.checked_rem(*k) == Some(0)) {
            out.push(coefficient / k);
        }
    }
    out
}

/// Whether residues exclude that `e` is zero.
pub(super) fn nonzero(prover: &Prover, e: &IntExpr) -> bool {
    ModularSet::of(prover, e).excludes_zero()
}

/// Where `e` is known modulo a constant, the greatest value of the same residue class's gap below it: if that is not
/// negative, neither is `e`. An even number above -2 is not negative.
pub(super) fn above(prover: &Prover, e: &IntExpr) -> Option<IntExpr> {
    let class = ModularSet::of(prover, e);
    let gap = i64::try_from(class.coeff - 1 - class.base).ok()?;
    (class.coeff > 1 && gap > 0).then(|| e + gap)
}

/// What `e >= 0` says beyond itself where `e` is a multiple with an offset: an even number above 0 is at least 2.
pub(super) fn raised(bound: &Fact, multiple: &Fact) -> Option<Fact> {
    let (Fact::NonNegative(e), Fact::Divisible(f, c)) = (bound, multiple) else { return None };
    let offset = match () {
        () if e.terms() == f.terms() => f.constant_term(),
        () if e.terms() == (-f).terms() => f.constant_term().checked_neg()?,
        () => return None,
    };
    let excess = e.constant_term().checked_sub(offset)?.checked_rem_euclid(*c)?;
    (excess > 0 && *c > 0).then(|| Fact::NonNegative(e - excess))
}

/// What is no multiple of two is one less than a multiple of two.
pub(super) fn odd(fact: &Fact) -> Option<Fact> {
    let Fact::NonZero(e) = fact else { return None };
    let ([(monomial, 1 | -1)], 0) = (e.terms(), e.constant_term()) else { return None };
    let (Atom::FloorMod(a, by) | Atom::TruncRem(a, by)) = monomial.single()? else { return None };
    (by.as_const() == Some(2)).then(|| Fact::Divisible(a + 1, 2))
}
