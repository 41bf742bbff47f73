//! Simplification under facts. The rules are listed in `rules`, which the tests check by value and by form.

use super::atom::Atom;
use super::expr::IntExpr;
use super::fact::Fact;
use super::modular_set::ModularSet;
use super::prover::Prover;
use super::{bounds, congruence, eval, limits, linear};

/// An expression of the same value wherever the facts of `prover` hold.
pub(super) fn expr(prover: &Prover, e: &IntExpr) -> IntExpr {
    let mut current = equalities(prover, e);
    if current.top_atoms().iter().all(|it| it.operands().is_none()) {
        return current;
    }
    current = current.map_atoms(&mut |it| atom(prover, it));
    recombine(prover, &current)
}

/// Variables that a fact equates with something else give way to it.
fn equalities(prover: &Prover, e: &IntExpr) -> IntExpr {
    let mut current = e.clone();
    for fact in prover.facts() {
        let Fact::Zero(zero) = fact else { continue };
        let Some((sym, k)) = zero.terms().iter().rev().find_map(|(monomial, k)| match monomial.single() {
            Some(Atom::Var(sym)) if k.abs() == 1 => Some((sym, *k)),
            Some(_) | None => None,
        }) else {
            continue;
        };
        let value = IntExpr::var(sym.clone()) - zero * k;
        if !value.vars().contains(sym) && current.vars().contains(sym) {
            current = current.substitute(&|it| (it == sym).then(|| value.clone()));
        }
    }
    current
}

fn atom(prover: &Prover, it: &Atom) -> IntExpr {
    let Some((a, b)) = it.operands() else { return it.clone().into_expr() };
    let (a, b) = (expr(prover, a), expr(prover, b));
    match it {
        Atom::Var(_) => it.clone().into_expr(),
        Atom::FloorDiv(..) => floor_div(prover, &a, &b),
        Atom::FloorMod(..) => floor_mod(prover, &a, &b),
        Atom::TruncDiv(..) => match signs(prover, &a, &b) {
            Some(true) => floor_div(prover, &a, &b),
            Some(false) => -floor_div(prover, &-a, &b),
            None => a.trunc_div(&b),
        },
        Atom::TruncRem(..) => match signs(prover, &a, &b) {
            Some(true) => floor_mod(prover, &a, &b),
            Some(false) => -floor_mod(prover, &-a, &b),
            None => a.trunc_rem(&b),
        },
        Atom::Min(..) if decide(prover, &(&b - &a)) => a,
        Atom::Min(..) if decide(prover, &(&a - &b)) => b,
        Atom::Min(..) => a.minimum(&b),
        Atom::Max(..) if decide(prover, &(&b - &a)) => b,
        Atom::Max(..) if decide(prover, &(&a - &b)) => a,
        Atom::Max(..) => a.maximum(&b),
        Atom::Sum(..) => a + b,
        Atom::Product(..) => a * b,
    }
}

/// Whether the dividend is `>= 0` (true) or `<= 0` (false), with a divisor `>= 0`.
fn signs(prover: &Prover, a: &IntExpr, b: &IntExpr) -> Option<bool> {
    if !decide(prover, b) {
        None
    } else if decide(prover, a) {
        Some(true)
    } else if decide(prover, &-a) {
        Some(false)
    } else {
        None
    }
}

fn decide(prover: &Prover, e: &IntExpr) -> bool {
    match e.as_const() {
        Some(value) => value >= 0,
        None => {
            bounds::nonnegative_within(prover, e, &mut { limits::BOUND_STEPS / 2 }) || linear::nonnegative(prover, e)
        }
    }
}

fn floor_div(prover: &Prover, a: &IntExpr, b: &IntExpr) -> IntExpr {
    let whole = a.floor_div(b);
    let Some(Atom::FloorDiv(..)) = last_division(&whole, b) else { return whole };
    match divide(prover, a, b) {
        Some((quotient, None)) => quotient,
        Some((quotient, Some(rest))) => quotient + rest.floor_div(b),
        None => whole,
    }
}

/// Any division by `b` at the top of `e`; without one the constructor has done all there is to do.
fn last_division<'a>(e: &'a IntExpr, b: &IntExpr) -> Option<&'a Atom> {
    let all = e.top_atoms();
    all.into_iter().find(|it| matches!(it, Atom::FloorDiv(_, by) if by == b || b.as_const().is_some()))
}

