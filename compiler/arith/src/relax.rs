//! Takes loop variables out of an expression: what is below and above it wherever they are in their ranges.
//!
//! Variables go innermost first, each on its own, so what cancels between them still cancels. A condition that bounds
//! the same combination of variables as the expression bounds the expression too.

use super::atom::{Atom, Monomial};
use super::domain::{Domain, Range};
use super::expr::IntExpr;
use super::fact::Fact;
use super::interval_set::{IntervalSet, greater, lesser};
use super::prover::Prover;
use super::sym::Sym;

/// Ends, both inclusive.
type Ends = (Option<IntExpr>, Option<IntExpr>);

/// What `e` ranges over; `prover` knows the ranges of `domain`.
pub(super) fn interval(e: &IntExpr, domain: &Domain, prover: &Prover) -> IntervalSet {
    if !domain.binds_any_of(e) {
        return IntervalSet::point(e.clone());
    }
    let e = simplified(e, domain, prover);
    let (mut min, mut max) = (Some(e.clone()), Some(e.clone()));
    for (sym, range) in domain.loops().iter().rev() {
        let range = narrowed(sym, range, domain, prover);
        min = min.and_then(|it| eliminate(&it, sym, &range, prover).0);
        max = max.and_then(|it| eliminate(&it, sym, &range, prover).1);
    }
    let (low, high) = by_conditions(&e, domain, prover);
    let min = best(min, low, |a, b| greater(a, b, prover));
    let max = best(max, high, |a, b| lesser(a, b, prover));
    IntervalSet::Between { min, max }
}

/// The ends of a loop, narrowed by conditions on its variable.
fn narrowed(sym: &Sym, range: &Range, domain: &Domain, prover: &Prover) -> Ends {
    let (low, high) = by_conditions(&IntExpr::var(sym.clone()), domain, prover);
    let min = best(Some(range.min.clone()), low, |a, b| greater(a, b, prover));
    (min, best(Some(range.last()), high, |a, b| lesser(a, b, prover)))
}

/// Divisions that the ranges decide would widen the result.
fn simplified(e: &IntExpr, domain: &Domain, prover: &Prover) -> IntExpr {
    let divides = e.top_atoms().iter().any(|it| it.operands().is_some_and(|(a, _)| domain.binds_any_of(a)));
    if divides { prover.simplify(e) } else { e.clone() }
}

fn best(a: Option<IntExpr>, b: Option<IntExpr>, choose: impl Fn(&IntExpr, &IntExpr) -> IntExpr) -> Option<IntExpr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(choose(&a, &b)),
        (a, b) => a.or(b),
    }
}

/// Below and above `e` wherever `sym` lies between the ends of `range`, without `sym`.
fn eliminate(e: &IntExpr, sym: &Sym, range: &Ends, prover: &Prover) -> Ends {
    let (mut low, mut high) = (Some(IntExpr::constant(e.constant_term())), Some(IntExpr::constant(e.constant_term())));
    let mut factor = IntExpr::constant(0);
    for (monomial, k) in e.terms() {
        let term = IntExpr::from_monomial(monomial.clone(), *k);
        let ends = if !names(&term, sym) {
            (Some(term.clone()), Some(term))
        } else if let Some(rest) = around(monomial, sym) {
            factor = factor + rest * *k;
            continue;
        } else {
            product(monomial, *k, sym, range, prover)
        };
        low = add(low, ends.0);
        high = add(high, ends.1);
    }
    let ends = times(&factor, range.clone(), prover);
    (add(low, ends.0), add(high, ends.1))
}

fn add(a: Option<IntExpr>, b: Option<IntExpr>) -> Option<IntExpr> {
    Some(a? + b?)
}

fn names(e: &IntExpr, sym: &Sym) -> bool {
    e.vars().contains(sym)
}

/// What `sym` is multiplied by, if it stands in the monomial once and nowhere deeper.
fn around(monomial: &Monomial, sym: &Sym) -> Option<IntExpr> {
    let rest = monomial.without(&Atom::Var(sym.clone()))?;
    let rest = rest.map_or(IntExpr::constant(1), |it| IntExpr::from_monomial(it, 1));
    (!names(&rest, sym)).then_some(rest)
}

/// `factor` times a value between `ends`.
fn times(factor: &IntExpr, ends: Ends, prover: &Prover) -> Ends {
    let scaled = |end: Option<IntExpr>| end.map(|it| factor * it);
    if factor.is_zero() {
        (Some(0.into()), Some(0.into()))
    } else if prover.prove_ge0(factor) {
        (scaled(ends.0), scaled(ends.1))
    } else if prover.prove_ge0(&-factor) {
        (scaled(ends.1), scaled(ends.0))
    } else {
        (None, None)
    }
}

/// A term of which `sym` is in a power or inside of an atom.
fn product(monomial: &Monomial, k: i64, sym: &Sym, range: &Ends, prover: &Prover) -> Ends {
    let mut fixed = IntExpr::constant(k);
    let mut ends: Option<Ends> = None;
    for atom in monomial.atoms() {
        let it = atom.clone().into_expr();
        if !names(&it, sym) {
            fixed = fixed * it;
            continue;
        }
        let next = of_atom(atom, sym, range, prover);
        ends = Some(match ends {
            None => next,
            Some(before) => times_nonnegative(before, next, prover),
        });
    }
    times(&fixed, ends.unwrap_or((None, None)), prover)
}

