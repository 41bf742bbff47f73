//! Simplification under facts: what facts equate, then the rules.

use super::atom::{Atom, Monomial};
use super::expr::IntExpr;
use super::fact::Fact;
use super::limits;
use super::prover::Prover;
use super::rewrite::{simplified, table};
use super::sym::Sym;

/// An expression of the same value wherever the facts of `prover` hold.
pub(super) fn expr(prover: &Prover, e: &IntExpr) -> IntExpr {
    let current = equalities(prover, e);
    if current.is_plain() {
        return current;
    }
    prover.recall(|it| &mut it.simplified, &current, || simplified(prover, table(), &current))
}

/// Variables that a fact equates with something else give way to it, of which an earlier fact may say more.
pub(super) fn equalities(prover: &Prover, e: &IntExpr) -> IntExpr {
    let mut current = e.clone();
    for _ in 0..limits::EQUALITIES {
        let next = replaced(prover, &current);
        if next == current {
            break;
        }
        current = next;
    }
    current
}

/// The same, each equality looked at once.
fn replaced(prover: &Prover, e: &IntExpr) -> IntExpr {
    let mut current = e.clone();
    let mut vars = None;
    for Equality { sym, value, .. } in prover.equalities().iter().flatten() {
        if vars.get_or_insert_with(|| current.vars()).contains(sym) {
            current = current.substitute(&|it| (it == sym).then(|| value.clone()));
            vars = None;
        }
    }
    current
}

/// A variable that gives way to what a fact equates it with.
#[derive(Clone, Debug)]
pub(super) struct Equality {
    pub(super) sym: Sym,
    pub(super) value: IntExpr,
    /// Whether no fact before names the variable: then none but this one does, and it says nothing of others.
    pub(super) defines: bool,
}

/// The variable that gives way: one that the facts of `prover` say nothing of, as a block's variable that is bound to
/// those of loops, or else the last.
pub(super) fn equality(prover: &Prover, fact: &Fact) -> Option<Equality> {
    let Fact::Zero(zero) = fact else { return None };
    let unit = |(monomial, k): &(Monomial, i64)| match monomial.single() {
        Some(Atom::Var(sym)) if k.abs() == 1 => Some((sym.clone(), *k)),
        Some(_) | None => None,
    };
    let known = |sym: &Sym| prover.facts().iter().any(|fact| fact.vars().contains(sym));
    let all: Vec<(Sym, i64)> = zero.terms().iter().rev().filter_map(unit).collect();
    let fresh = all.iter().find(|(sym, _)| !known(sym));
    let (sym, k) = fresh.or(all.first())?;
    let value = IntExpr::var(sym.clone()) - zero * *k;
    let one = !value.vars().contains(sym);
    one.then(|| Equality { sym: sym.clone(), value, defines: fresh.is_some() })
}
