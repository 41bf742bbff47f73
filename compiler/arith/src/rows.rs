//! The rows of a linear problem: expressions that the facts and the meaning of atoms make non-negative.

use super::atom::{Atom, Monomial};
use super::bounds;
use super::expr::IntExpr;
use super::fact::{Fact, tighten};
use super::limits;
use super::prover::Prover;
use super::sym::Sym;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Whether a fact is false by itself.
pub(super) fn contradictory(prover: &Prover) -> bool {
    prover.facts().iter().any(Fact::is_false)
}

/// The inequalities a fact states by itself.
fn of_fact(fact: &Fact, out: &mut Vec<IntExpr>) {
    match fact {
        Fact::NonNegative(e) => out.push(e.clone()),
        Fact::Zero(e) => out.extend([e.clone(), -e]),
        Fact::NonZero(_) | Fact::Divisible(..) | Fact::And(_) | Fact::Or(_) => {}
    }
}

/// The inequalities of the facts that name `atom` outside of other atoms, then those of its meaning.
pub(super) fn of_atom(prover: &Prover, atom: &Atom, fuel: &mut u32) -> Vec<IntExpr> {
    let mut out = Vec::new();
    for (fact, equality) in prover.facts().iter().zip(prover.equalities()) {
        let (Fact::NonNegative(e) | Fact::Zero(e)) = fact else { continue };
        // What else is known of a variable was said of its value, and a way through it leads back.
        if equality.as_ref().is_some_and(|it| it.defines && !is_var(atom, &it.sym)) {
            continue;
        }
        if e.terms().iter().any(|(m, _)| m.atoms().contains(atom)) {
            of_fact(fact, &mut out);
        }
    }
    meaning(prover, atom, fuel, &mut out);
    tightest(out)
}

fn is_var(atom: &Atom, sym: &Sym) -> bool {
    matches!(atom, Atom::Var(it) if it == sym)
}

/// The rows but those of which a later one is a higher bound of the same sum: few rows of an atom are tried.
fn tightest(rows: Vec<IntExpr>) -> Vec<IntExpr> {
    let mut out: Vec<IntExpr> = Vec::with_capacity(rows.len());
    for row in rows {
        out.retain(|it| it.terms() != row.terms() || it.constant_term() < row.constant_term());
        out.push(row);
    }
    out
}

/// What holds of an atom because of what it is.
fn meaning(prover: &Prover, atom: &Atom, fuel: &mut u32, out: &mut Vec<IntExpr>) {
    let it = atom.clone().into_expr();
    match atom {
        Atom::Var(_) | Atom::Sum(..) | Atom::Product(..) => {}
        Atom::FloorDiv(a, b) => {
            let left = a - b * &it;
            let both = bounds::nonnegative_within(prover, a, fuel) && bounds::nonnegative_within(prover, b, fuel);
            if positive(prover, b, fuel) {
                out.extend([b - 1 - &left, left.clone()]);
            } else if both {
                // By zero the quotient is zero, which leaves the dividend.
                out.push(left.clone());
            }
            if both && b.as_const().is_none() {
                out.extend([it.clone(), a - &it]);
            }
            let exact = exact(prover, a, b);
            if exact {
                out.extend([-&left, left]);
            }
            if let Some(c) = b.as_const().filter(|c| *c > 0) {
                constant_range(prover, a, c, exact, &it, fuel, out);
            }
        }
        Atom::FloorMod(a, b) => {
            if !positive(prover, b, fuel) {
                return;
            }
            let whole = b * a.floor_div(b) + &it - a;
            out.extend([it.clone(), b - 1 - &it, -&whole, whole]);
            if bounds::sign_within(prover, a, fuel) {
                out.push(a - it);
            }
        }
        Atom::TruncDiv(a, b) => {
            if bounds::nonnegative_within(prover, a, fuel) && bounds::nonnegative_within(prover, b, fuel) {
                same(prover, &it, &a.floor_div(b), fuel, out);
            } else if b.as_const().is_some_and(|c| c > 0) {
                let left = a - b * it;
                out.extend([b - 1 - &left, left + b - 1]);
            }
        }
        Atom::TruncRem(a, b) => {
            if bounds::nonnegative_within(prover, a, fuel) && bounds::nonnegative_within(prover, b, fuel) {
                same(prover, &it, &a.floor_mod(b), fuel, out);
            } else if b.as_const().is_some_and(|c| c > 0) {
                let whole = b * a.trunc_div(b) + &it - a;
                out.extend([b - 1 - &it, b - 1 + &it, -&whole, whole]);
            }
        }
        Atom::Min(a, b) => out.extend([a - &it, b - &it]),
        Atom::Max(a, b) => out.extend([&it - a, &it - b]),
    }
}

