//! Points at which all facts hold. What is false at one of them follows from no facts, so no proof of it is looked for:
//! a few values in place of a search that goes as far as it may.

use super::atom::Atom;
use super::expr::IntExpr;
use super::fact::Fact;
use super::prover::Prover;
use super::rows;
use super::sym::Sym;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What many divisors divide.
const ROUND: i64 = 40_320;
/// What 32 bits do not hold; 128 hold a product of four.
const FAR: i64 = ((1 << 31) / ROUND + 1) * ROUND;
/// What 32 bits do not hold after a division by the elements of a tile either.
const FARTHER: i64 = ((1 << 42) / ROUND + 1) * ROUND;
/// What products of variables are held with.
const NEAR: i64 = 3;
/// Values of a variable that are tried, one after the other, until one agrees with all that is said of it.
const TRIES: i64 = 12;

/// How the variables of a point are chosen.
struct Way {
    /// The first variable without a greatest value.
    first: i64,
    /// The others.
    others: i64,
    /// Whether variables with a greatest value take it, or their least.
    last: bool,
}

/// Those that are tried. A quotient of a product has a value only where 64 bits hold the product.
const WAYS: [Way; 7] = [
    Way { first: FARTHER, others: FARTHER, last: true },
    Way { first: FARTHER, others: FARTHER, last: false },
    Way { first: FAR, others: FAR, last: true },
    Way { first: FARTHER, others: NEAR, last: true },
    Way { first: NEAR, others: FARTHER, last: true },
    Way { first: NEAR, others: NEAR, last: true },
    Way { first: NEAR, others: NEAR, last: false },
];

/// Values of all variables that facts name.
pub(super) type Point = BTreeMap<Sym, i64>;

/// Whether `e` is below zero at a point at which all facts hold.
pub(super) fn negative(prover: &Prover, e: &IntExpr) -> bool {
    any(prover, e, |value| value < 0)
}

/// Whether `e` is another number than zero at one.
pub(super) fn nonzero(prover: &Prover, e: &IntExpr) -> bool {
    any(prover, e, |value| value != 0)
}

/// Whether `e` is zero at one.
pub(super) fn zero(prover: &Prover, e: &IntExpr) -> bool {
    any(prover, e, |value| value == 0)
}

/// Whether `e` is such a number at one. Variables of which nothing is said may be anything.
fn any(prover: &Prover, e: &IntExpr, is: impl Fn(i128) -> bool) -> bool {
    let at = |point: &Point| e.wide(&|sym| Some(point.get(sym).copied().unwrap_or(FAR)));
    prover.points().iter().filter_map(at).any(is)
}

/// The points that were found, one for each way that leads to one.
pub(super) fn find(prover: &Prover) -> Arc<[Point]> {
    // Facts of numbers alone may be false.
    if prover.facts().iter().any(Fact::is_false) {
        return Arc::default();
    }
    let vars = Variables::of(prover.facts());
    WAYS.iter().filter_map(|way| vars.point(way)).collect()
}

/// Variables in the order in which facts first name them, each with the facts that name none after it.
struct Variables<'f>(Vec<(Sym, Vec<&'f Fact>)>);

impl<'f> Variables<'f> {
    fn of(facts: &'f [Fact]) -> Self {
        let (mut places, mut all) = (BTreeMap::new(), Vec::new());
        for fact in facts {
            let places: Vec<usize> = fact
                .vars()
                .into_iter()
                .map(|sym| {
                    *places.entry(sym.clone()).or_insert_with(|| {
                        all.push((sym, Vec::new()));
                        all.len() - 1
                    })
                })
                .collect();
            if let Some(last) = places.into_iter().max() {
                all[last].1.push(fact);
            }
        }
        Self(all)
    }

    fn point(&self, way: &Way) -> Option<Point> {
        let (mut point, mut open) = (Point::new(), way.first);
        for (sym, facts) in &self.0 {
            let (low, high) = range(sym, facts, &point);
            let (from, step) = match (low, high) {
                (_, Some(high)) if way.last => (high.min(FARTHER), -1),
                (Some(low), Some(_)) => (low.max(-FARTHER), 1),
                (None, Some(high)) => (high.min(-FARTHER), -1),
                (low, None) => {
                    let value = std::mem::replace(&mut open, way.others);
                    (low.map_or(value, |low| low.max(value)), 1)
                }
            };
            let mut tried = (0..TRIES).filter_map(|n| from.checked_add(n * step));
            tried.find(|value| {
                point.insert(sym.clone(), *value);
                facts.iter().all(|fact| fact.wide(&|it| point.get(it).copied()) == Some(true))
            })?;
        }
        Some(point)
    }
}

/// The least and the greatest value of a variable, the others being known, as far as facts show them.
fn range(sym: &Sym, facts: &[&Fact], point: &Point) -> (Option<i64>, Option<i64>) {
    let rows = facts.iter().flat_map(|fact| match fact {
        Fact::NonNegative(e) => vec![e.clone()],
        Fact::Zero(e) => vec![e.clone(), -e],
        Fact::NonZero(_) | Fact::Divisible(..) | Fact::And(_) | Fact::Or(_) => Vec::new(),
    });
    rows.fold((None, None), |(low, high), row| match end(sym, &row, point) {
        Some(End::Least(least)) => (low.max(Some(least)), high),
        Some(End::Greatest(greatest)) => (low, Some(high.map_or(greatest, |high: i64| high.min(greatest)))),
        None => (low, high),
    })
}

enum End {
    Least(i64),
    Greatest(i64),
}

/// What `row >= 0` says of a variable, the others being known.
fn end(sym: &Sym, row: &IntExpr, point: &Point) -> Option<End> {
    let k = rows::coefficient(row, &Atom::Var(sym.clone()))?;
    let rest = row.eval(&|it| if it == sym { Some(0) } else { point.get(it).copied() })?;
    if k > 0 {
        Some(End::Least(rest.checked_div_euclid(k)?.checked_neg()?))
    } else {
        Some(End::Greatest(rest.checked_div_euclid(k.checked_neg()?)?))
    }
}