fn floor_mod(prover: &Prover, a: &IntExpr, b: &IntExpr) -> IntExpr {
    if b.as_const().is_some_and(|c| c > 0 && congruence::divisible(prover, a, c)) {
        return IntExpr::constant(0);
    }
    if let Some(rest) = b.as_const().and_then(|c| ModularSet::of(prover, a).remainder(c)) {
        return IntExpr::constant(rest);
    }
    match divide(prover, a, b) {
        Some((quotient, None)) => a - b * quotient,
        Some((_, Some(rest))) => rest.floor_mod(b),
        None => a.floor_mod(b),
    }
}

/// `a == b*quotient + rest` with `b > 0`; no rest if the quotient is the whole one.
fn divide(prover: &Prover, a: &IntExpr, b: &IntExpr) -> Option<(IntExpr, Option<IntExpr>)> {
    if !decide(prover, &(b - 1)) {
        return None;
    }
    let (quotient, rest) = match b.as_const() {
        Some(c) => a.split_multiples(c),
        None => split_by(a, b),
    };
    if decide(prover, &rest) && decide(prover, &(b - 1 - &rest)) {
        return Some((quotient, None));
    }
    let Some(c) = b.as_const() else { return Some((quotient, Some(rest))) };
    let low = linear::lower_bound(prover, &rest).and_then(|it| eval::floor_div(it, c));
    let high = linear::lower_bound(prover, &-&rest).and_then(i64::checked_neg).and_then(|it| eval::floor_div(it, c));
    match (low, high) {
        (Some(low), Some(high)) if low == high => Some((quotient + low, None)),
        _ => Some(drop_low_part(prover, &quotient, &rest, c).map_or((quotient, Some(rest)), |it| (it, None))),
    }
}

/// The terms of `a` that a divisor of one term divides.
fn split_by(a: &IntExpr, b: &IntExpr) -> (IntExpr, IntExpr) {
    let mut quotient = IntExpr::constant(0);
    let ([(divisor, k)], 0) = (b.terms(), b.constant_term()) else { return (quotient, a.clone()) };
    for (monomial, coefficient) in a.terms() {
        let (Some(rest), Some(0)) = (monomial.over(divisor), coefficient.checked_rem(*k)) else { continue };
        quotient = quotient
            + match rest {
                Some(rest) => IntExpr::from_monomial(rest, coefficient / k),
                None => IntExpr::constant(coefficient / k),
            };
    }
    let rest = a - b * &quotient;
    (quotient, rest)
}

/// `(g*x + r) fdiv c` is `x fdiv (c/g)` if `0 <= r < g` and `g` divides `c`.
fn drop_low_part(prover: &Prover, quotient: &IntExpr, rest: &IntExpr, c: i64) -> Option<IntExpr> {
    for (_, coefficient) in rest.terms() {
        let Some(g) = super::divide::gcd(*coefficient, c).filter(|g| *g > 1) else { continue };
        let (high, low) = rest.split_multiples(g);
        if low.as_const().is_none() && decide(prover, &low) && decide(prover, &(IntExpr::constant(g - 1) - &low)) {
            return Some(quotient + floor_div(prover, &high, &IntExpr::constant(c / g)));
        }
    }
    None
}

/// `b*(a fdiv b) + a fmod b` is `a`, and `c*(a fdiv c)` is `a` where `c` divides it.
fn recombine(prover: &Prover, e: &IntExpr) -> IntExpr {
    let mut current = e.clone();
    for (monomial, k) in e.terms() {
        for it in monomial.atoms() {
            let Some(Some(rest)) = monomial
                .without(it)
                .map(|rest| Some(rest.map_or(IntExpr::constant(1), |m| IntExpr::from_monomial(m, 1))))
            else {
                continue;
            };
            let candidate = match it {
                Atom::FloorMod(a, b) => &current + (a - b * a.floor_div(b) - it.clone().into_expr()) * &rest * *k,
                Atom::FloorDiv(a, b) => match b.as_const() {
                    Some(c) if c > 0 && k % c == 0 && congruence::divisible(prover, a, c) => {
                        &current + (a - it.clone().into_expr() * c) * &rest * (k / c)
                    }
                    Some(_) | None => continue,
                },
                Atom::Var(_)
                | Atom::TruncDiv(..)
                | Atom::TruncRem(..)
                | Atom::Min(..)
                | Atom::Max(..)
                | Atom::Sum(..)
                | Atom::Product(..) => continue,
            };
            if candidate.size() < current.size() {
                current = candidate;
            }
        }
    }
    current
}