/// Constant bounds of the quotient `it` of `a` by `c`: division makes them integers, which linear arithmetic does not.
fn constant_range(
    prover: &Prover,
    a: &IntExpr,
    c: i64,
    exact: bool,
    it: &IntExpr,
    fuel: &mut u32,
    out: &mut Vec<IntExpr>,
) {
    let mut part = *fuel / 8;
    *fuel -= part;
    let low = bounds::lower_within(prover, a, &mut part).as_const();
    // Where facts name the quotient itself, the one path may go in a circle.
    if let Some(low) = low.or_else(|| asked(prover, a, &mut part).then_some(0)) {
        let least = low.div_euclid(c) + i64::from(exact && low.rem_euclid(c) != 0);
        // One path takes the first of bounds that do not compare, so the next quotient is asked for outright.
        let next = least.checked_add(1).and_then(|next| Some((next, next.checked_mul(c)?)));
        let next = next.filter(|(_, whole)| asked(prover, &(a - *whole), &mut part));
        out.push(it - next.map_or(least, |(next, _)| next));
    }
    if let Some(high) = bounds::lower_within(prover, &-a, &mut part).as_const().and_then(i64::checked_neg) {
        out.push(IntExpr::constant(high.div_euclid(c)) - it);
    }
    *fuel += part;
}

/// Whether `e >= 0` is found within few of the steps that are left.
fn asked(prover: &Prover, e: &IntExpr, fuel: &mut u32) -> bool {
    let mut few = limits::ASKED.min(*fuel);
    *fuel -= few;
    let found = bounds::nonnegative_within(prover, e, &mut few);
    *fuel += few;
    found
}

/// What holds of `floor`, said of `it`, which is equal to it; and that they are equal.
fn same(prover: &Prover, it: &IntExpr, floor: &IntExpr, fuel: &mut u32, out: &mut Vec<IntExpr>) {
    if let Some(atom) = floor.as_atom() {
        let mut rows = Vec::new();
        meaning(prover, atom, fuel, &mut rows);
        out.extend(
            rows.iter()
                .map(|row| row.map_atoms(&mut |of| if of == atom { it.clone() } else { of.clone().into_expr() })),
        );
    }
    out.extend([it - floor, floor - it]);
}

/// Whether `b` divides `a` without rest.
fn exact(prover: &Prover, a: &IntExpr, b: &IntExpr) -> bool {
    match b.as_const() {
        Some(c) => super::congruence::divisible(prover, a, c),
        None => prover.facts().contains(&Fact::Zero(a.floor_mod(b))),
    }
}

fn positive(prover: &Prover, e: &IntExpr, fuel: &mut u32) -> bool {
    match e.as_const() {
        Some(value) => value > 0,
        None => bounds::sign_within(prover, &(e - 1), fuel),
    }
}

