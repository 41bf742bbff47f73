//! Intervals with symbolic ends: what an expression ranges over.

use super::domain::Domain;
use super::expr::IntExpr;
use super::prover::Prover;
use super::relax;
use std::fmt;

/// No integers, or all between two ends that are in the set; an end that is missing is infinite.
///
/// ```
/// use tenfold_arith::{Domain, IntExpr, IntervalSet, Prover};
/// let e = |text| IntExpr::parse(text).unwrap();
/// let domain = Domain::boxed([("i", e("N")), ("j", e("4"))]);
/// let set = IntervalSet::of(&e("4*i + j + k"), &domain, &Prover::new());
/// assert_eq!(set, IntervalSet::between(e("k"), e("4*N + k - 1")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntervalSet {
    /// Nothing.
    Empty,
    /// All from `min` to `max`. Where `min > max` holds there are none.
    Between {
        /// The least, or all that are small enough.
        min: Option<IntExpr>,
        /// The greatest, or all that are great enough.
        max: Option<IntExpr>,
    },
}

impl IntervalSet {
    /// All integers.
    pub fn everything() -> Self {
        Self::Between { min: None, max: None }
    }

    /// One integer.
    pub fn point(e: impl Into<IntExpr>) -> Self {
        let e = e.into();
        Self::between(e.clone(), e)
    }

    /// `min..=max`.
    pub fn between(min: impl Into<IntExpr>, max: impl Into<IntExpr>) -> Self {
        Self::Between { min: Some(min.into()), max: Some(max.into()) }
    }

    /// `begin..begin + extent`.
    pub fn range(begin: &IntExpr, extent: &IntExpr) -> Self {
        Self::between(begin.clone(), begin + extent - 1)
    }

    /// A set that holds every value of `e` while the variables of `domain` take theirs. The ends name none of them.
    /// `prover` knows what holds outside of the loops, and may know conditions inside of them.
    pub fn of(e: &IntExpr, domain: &Domain, prover: &Prover) -> Self {
        relax::interval(e, domain, &domain.inside(prover))
    }

    /// The least, if the set is bounded below.
    pub fn min(&self) -> Option<&IntExpr> {
        match self {
            Self::Empty => None,
            Self::Between { min, .. } => min.as_ref(),
        }
    }

    /// The greatest, if the set is bounded above.
    pub fn max(&self) -> Option<&IntExpr> {
        match self {
            Self::Empty => None,
            Self::Between { max, .. } => max.as_ref(),
        }
    }

    /// How many integers, if that is finite; negative where the ends have crossed.
    pub fn extent(&self) -> Option<IntExpr> {
        match self {
            Self::Empty => Some(0.into()),
            Self::Between { min: Some(min), max: Some(max) } => Some(max - min + 1),
            Self::Between { .. } => None,
        }
    }

    /// The only element, if there surely is no more than one.
    pub fn as_point(&self) -> Option<&IntExpr> {
        self.min().filter(|min| self.max() == Some(min))
    }

    /// Whether the set was found to be empty.
    pub fn is_empty(&self, prover: &Prover) -> bool {
        match self {
            Self::Empty => true,
            Self::Between { min: Some(min), max: Some(max) } => prover.prove_lt(max, min),
            Self::Between { .. } => false,
        }
    }

    /// The smallest interval around both sets.
    pub fn union(&self, other: &Self, prover: &Prover) -> Self {
        match (self, other) {
            (Self::Empty, it) | (it, Self::Empty) => it.clone(),
            (Self::Between { min: a, max: b }, Self::Between { min: c, max: d }) => Self::Between {
                min: a.as_ref().zip(c.as_ref()).map(|(a, c)| lesser(a, c, prover)),
                max: b.as_ref().zip(d.as_ref()).map(|(b, d)| greater(b, d, prover)),
            },
        }
    }

    /// What lies in both sets.
    pub fn intersect(&self, other: &Self, prover: &Prover) -> Self {
        let (Self::Between { min: a, max: b }, Self::Between { min: c, max: d }) = (self, other) else {
            return Self::Empty;
        };
        let both = Self::Between { min: either(a, c, prover, greater), max: either(b, d, prover, lesser) };
        if both.is_empty(prover) { Self::Empty } else { both }
    }

    /// Whether every element of `other` was found to be in this set.
    pub fn covers(&self, other: &Self, prover: &Prover) -> bool {
        let (Self::Between { min: a, max: b }, Self::Between { min: c, max: d }) = (self, other) else {
            return other.is_empty(prover);
        };
        let below = |a: &Option<IntExpr>, b: &Option<IntExpr>| match (a, b) {
            (Some(a), Some(b)) => prover.prove_le(a, b),
            (_, _) => false,
        };
        ((a.is_none() || below(a, c)) && (b.is_none() || below(d, b))) || other.is_empty(prover)
    }

    /// Whether the two sets were found to have nothing in common.
    pub fn disjoint(&self, other: &Self, prover: &Prover) -> bool {
        let (Self::Between { min: a, max: b }, Self::Between { min: c, max: d }) = (self, other) else { return true };
        let below = |a: &Option<IntExpr>, b: &Option<IntExpr>| {
            a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| prover.prove_lt(a, b))
        };
        below(b, c) || below(d, a) || self.is_empty(prover) || other.is_empty(prover)
    }

    /// The same set with simpler ends.
    pub fn simplify(&self, prover: &Prover) -> Self {
        let end = |e: &Option<IntExpr>| e.as_ref().map(|e| prover.simplify(e));
        match self {
            Self::Empty => Self::Empty,
            Self::Between { min, max } => Self::Between { min: end(min), max: end(max) },
        }
    }
}

type Choice = fn(&IntExpr, &IntExpr, &Prover) -> IntExpr;

fn either(a: &Option<IntExpr>, b: &Option<IntExpr>, prover: &Prover, choose: Choice) -> Option<IntExpr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(choose(a, b, prover)),
        (a, b) => a.as_ref().or(b.as_ref()).cloned(),
    }
}

/// The lesser of two: one of them where that is decided.
pub(super) fn lesser(a: &IntExpr, b: &IntExpr, prover: &Prover) -> IntExpr {
    if prover.prove_le(a, b) {
        a.clone()
    } else if prover.prove_le(b, a) {
        b.clone()
    } else {
        a.minimum(b)
    }
}

/// The greater of two: one of them where that is decided.
pub(super) fn greater(a: &IntExpr, b: &IntExpr, prover: &Prover) -> IntExpr {
    if prover.prove_le(a, b) {
        b.clone()
    } else if prover.prove_le(b, a) {
        a.clone()
    } else {
        a.maximum(b)
    }
}

impl fmt::Display for IntervalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |e: &Option<IntExpr>, inf: &str| e.as_ref().map_or(inf.to_string(), IntExpr::to_string);
        match self {
            Self::Empty => f.write_str("empty"),
            Self::Between { min, max } => write!(f, "[{}, {}]", end(min, "-inf"), end(max, "inf")),
        }
    }
}
