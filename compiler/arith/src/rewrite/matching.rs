//! Whether an expression has the form of a pattern.
//!
//! A pattern may fit in several ways: `then` is asked of each until it says yes. Sums are taken apart in a few ways
//! alone, none of which tries subsets of terms: an operation is looked for term by term, a multiple of what is known is
//! all that it divides, and one name takes the rest.

use super::super::atom::{Atom, Monomial};
use super::super::divide::gcd;
use super::super::expr::IntExpr;
use super::pattern::{Head, Hole, Operation, Part, Pattern};

/// What the names of a rule stand for.
pub(super) type Caught = Vec<Option<IntExpr>>;
/// What is asked of a way to fit.
pub(super) type Then<'t> = &'t mut dyn FnMut(&mut Caught) -> bool;

/// Whether `then` takes a way in which `e` fits.
pub(super) fn fits(pattern: &Pattern, e: &IntExpr, caught: &mut Caught, then: Then<'_>) -> bool {
    match pattern {
        Pattern::Number(number) => e.as_const() == Some(*number) && then(caught),
        Pattern::Any(hole) => bind(*hole, e.clone(), caught, then),
        Pattern::Constant(hole) => e.as_const().is_some() && bind(*hole, e.clone(), caught, then),
        Pattern::Operation(operation) => e.as_atom().is_some_and(|atom| atom_fits(operation, atom, caught, then)),
        Pattern::Sum(parts) => sum_fits(parts, e, caught, then),
    }
}

fn bind(hole: Hole, value: IntExpr, caught: &mut Caught, then: Then<'_>) -> bool {
    if let Some(known) = &caught[hole] {
        return *known == value && then(caught);
    }
    caught[hole] = Some(value);
    let taken = then(caught);
    if !taken {
        caught[hole] = None;
    }
    taken
}

/// The same of an atom.
pub(super) fn atom_fits(operation: &Operation, atom: &Atom, caught: &mut Caught, then: Then<'_>) -> bool {
    let Some((a, b)) = atom.operands().filter(|_| Head::of(atom) == Some(operation.head)) else { return false };
    operands_fit(operation, a, b, caught, then)
        || operation.head.commutes() && operands_fit(operation, b, a, caught, then)
}

fn operands_fit(operation: &Operation, a: &IntExpr, b: &IntExpr, caught: &mut Caught, then: Then<'_>) -> bool {
    // The second first: a divisor says how its dividend is to be taken apart.
    let mut both =
        |caught: &mut Caught| fits(&operation.right, b, caught, &mut |caught| fits(&operation.left, a, caught, then));
    let shared = match (operation.addend, operation.factor) {
        (Some(hole), _) if caught[hole].is_none() => (hole, common_addend(a, b)),
        (None, Some(hole)) if caught[hole].is_none() => (hole, common_factor(a, b).map(IntExpr::constant)),
        (_, _) => return both(caught),
    };
    match shared {
        (hole, Some(value)) => bind(hole, value, caught, &mut both),
        (_, None) => false,
    }
}

/// The terms that two sums have both, if there are any.
fn common_addend(a: &IntExpr, b: &IntExpr) -> Option<IntExpr> {
    let both = a.terms().iter().filter(|term| b.terms().binary_search(term).is_ok());
    let terms: Vec<(Monomial, i64)> = both.cloned().collect();
    (!terms.is_empty()).then(|| IntExpr::from_terms(terms, 0))
}

/// The greatest number that divides all of both.
fn common_factor(a: &IntExpr, b: &IntExpr) -> Option<i64> {
    gcd(content(a)?, content(b)?)
}

/// The greatest number that divides all coefficients and the constant.
fn content(e: &IntExpr) -> Option<i64> {
    e.terms().iter().try_fold(e.constant_term(), |all, (_, k)| gcd(all, *k))
}