/// The rows that bear on `goal`; `refute` adds that it is negative.
pub(super) fn collect(prover: &Prover, goal: &IntExpr, refute: bool) -> Vec<IntExpr> {
    let mut rows = Rows { all: Vec::new(), seen: BTreeSet::new() };
    let mut fuel = limits::BOUND_STEPS;
    let mut queue: VecDeque<Atom> = goal.top_atoms().into_iter().cloned().collect();
    let mut known: BTreeSet<Atom> = queue.iter().cloned().collect();
    if refute && !goal.terms().is_empty() {
        rows.push(-goal - 1);
    }
    if goal.terms().is_empty() {
        let mut all = Vec::new();
        prover.facts().iter().for_each(|fact| of_fact(fact, &mut all));
        for atom in all.iter().flat_map(IntExpr::top_atoms) {
            if known.insert(atom.clone()) {
                queue.push_back(atom.clone());
            }
        }
    }
    while let Some(atom) = queue.pop_front() {
        let multiples = prover.facts().iter().filter_map(|fact| match fact {
            Fact::Divisible(e, c) if *c > 0 && e.top_atoms().contains(&atom) => {
                Some(e - e.floor_div(&(*c).into()) * *c)
            }
            Fact::NonNegative(_)
            | Fact::Zero(_)
            | Fact::NonZero(_)
            | Fact::Divisible(..)
            | Fact::And(_)
            | Fact::Or(_) => None,
        });
        let multiples: Vec<IntExpr> = multiples.flat_map(|rest| [-&rest, rest]).collect();
        for row in of_atom(prover, &atom, &mut fuel).into_iter().chain(multiples) {
            if rows.all.len() >= limits::ROWS * 2 / 3 {
                break;
            }
            for atom in row.top_atoms() {
                if known.insert(atom.clone()) {
                    queue.push_back(atom.clone());
                }
            }
            rows.push(row);
        }
    }
    products(prover, goal, &mut rows, &mut fuel);
    rows.all
}

struct Rows {
    all: Vec<IntExpr>,
    seen: BTreeSet<IntExpr>,
}

impl Rows {
    fn push(&mut self, row: IntExpr) -> bool {
        let row = tighten(&row);
        let new = self.all.len() < limits::ROWS && self.seen.insert(row.clone());
        if new {
            self.all.push(row);
        }
        new
    }
}

/// Rows times non-negative factors, as the products in `goal` and in the rows ask for.
fn products(prover: &Prover, goal: &IntExpr, rows: &mut Rows, fuel: &mut u32) {
    let base = rows.all.clone();
    let nonlinear = |e: &IntExpr| {
        let products = e.terms().iter().filter(|(m, _)| m.degree() > 1);
        products.map(|(m, _)| m.clone()).collect::<Vec<_>>()
    };
    let mut queue: VecDeque<Monomial> = nonlinear(goal).into();
    base.iter().for_each(|row| queue.extend(nonlinear(row)));
    let mut known = BTreeSet::new();
    let mut signs = BTreeMap::new();
    while let Some(monomial) = queue.pop_front() {
        if rows.all.len() >= limits::ROWS || !known.insert(monomial.clone()) {
            continue;
        }
        for atom in monomial.atoms().iter().collect::<BTreeSet<_>>() {
            let Some(Some(rest)) = monomial.without(atom) else { continue };
            if !rest.atoms().iter().all(|it| nonnegative_atom(prover, it, &mut signs, fuel)) {
                continue;
            }
            let factor = IntExpr::from_monomial(rest, 1);
            for row in base.iter().filter(|row| coefficient(row, atom).is_some()) {
                let Some(product) = row.try_product(&factor) else { continue };
                queue.extend(nonlinear(&product));
                rows.push(product);
            }
        }
    }
}

fn nonnegative_atom(prover: &Prover, atom: &Atom, signs: &mut BTreeMap<Atom, bool>, fuel: &mut u32) -> bool {
    if let Some(sign) = signs.get(atom) {
        return *sign;
    }
    let sign = bounds::nonnegative_within(prover, &atom.clone().into_expr(), fuel);
    signs.insert(atom.clone(), sign);
    sign
}

/// The coefficient of `atom` where it is a term by itself and occurs in no other.
pub(super) fn coefficient(row: &IntExpr, atom: &Atom) -> Option<i64> {
    let mut found = None;
    for (monomial, coefficient) in row.terms() {
        if monomial.single() == Some(atom) {
            found = Some(*coefficient);
        } else if monomial.atoms().contains(atom) {
            return None;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sym;

    #[test]
    fn of_rows_of_one_sum_the_tightest_stays() {
        let (x, y) = (IntExpr::var(Sym::new("x")), IntExpr::var(Sym::new("y")));
        assert_eq!(tightest(vec![&x - 2, y.clone(), x.clone()]), [&x - 2, y.clone(), x.clone()]);
        assert_eq!(tightest(vec![x.clone(), y.clone(), &x - 2]), [y, &x - 2]);
    }
}
