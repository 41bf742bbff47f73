//! Case splits: minimum, maximum, signs of dividends, alternatives, inequalities, small ranges.

use std::collections::BTreeSet;

use super::atom::Atom;
use super::expr::IntExpr;
use super::fact::{Fact, tighten};
use super::limits;
use super::prover::Prover;
use super::sym::Sym;
use super::{bounds, linear, simplify};

/// Whether `e >= 0` in every case of the first split that offers itself; `leaves` bounds the work.
pub(super) fn nonnegative(prover: &Prover, e: &IntExpr, leaves: &mut u32) -> bool {
    if let Some((rest, cases)) = of_facts(prover, e, false) {
        return cases.into_iter().all(|case| under(&rest, case, e, leaves));
    }
    if let Some(case) = of_atoms(e).or_else(|| of_related(prover, e)) {
        return under(prover, case.clone(), e, leaves) && under(prover, case.negate(), e, leaves);
    }
    if let Some((atom, low, high)) = small_range(prover, e) {
        return (low..=high).all(|value| {
            let case = Fact::Zero(atom.clone() - value);
            under(prover, case, e, leaves)
        });
    }
    of_facts(prover, e, true).is_some_and(|(rest, cases)| cases.into_iter().all(|case| under(&rest, case, e, leaves)))
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

/// A stated alternative that shares a variable with `e`, and the prover without it; one that stands `aside` or another one.
fn of_facts(prover: &Prover, e: &IntExpr, aside: bool) -> Option<(Prover, Vec<Fact>)> {
    let vars = e.vars();
    for (at, fact) in prover.facts().iter().enumerate() {
        let cases = match fact {
            Fact::Or(any) => any.clone(),
            Fact::NonZero(e) => vec![Fact::NonNegative(e - 1), Fact::NonNegative(-e - 1)],
            Fact::NonNegative(_) | Fact::Zero(_) | Fact::Divisible(..) | Fact::And(_) => continue,
        };
        if !fact.vars().is_disjoint(&vars) && stands_aside(prover, at, &vars) == aside {
            return Some((prover.without(at), cases));
        }
    }
    None
}

/// Whether alternatives say something of a variable that nothing else links with these, as the two values of a choice do:
/// they seldom say anything of the others.
fn stands_aside(prover: &Prover, at: usize, vars: &BTreeSet<Sym>) -> bool {
    let fact = &prover.facts()[at];
    let links = |own: &Sym| {
        let mut others = prover.facts().iter().enumerate().filter(|(n, other)| *n != at && other.vars().contains(own));
        others.any(|(_, other)| !other.vars().is_disjoint(vars))
    };
    matches!(fact, Fact::Or(_)) && fact.vars().iter().any(|own| !vars.contains(own) && !links(own))
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
