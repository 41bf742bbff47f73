//! What applies the rules: reads the table once, finds rows by the operation at their head, and takes an expression
//! from the inside out until no row applies or the work is spent. It knows no rule.

mod matching;
mod pattern;
mod table;

use std::collections::HashMap;
use std::sync::OnceLock;

use super::atom::Atom;
use super::expr::IntExpr;
use super::fact::Fact;
use super::modular_set::ModularSet;
use super::prover::Prover;
use super::rules::{Find, RULES};
use super::{bounds, congruence, eval, limits, linear, points};
use matching::{Caught, atom_fits, sum_fits};
#[cfg(test)]
pub(super) use pattern::is_constant;
use pattern::{Head, Part};
pub(super) use table::Table;
use table::{Form, Row};

/// The table of all rules.
pub(super) fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::read(RULES))
}

/// `e` by the rules of a table, whose conditions are proven from the facts of `prover`.
pub(super) fn simplified(prover: &Prover, table: &Table, e: &IntExpr) -> IntExpr {
    let (rewrites, proofs) = (limits::REWRITES, limits::PROOFS);
    Work { prover, table, rewrites, proofs, held: HashMap::new(), done: HashMap::new() }.expr(e)
}

/// One call: what was proven and what was made in it holds until its end.
struct Work<'p> {
    prover: &'p Prover,
    table: &'p Table,
    /// Rows that may still be applied.
    rewrites: u32,
    /// Conditions that may still be looked at.
    proofs: u32,
    held: HashMap<Fact, bool>,
    done: HashMap<IntExpr, IntExpr>,
}

impl Work<'_> {
    fn expr(&mut self, e: &IntExpr) -> IntExpr {
        if e.is_plain() {
            return e.clone();
        }
        if let Some(known) = self.done.get(e) {
            return known.clone();
        }
        if !self.prover.spend(e.size() as usize) {
            return e.clone();
        }
        let inside = e.map_operations(&mut |atom| self.atom(atom));
        let made = self.sum(inside);
        self.done.insert(e.clone(), made.clone());
        made
    }

    /// Operands first; what the constructors make of them has heads of its own.
    fn atom(&mut self, atom: &Atom) -> IntExpr {
        let Some((a, b)) = atom.operands() else { return atom.clone().into_expr() };
        let (a, b) = (self.expr(a), self.expr(b));
        let whole = atom.with_operands(&a, &b);
        whole.map_operations(&mut |atom| self.head(atom))
    }

    /// The first row that applies; what it gives is simplified in turn.
    fn head(&mut self, atom: &Atom) -> IntExpr {
        let rows = Head::of(atom).map_or(&[][..], |head| self.table.of(head));
        let made = rows.iter().find_map(|row| self.at_atom(row, atom));
        match made {
            Some(made) => self.expr(&made),
            None => atom.clone().into_expr(),
        }
    }

    fn at_atom(&mut self, row: &Row, atom: &Atom) -> Option<IntExpr> {
        let Form::Atom(operation) = &row.form else { return None };
        let mut made = None;
        atom_fits(operation, atom, &mut row.nothing(), &mut |caught| {
            made = self.result(row, caught);
            made.is_some()
        });
        made
    }

    /// Rows about several terms, or about one in front of the others.
    fn sum(&mut self, e: IntExpr) -> IntExpr {
        if e.terms().len() > limits::MONOMIALS {
            return e;
        }
        let heads = e.heads();
        let rows = self.table.sums().iter().filter(|row| row.heads & heads == row.heads);
        match rows.into_iter().find_map(|row| self.in_sum(row, &e)) {
            Some(made) => self.expr(&made),
            None => e,
        }
    }

    /// Where a term has the head of a row's first part, what is left of it is a factor of all that the row is about.
    fn in_sum(&mut self, row: &Row, e: &IntExpr) -> Option<IntExpr> {
        let Form::Sum(parts) = &row.form else { return None };
        let Some(Part::Operation(_, factor, anchor)) = parts.first() else { return None };
        for (monomial, k) in e.terms() {
            for atom in monomial.atoms().iter().filter(|atom| Head::of(atom) == Some(anchor.head)) {
                let unit = if factor.is_some() { 1 } else { *k };
                let Some(left) = monomial.without(atom) else { continue };
                let scale = left.map_or(IntExpr::constant(unit), |left| IntExpr::from_monomial(left, unit));
                let inner = e.exact_part(&scale);
                let (outer, mut made) = (e - &scale * &inner, None);
                sum_fits(parts, &inner, &mut row.nothing(), &mut |caught| {
                    let whole = self.result(row, caught).map(|to| &outer + &scale * to);
                    made = whole.filter(|made| !row.shorter || made.size() < e.size());
                    made.is_some()
                });
                if made.is_some() {
                    return made;
                }
            }
        }
        None
    }

    /// What a row makes of what its names stand for, if all conditions hold.
    fn result(&mut self, row: &Row, caught: &mut Caught) -> Option<IntExpr> {
        if self.rewrites == 0 || !self.find(row, caught) {
            return None;
        }
        if !row.when.iter().all(|fact| self.holds(&fact.substitute(&|sym| row.value(sym, caught)))) {
            return None;
        }
        self.rewrites -= 1;
        let to = row.to.substitute(&|sym| row.value(sym, caught));
        Some(match row.rest.and_then(|hole| caught[hole].as_ref()) {
            Some(rest) => to + rest,
            None => to,
        })
    }

    /// Finds the constant that no part of the pattern is.
    fn find(&mut self, row: &Row, caught: &mut Caught) -> bool {
        let Some((x, by, hole)) = row.found else { return true };
        let (Some(x), Some(c)) = (caught[x].clone(), caught[by].as_ref().and_then(IntExpr::as_const)) else {
            return false;
        };
        let value = match row.find {
            Find::Nothing => None,
            Find::Residue => ModularSet::of(self.prover, &x).remainder(c),
            Find::Quotient => self.quotient(&x, c),
        };
        caught[hole] = value.map(IntExpr::constant);
        value.is_some()
    }

    /// The quotient by `c`, if it is the same of the least and the greatest value.
    fn quotient(&mut self, x: &IntExpr, c: i64) -> Option<i64> {
        self.proofs = self.proofs.checked_sub(1).filter(|_| c > 0)?;
        let low = linear::lower_bound(self.prover, x).and_then(|it| eval::floor_div(it, c))?;
        let high = linear::lower_bound(self.prover, &-x).and_then(i64::checked_neg)?;
        (eval::floor_div(high, c) == Some(low)).then_some(low)
    }

    fn holds(&mut self, fact: &Fact) -> bool {
        if let Some(known) = ground(fact) {
            return known;
        }
        if let Some(known) = self.held.get(fact) {
            return *known;
        }
        if self.proofs == 0 {
            return false;
        }
        self.proofs -= 1;
        let holds = self.proven(fact);
        self.held.insert(fact.clone(), holds);
        holds
    }

    fn proven(&self, fact: &Fact) -> bool {
        let prover = self.prover;
        if prover.facts().contains(fact) {
            return true;
        }
        match fact {
            Fact::NonNegative(e) => decide(prover, e),
            Fact::Zero(e) => e.is_zero(),
            Fact::NonZero(e) => congruence::nonzero(prover, e) || decide(prover, &(e - 1)) || decide(prover, &(-e - 1)),
            Fact::Divisible(e, c) => congruence::divisible(prover, e, *c),
            Fact::And(all) => all.iter().all(|fact| self.proven(fact)),
            Fact::Or(any) => any.iter().any(|fact| self.proven(fact)),
        }
    }
}

