//! Minima and maxima that are terms of a sum: what holds of both ends, or of one, holds of them. However many are
//! nested, each is looked into once, where a case split would double the cases.

use super::atom::Atom;
use super::expr::IntExpr;
use super::fact::tighten;
use super::prover::Prover;
use super::{bounds, limits, linear, simplify};

/// Whether `e >= 0` follows from the ends of a minimum or maximum in it. The work is not taken from the query's.
pub(super) fn nonnegative(prover: &Prover, e: &IntExpr) -> bool {
    extreme(e).is_some() && ends(&prover.clone(), e, &mut { limits::ENDS })
}

fn ends(prover: &Prover, e: &IntExpr, steps: &mut u32) -> bool {
    let Some((atom, factor)) = extreme(e) else { return false };
    let (Atom::Min(a, b) | Atom::Max(a, b)) = atom else { return false };
    let rest = e - &(atom.clone().into_expr() * factor);
    let mut holds = |end: &IntExpr| under(prover, &(&rest + &(end * &IntExpr::from(factor))), steps);
    let either = matches!(atom, Atom::Max(..)) == (factor > 0);
    if either { holds(a) || holds(b) } else { holds(a) && holds(b) }
}

fn under(prover: &Prover, e: &IntExpr, steps: &mut u32) -> bool {
    if *steps == 0 {
        return false;
    }
    *steps -= 1;
    let e = tighten(&simplify::expr(prover, e));
    match e.as_const() {
        Some(value) => value >= 0,
        None => {
            let apart = extreme(&e).is_some() && ends(prover, &e, steps);
            // Linear arithmetic has work of its own: what looked into the ends before has often spent the rest. Where
            // neither end is enough, both together may be: a minimum is at most half their sum.
            apart || bounds::nonnegative(prover, &e) || linear::nonnegative(&prover.clone(), &e)
        }
    }
}

/// A minimum or maximum that is a term by itself, and its factor.
fn extreme(e: &IntExpr) -> Option<(&Atom, i64)> {
    e.terms().iter().find_map(|(monomial, factor)| match monomial.atoms() {
        [atom @ (Atom::Min(..) | Atom::Max(..))] => Some((atom, *factor)),
        _ => None,
    })
}