/// Whether a sum is those parts and nothing more.
pub(super) fn sum_fits(parts: &[Part], e: &IntExpr, caught: &mut Caught, then: Then<'_>) -> bool {
    let Some((part, others)) = parts.split_first() else { return e.is_zero() && then(caught) };
    match part {
        Part::Operation(number, factor, operation) => e.terms().iter().any(|(monomial, k)| {
            let left = e - IntExpr::from_monomial(monomial.clone(), *k);
            term_fits((*number, *factor, operation), monomial, *k, caught, &mut |caught| {
                sum_fits(others, &left, caught, then)
            })
        }),
        Part::Scaled(number, factor, hole) => scaled_fits((*number, *factor, *hole), others, e, caught, then),
        Part::Constant(hole) => {
            let constant = IntExpr::constant(e.constant_term());
            let left = e - &constant;
            bind(*hole, constant, caught, &mut |caught| sum_fits(others, &left, caught, then))
        }
        Part::Number(number) => e.constant_term() == *number && sum_fits(others, &(e - *number), caught, then),
        Part::Rest(hole) => match &caught[*hole] {
            Some(known) => {
                let left = e - known;
                sum_fits(others, &left, caught, then)
            }
            // Of two that are not known, neither says what it takes.
            None if others.iter().any(|it| matches!(it, Part::Rest(other) if caught[*other].is_none())) => false,
            None => rest_fits(*hole, others, e, caught, then),
        },
    }
}

/// The others are known: this name takes what they leave.
fn rest_fits(hole: Hole, others: &[Part], e: &IntExpr, caught: &mut Caught, then: Then<'_>) -> bool {
    let known = others.iter().filter_map(|it| if let Part::Rest(other) = it { caught[*other].clone() } else { None });
    let left = known.fold(e.clone(), |left, it| left - it);
    bind(hole, left, caught, then)
}

/// Whether a term is a number and what the name stands for, times an operation that fits.
pub(super) fn term_fits(
    (number, factor, operation): (i64, Option<Hole>, &Operation),
    monomial: &Monomial,
    k: i64,
    caught: &mut Caught,
    then: Then<'_>,
) -> bool {
    let atoms = monomial.atoms().iter().filter(|atom| Head::of(atom) == Some(operation.head));
    atoms.into_iter().any(|atom| {
        let (Some(left), Some(0)) = (monomial.without(atom), k.checked_rem(number)) else { return false };
        let outside = left.map_or(IntExpr::constant(k / number), |it| IntExpr::from_monomial(it, k / number));
        match factor {
            Some(hole) => {
                atom_fits(operation, atom, caught, &mut |caught| bind(hole, outside.clone(), caught, &mut *then))
            }
            None => outside.as_const() == Some(1) && atom_fits(operation, atom, caught, then),
        }
    })
}

/// Whether multiples of a factor are there: all of them are one name's, and the rest is the others'.
fn scaled_fits(
    (number, factor, hole): (i64, Option<Hole>, Hole),
    others: &[Part],
    e: &IntExpr,
    caught: &mut Caught,
    then: Then<'_>,
) -> bool {
    let known = match factor {
        None => Some(IntExpr::constant(number)),
        Some(factor) => caught[factor].as_ref().map(|it| it * number),
    };
    let candidates = known.map_or_else(|| factors(e, caught), |it| vec![it]);
    candidates.into_iter().any(|by| {
        let (quotient, rest) = e.quotient_by_terms(&by);
        let mut split = |caught: &mut Caught| {
            bind(hole, quotient.clone(), caught, &mut |caught| sum_fits(others, &rest, caught, &mut *then))
        };
        match factor {
            _ if quotient.is_zero() => false,
            Some(factor) if caught[factor].is_none() => bind(factor, by.clone(), caught, &mut split),
            Some(_) | None => split(caught),
        }
    })
}

/// Numbers that may be a factor: what coefficients have in common with constants that are known, the greatest first.
fn factors(e: &IntExpr, caught: &Caught) -> Vec<IntExpr> {
    let known: Vec<i64> = caught.iter().flatten().filter_map(IntExpr::as_const).collect();
    let coefficients = e.terms().iter().map(|(_, k)| *k);
    let common = coefficients.flat_map(|k| known.iter().map(move |c| gcd(k, *c)).chain([gcd(k, 0)]));
    let mut all: Vec<i64> = common.flatten().filter(|it| *it > 1).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.dedup();
    all.into_iter().map(IntExpr::constant).collect()
}
