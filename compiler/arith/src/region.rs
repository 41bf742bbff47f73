//! Rectangles that accesses touch.

use super::domain::Domain;
use super::expr::IntExpr;
use super::interval_set::IntervalSet;
use super::prover::Prover;
use super::relax;
use std::fmt;

/// One set per axis: everything inside of all of them.
///
/// ```
/// use tenfold_arith::{Domain, IntExpr, Prover, touched};
/// let e = |text| IntExpr::parse(text).unwrap();
/// // A window of 3 that slides over a tile of 16.
/// let domain = Domain::boxed([("i", e("16")), ("u", e("3"))]);
/// let tile = touched(&[e("16*t + i + u")], &domain, &Prover::new());
/// assert_eq!(tile.begin(), Some(vec![e("16*t")]));
/// assert_eq!(tile.extent(), Some(vec![e("18")]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rectangle {
    /// Of each axis.
    pub axes: Vec<IntervalSet>,
}

/// A rectangle that holds all points `indices` take while the variables of `domain` take their values.
/// `prover` knows what holds outside of the loops, and may know the conditions of the access.
pub fn touched(indices: &[IntExpr], domain: &Domain, prover: &Prover) -> Rectangle {
    let inside = domain.inside(prover);
    let axes = indices.iter().map(|index| relax::interval(index, domain, &inside)).collect();
    Rectangle { axes }
}

impl Rectangle {
    /// The whole of a shape.
    pub fn whole(shape: &[IntExpr]) -> Self {
        Self { axes: shape.iter().map(|extent| IntervalSet::range(&0.into(), extent)).collect() }
    }

    /// The first index of each axis; `None` where one has no least or is empty.
    pub fn begin(&self) -> Option<Vec<IntExpr>> {
        self.axes.iter().map(|axis| axis.min().cloned()).collect()
    }

    /// How many indices of each axis; `None` where one is not bounded.
    pub fn extent(&self) -> Option<Vec<IntExpr>> {
        self.axes.iter().map(IntervalSet::extent).collect()
    }

    /// The smallest rectangle around both. Ranks must agree.
    pub fn union(&self, other: &Self, prover: &Prover) -> Self {
        self.zip(other, |a, b| a.union(b, prover))
    }

    /// What both have in common. Ranks must agree.
    pub fn intersect(&self, other: &Self, prover: &Prover) -> Self {
        self.zip(other, |a, b| a.intersect(b, prover))
    }

    /// What of it lies in `0..extent` of each axis.
    pub fn clip(&self, shape: &[IntExpr], prover: &Prover) -> Self {
        self.intersect(&Self::whole(shape), prover)
    }

    /// Whether every point of `other` was found to be in this one.
    pub fn covers(&self, other: &Self, prover: &Prover) -> bool {
        let within = || self.axes.iter().zip(&other.axes).all(|(a, b)| a.covers(b, prover));
        other.is_empty(prover) || (self.axes.len() == other.axes.len() && within())
    }

    /// Whether the two were found to have no point in common.
    pub fn disjoint(&self, other: &Self, prover: &Prover) -> bool {
        self.axes.iter().zip(&other.axes).any(|(a, b)| a.disjoint(b, prover))
    }

    /// Whether some axis was found to be empty.
    pub fn is_empty(&self, prover: &Prover) -> bool {
        self.axes.iter().any(|axis| axis.is_empty(prover))
    }

    /// The same with simpler ends.
    pub fn simplify(&self, prover: &Prover) -> Self {
        Self { axes: self.axes.iter().map(|axis| axis.simplify(prover)).collect() }
    }

    /// The rectangle around this one while the variables of `domain`, which its ends name, take their values.
    pub fn relax(&self, domain: &Domain, prover: &Prover) -> Self {
        let inside = domain.inside(prover);
        let axes = self.axes.iter().map(|axis| relax_axis(axis, domain, &inside)).collect();
        Self { axes }
    }

    fn zip(&self, other: &Self, join: impl Fn(&IntervalSet, &IntervalSet) -> IntervalSet) -> Self {
        Self { axes: self.axes.iter().zip(&other.axes).map(|(a, b)| join(a, b)).collect() }
    }
}

fn relax_axis(axis: &IntervalSet, domain: &Domain, prover: &Prover) -> IntervalSet {
    let IntervalSet::Between { min, max } = axis else { return IntervalSet::Empty };
    let low = min.as_ref().map(|e| relax::interval(e, domain, prover));
    let high = max.as_ref().map(|e| relax::interval(e, domain, prover));
    IntervalSet::Between { min: low.and_then(|it| it.min().cloned()), max: high.and_then(|it| it.max().cloned()) }
}

impl fmt::Display for Rectangle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, axis) in self.axes.iter().enumerate() {
            if at > 0 {
                f.write_str(" x ")?;
            }
            write!(f, "{axis}")?;
        }
        Ok(())
    }
}
