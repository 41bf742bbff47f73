//! Case splits: minimum, maximum, signs of dividends, alternatives, inequalities, small ranges.

use super::atom::Atom;
use super::expr::IntExpr;
use super::fact::{Fact, tighten};
use super::limits;
use super::prover::Prover;
use super::{bounds, linear, simplify};

/// Whether `e >= 0` in every case of the first split that offers itself; `leaves` bounds the work.
pub(super) fn nonnegative(prover: &Prover, e: &IntExpr, leaves: &mut u32) -> bool {
    if let Some((rest, cases)) = of_facts(prover, e) {
        return cases.into_iter().all(|case| under(&rest, case, e, leaves));
    }
    if let Some(case) = of_atoms(e).or_else(|| of_related(prover, e)) {
        return under(prover, case.clone(), e, leaves) && under(prover, case.negate(), e, leaves);
    }
    small_range(prover, e).is_some_and(|(atom, low, high)| {
        (low..=high).all(|value| {
            let case = Fact::Zero(atom.clone() - value);
            under(prover, case, e, leaves)
        })
    })
}

fn under(prover: &Prover, case: Fact, e: &IntExpr, leaves: &mut u32) -> bool {
    if *leaves == 0 {
        return false;
    }
    *leaves -= 1;
    if case.is_false() || prover.facts().contains(&case.negate()) {
        return true;
    }
    let mut inner = prover.fork();
    inner.assume(case);
    let e = tighten(&simplify::expr(&inner, e));
    bounds::nonnegative(&inner, &e) || linear::nonnegative(&inner, &e) || nonnegative(&inner, &e, leaves)
}

/// A stated alternative that shares a variable with `e`, and the prover without it.
fn of_facts(prover: &Prover, e: &IntExpr) -> Option<(Prover, Vec<Fact>)> {
    let vars = e.vars();
    for (at, fact) in prover.facts().iter().enumerate() {
        let cases = match fact {
            Fact::Or(any) => any.clone(),
            Fact::NonZero(e) => vec![Fact::NonNegative(e - 1), Fact::NonNegative(-e - 1)],
            Fact::NonNegative(_) | Fact::Zero(_) | Fact::Divisible(..) | Fact::And(_) => continue,
        };
        if !fact.vars().is_disjoint(&vars) {
            return Some((prover.without(at), cases));
        }
    }
    None
}

/// The condition that decides a minimum, a maximum or a sign in `e`.
fn of_atoms(e: &IntExpr) -> Option<Fact> {
    e.top_atoms().into_iter().find_map(|atom| {
        let (a, b) = atom.operands()?;
        let inner = of_atoms(a).or_else(|| of_atoms(b));
        inner.or_else(|| match atom {
            Atom::Min(a, b) | Atom::Max(a, b) => Some(Fact::le(a, b)),
            Atom::TruncDiv(a, _) | Atom::TruncRem(a, _) => Some(Fact::NonNegative(a.clone())),
            Atom::Var(_) | Atom::FloorDiv(..) | Atom::FloorMod(..) | Atom::Sum(..) | Atom::Product(..) => None,
        })
    })
}

/// The same of facts that bound a variable of `e`, unless they say it already.
fn of_related(prover: &Prover, e: &IntExpr) -> Option<Fact> {
    let vars = e.vars();
    prover.facts().iter().find_map(|fact| {
        let (Fact::NonNegative(row) | Fact::Zero(row)) = fact else { return None };
        let case = of_atoms(row).filter(|_| !fact.vars().is_disjoint(&vars))?;
        let decided = prover.facts().contains(&case) || prover.facts().contains(&case.negate());
        (!decided).then_some(case)
    })
}

/// An atom of `e` that takes few values.
fn small_range(prover: &Prover, e: &IntExpr) -> Option<(IntExpr, i64, i64)> {
    e.top_atoms().into_iter().find_map(|atom| {
        let atom = atom.clone().into_expr();
        let (low, high) = bounds::constants(prover, &atom);
        let (low, high) = (low?, high?);
        (low <= high && high.checked_sub(low)? < limits::SPLIT_RANGE && low != high).then_some((atom, low, high))
    })
}
