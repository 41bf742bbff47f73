//! Affine iteration maps: indices as sums of parts of loop variables.
//!
//! A loop nest that was split, fused and reordered reaches its indices by divisions, remainders and sums that undo each
//! other. Here each index is written as a sum of [`IterSplit`]s: parts of a variable, or of several that are fused.
//! Of such a sum it can be read off whether the loops reach every point of the indices' box, and each only once.
//!
//! This module must not know what a block or a buffer is.

mod check;
mod detect;
mod error;
mod fuse;
mod inverse;
mod predicate;
mod subspace;

use super::domain::{Domain, Range};
use super::expr::IntExpr;
use super::fact::Fact;
use super::prover::Prover;
use super::sym::Sym;
use std::collections::BTreeSet;
use std::sync::Arc;

pub use error::IterMapError;
pub use subspace::{Subspace, subspace_divide};

/// A whole of which splits are parts; its values are `0..extent`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IterMark {
    /// What it counts.
    pub source: IterSource,
    /// How many values it has.
    pub extent: IntExpr,
}

/// What an [`IterMark`] counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IterSource {
    /// A loop variable, less its first value.
    Var(Sym, IntExpr),
    /// Several splits fused.
    Sum(IterSum),
}

/// `mark / lower % extent * scale`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IterSplit {
    /// Of what it is a part.
    pub mark: Arc<IterMark>,
    /// How many values of the mark pass between two of its own.
    pub lower: IntExpr,
    /// How many values it has.
    pub extent: IntExpr,
    /// By what it is multiplied.
    pub scale: IntExpr,
}

/// A sum of splits and what no loop changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IterSum {
    /// In an index of a map that was checked: least scale first, each scale the product of the extents before it.
    pub splits: Vec<IterSplit>,
    /// What no loop changes.
    pub base: IntExpr,
}

/// What is asked of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterMapLevel {
    /// Each index is a sum of splits.
    Affine,
    /// And the indices, less their bases, reach every point of the box of their extents.
    Surjective,
    /// And no point twice.
    Bijective,
}

/// What [`detect_iter_map`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IterMap {
    /// One sum per index.
    pub indices: Vec<IterSum>,
    /// How many values each index has; of an [`IterMapLevel::Affine`] map the extent of nothing but its splits.
    pub extents: Vec<IntExpr>,
    /// The loops.
    pub domain: Domain,
    /// Under which conditions on loop variables the map is what it says.
    pub predicates: Vec<Fact>,
}

/// Writes `indices` as sums of splits of the variables of `domain`, as far as `level` asks. Only iterations at which
/// all `predicates` hold count: each bounds a sum that is itself a fused iteration. Of loops of which no iteration runs
/// nothing is said.
///
/// ```
/// use tenfold_arith::{Domain, Fact, IntExpr, IterMapLevel, Prover, detect_iter_map};
/// let e = |text| IntExpr::parse(text).unwrap();
/// // `k` was split by 4 and fused with `j`; the indices undo both.
/// let domain = Domain::boxed([("jk", e("8*M")), ("ki", e("4"))]);
/// let indices = [e("floordiv(jk, 8)"), e("floormod(jk, 8)*4 + ki")];
/// let map = detect_iter_map(&indices, &domain, &[], IterMapLevel::Bijective, &Prover::new()).unwrap();
/// assert_eq!(map.extents, [e("M"), e("32")]);
/// // The loops from the indices.
/// let back = map.inverse(&[e("x"), e("y")]);
/// assert_eq!(back[0].1, e("8*x + floordiv(y, 4)"));
/// assert_eq!(back[1].1, e("floormod(y, 4)"));
/// // A loop over more than the axis, and the condition that guards it.
/// let domain = Domain::boxed([("io", e("floordiv(N + 3, 4)")), ("ii", e("4"))]);
/// let guard = [Fact::parse("4*io + ii < N").unwrap()];
/// let map = detect_iter_map(&[e("4*io + ii")], &domain, &guard, IterMapLevel::Bijective, &Prover::new()).unwrap();
/// assert_eq!(map.extents, [e("N")]);
/// ```
///
/// # Errors
/// What stands in the way; it is not known then that the map lacks what was asked for.
pub fn detect_iter_map(
    indices: &[IntExpr],
    domain: &Domain,
    predicates: &[Fact],
    level: IterMapLevel,
    prover: &Prover,
) -> Result<IterMap, IterMapError> {
    let mut detector = detect::Detector::new(domain, prover)?;
    detector.restrict(predicates)?;
    let sums = indices.iter().map(|index| detector.index(index)).collect::<Result<Vec<_>, _>>()?;
    let mut map = IterMap {
        indices: sums,
        extents: Vec::new(),
        domain: domain.clone(),
        predicates: detector.predicates(predicates),
    };
    check::check(&mut map, &detector, level)?;
    Ok(map)
}