/// The product of two values that are not negative; of others nothing is said.
fn times_nonnegative(a: Ends, b: Ends, prover: &Prover) -> Ends {
    let ((Some(a), a_high), (Some(b), b_high)) = (a, b) else { return (None, None) };
    if !(prover.prove_ge0(&a) && prover.prove_ge0(&b)) {
        return (None, None);
    }
    (Some(a * b), a_high.zip(b_high).map(|(a, b)| a * b))
}

fn of_atom(atom: &Atom, sym: &Sym, range: &Ends, prover: &Prover) -> Ends {
    let Some((a, b)) = atom.operands() else { return range.clone() };
    let left = eliminate(a, sym, range, prover);
    let both = |join: fn(&IntExpr, &IntExpr) -> IntExpr| {
        let right = eliminate(b, sym, range, prover);
        let join = |x: &Option<IntExpr>, y: &Option<IntExpr>| Some(join(x.as_ref()?, y.as_ref()?));
        (join(&left.0, &right.0), join(&left.1, &right.1))
    };
    match atom {
        Atom::Var(_) => (None, None),
        Atom::Min(..) => both(IntExpr::minimum),
        Atom::Max(..) => both(IntExpr::maximum),
        Atom::Sum(..) => both(|a, b| a + b),
        Atom::Product(..) => times_nonnegative(left, eliminate(b, sym, range, prover), prover),
        Atom::FloorDiv(..) | Atom::FloorMod(..) | Atom::TruncDiv(..) | Atom::TruncRem(..) => {
            if names(b, sym) || !prover.prove_ge0(&(b - 1)) {
                return (None, None);
            }
            divided(atom, left, b, prover)
        }
    }
}

/// A quotient or remainder of a value between `ends` by `b`, which is positive.
fn divided(atom: &Atom, ends: Ends, b: &IntExpr, prover: &Prover) -> Ends {
    let each = |f: fn(&IntExpr, &IntExpr) -> IntExpr| {
        let end = |it: &Option<IntExpr>| it.as_ref().map(|it| f(it, b));
        (end(&ends.0), end(&ends.1))
    };
    let nonnegative = ends.0.as_ref().is_some_and(|low| prover.prove_ge0(low));
    match atom {
        Atom::FloorDiv(..) => each(IntExpr::floor_div),
        Atom::TruncDiv(..) if nonnegative => each(IntExpr::floor_div),
        Atom::TruncDiv(..) => each(IntExpr::trunc_div),
        Atom::FloorMod(..) => remainder(ends, b, nonnegative, prover),
        Atom::TruncRem(..) if nonnegative => remainder(ends, b, nonnegative, prover),
        Atom::TruncRem(..) => (Some(-(b - 1)), Some(b - 1)),
        Atom::Var(_) | Atom::Min(..) | Atom::Max(..) | Atom::Sum(..) | Atom::Product(..) => (None, None),
    }
}

/// Within one period a remainder rises with its dividend.
fn remainder(ends: Ends, b: &IntExpr, nonnegative: bool, prover: &Prover) -> Ends {
    if let (Some(low), Some(high)) = &ends {
        let period = prover.simplify(&low.floor_div(b));
        if prover.prove_eq(&period, &high.floor_div(b)) {
            let start = period * b;
            return (Some(low - &start), Some(high - start));
        }
    }
    let high = ends.1.filter(|_| nonnegative).map_or(b - 1, |high| lesser(&high, &(b - 1), prover));
    (Some(0.into()), Some(high))
}

/// Ends that facts give which bound a multiple of the same combination of variables.
fn by_conditions(e: &IntExpr, domain: &Domain, prover: &Prover) -> Ends {
    let (mut low, mut high) = (None, None);
    for fact in prover.facts() {
        let rows = match fact {
            Fact::NonNegative(row) => vec![row.clone()],
            Fact::Zero(row) => vec![row.clone(), -row],
            Fact::NonZero(_) | Fact::Divisible(..) | Fact::And(_) | Fact::Or(_) => continue,
        };
        for row in rows {
            let Some(k) = ratio(e, &row, domain) else { continue };
            let end = e - &row * k;
            if k == 0 || domain.binds_any_of(&end) {
                continue;
            }
            if k > 0 {
                low = best(low, Some(end), |a, b| greater(a, b, prover));
            } else {
                high = best(high, Some(end), |a, b| lesser(a, b, prover));
            }
        }
    }
    (low, high)
}

/// `k` for which `e - k*row` may be free of the loops' variables.
fn ratio(e: &IntExpr, row: &IntExpr, domain: &Domain) -> Option<i64> {
    let bound = |m: &Monomial| domain.binds_any_of(&IntExpr::from_monomial(m.clone(), 1));
    let (monomial, k) = row.terms().iter().find(|(m, _)| bound(m))?;
    let (_, of) = e.terms().iter().find(|(m, _)| m == monomial)?;
    (of.checked_rem(*k)? == 0).then(|| of / k)
}