/// What a condition on constants is.
fn ground(fact: &Fact) -> Option<bool> {
    match fact {
        Fact::NonNegative(e) => e.as_const().map(|value| value >= 0),
        Fact::Zero(e) => e.as_const().map(|value| value == 0),
        Fact::NonZero(e) => e.as_const().map(|value| value != 0),
        Fact::Divisible(e, c) => eval::floor_mod(e.as_const()?, *c).map(|rest| rest == 0),
        Fact::And(_) | Fact::Or(_) => None,
    }
}

/// Conditions are asked for wherever a pattern fits, and most of them do not hold.
fn decide(prover: &Prover, e: &IntExpr) -> bool {
    !points::negative(prover, e)
        && (bounds::nonnegative_within(prover, e, &mut { limits::BOUND_STEPS / 2 }) || linear::nonnegative(prover, e))
}

impl Atom {
    /// The same operation on other operands, as its constructor makes it.
    fn with_operands(&self, a: &IntExpr, b: &IntExpr) -> IntExpr {
        match self {
            Atom::Var(_) => self.clone().into_expr(),
            Atom::FloorDiv(..) => a.floor_div(b),
            Atom::FloorMod(..) => a.floor_mod(b),
            Atom::TruncDiv(..) => a.trunc_div(b),
            Atom::TruncRem(..) => a.trunc_rem(b),
            Atom::Min(..) => a.minimum(b),
            Atom::Max(..) => a.maximum(b),
            Atom::Sum(..) => a + b,
            Atom::Product(..) => a * b,
        }
    }
}

impl IntExpr {
    /// Whether all atoms are variables.
    pub(super) fn is_plain(&self) -> bool {
        self.terms().iter().all(|(monomial, _)| monomial.atoms().iter().all(|atom| atom.operands().is_none()))
    }

    /// Which operations stand at the top, a bit each.
    fn heads(&self) -> u8 {
        let atoms = self.terms().iter().flat_map(|(monomial, _)| monomial.atoms());
        atoms.filter_map(Head::of).fold(0, |all, head| all | head.bit())
    }

    /// The polynomial with each atom at its top that is no variable replaced.
    fn map_operations(&self, map: &mut impl FnMut(&Atom) -> IntExpr) -> IntExpr {
        let plain = |atom: &Atom| atom.operands().is_none();
        let (kept, others): (Vec<_>, Vec<_>) =
            self.terms().iter().partition(|(monomial, _)| monomial.atoms().iter().all(plain));
        let mut sum = IntExpr::from_terms(kept.into_iter().cloned().collect(), self.constant_term());
        for (monomial, k) in others {
            let factors = monomial.atoms().iter();
            let each = |atom: &Atom| if plain(atom) { atom.clone().into_expr() } else { map(atom) };
            sum = sum + factors.map(each).fold(IntExpr::constant(*k), |product, factor| product * factor);
        }
        sum
    }
}
