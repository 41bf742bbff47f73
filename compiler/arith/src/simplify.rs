//! Simplification under facts: what facts equate, then the rules.

use super::atom::Atom;
use super::expr::IntExpr;
use super::fact::Fact;
use super::limits;
use super::prover::Prover;
use super::rewrite::{simplified, table};

/// An expression of the same value wherever the facts of `prover` hold.
pub(super) fn expr(prover: &Prover, e: &IntExpr) -> IntExpr {
    let current = equalities(prover, e);
    if current.is_plain() {
        return current;
    }
    prover.recall(|it| &mut it.simplified, &current, || simplified(prover, table(), &current))
}

/// Variables that a fact equates with something else give way to it, of which an earlier fact may say more.
fn equalities(prover: &Prover, e: &IntExpr) -> IntExpr {
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

/// The same, each fact looked at once.
fn replaced(prover: &Prover, e: &IntExpr) -> IntExpr {
    let mut current = e.clone();
    let mut vars = None;
    for fact in prover.facts() {
        let Fact::Zero(zero) = fact else { continue };
        let Some((sym, k)) = zero.terms().iter().rev().find_map(|(monomial, k)| match monomial.single() {
            Some(Atom::Var(sym)) if k.abs() == 1 => Some((sym, *k)),
            Some(_) | None => None,
        }) else {
            continue;
        };
        if !vars.get_or_insert_with(|| current.vars()).contains(sym) {
            continue;
        }
        let value = IntExpr::var(sym.clone()) - zero * k;
        if !value.vars().contains(sym) {
            current = current.substitute(&|it| (it == sym).then(|| value.clone()));
            vars = None;
        }
    }
    current
}