/// The indices with divisions and remainders that undo each other taken out; those that are no sums of splits stay.
pub fn iter_map_simplify(indices: &[IntExpr], domain: &Domain, predicates: &[Fact], prover: &Prover) -> Vec<IntExpr> {
    let simpler = |index: &IntExpr| {
        let one = std::slice::from_ref(index);
        let map = detect_iter_map(one, domain, predicates, IterMapLevel::Affine, prover).ok()?;
        Some(map.indices.first()?.to_expr()).filter(|it| it.size() <= index.size())
    };
    indices.iter().map(|index| simpler(index).unwrap_or_else(|| index.clone())).collect()
}

impl IterMark {
    fn var(sym: &Sym, range: &Range) -> Self {
        Self { source: IterSource::Var(sym.clone(), range.min.clone()), extent: range.extent.clone() }
    }

    /// Its value.
    pub fn to_expr(&self) -> IntExpr {
        match &self.source {
            IterSource::Var(sym, min) => IntExpr::var(sym.clone()) - min,
            IterSource::Sum(sum) => sum.to_expr(),
        }
    }

    /// The loop variables it is made of.
    pub fn vars(&self) -> BTreeSet<Sym> {
        match &self.source {
            IterSource::Var(sym, _) => [sym.clone()].into(),
            IterSource::Sum(sum) => sum.vars(),
        }
    }
}

impl IterSplit {
    /// All of a mark.
    fn whole(mark: Arc<IterMark>) -> Self {
        let extent = mark.extent.clone();
        Self { mark, lower: 1.into(), extent, scale: 1.into() }
    }

    fn scaled(&self, scale: IntExpr) -> Self {
        Self { scale, ..self.clone() }
    }

    /// Whether it is a part of the same whole and begins and ends where `other` does.
    fn same_part(&self, other: &Self) -> bool {
        self.mark == other.mark && self.lower == other.lower && self.extent == other.extent
    }

    /// Its value.
    pub fn to_expr(&self) -> IntExpr {
        let quotient = self.mark.to_expr().floor_div(&self.lower);
        let top =
            &self.lower * &self.extent == self.mark.extent || self.extent == ceil_div(&self.mark.extent, &self.lower);
        let part = if top { quotient } else { quotient.floor_mod(&self.extent) };
        part * &self.scale
    }
}

impl IterSum {
    fn constant(base: IntExpr) -> Self {
        Self { splits: Vec::new(), base }
    }

    /// Its value.
    pub fn to_expr(&self) -> IntExpr {
        self.splits.iter().fold(self.base.clone(), |sum, split| sum + split.to_expr())
    }

    /// The loop variables it is made of.
    pub fn vars(&self) -> BTreeSet<Sym> {
        self.splits.iter().flat_map(|split| split.mark.vars()).collect()
    }
}

fn ceil_div(a: &IntExpr, b: &IntExpr) -> IntExpr {
    (a + b - 1).floor_div(b)
}
