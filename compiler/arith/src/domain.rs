//! Ranges of loop variables.

use super::expr::IntExpr;
use super::prover::Prover;
use super::sym::Sym;

/// `min..min + extent`; empty where the extent is not positive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The first value.
    pub min: IntExpr,
    /// How many values.
    pub extent: IntExpr,
}

impl Range {
    /// `min..min + extent`.
    pub fn new(min: impl Into<IntExpr>, extent: impl Into<IntExpr>) -> Self {
        Self { min: min.into(), extent: extent.into() }
    }

    /// `0..extent`.
    pub fn upto(extent: impl Into<IntExpr>) -> Self {
        Self::new(0, extent)
    }

    /// The last value.
    pub fn last(&self) -> IntExpr {
        &self.min + &self.extent - 1
    }
}

/// Loop variables and their ranges, outermost first: a range may name the variables before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domain {
    loops: Vec<(Sym, Range)>,
}

impl Domain {
    /// No loops.
    pub fn new() -> Self {
        Self::default()
    }

    /// Loops over `0..extent` each, outermost first.
    ///
    /// ```
    /// use tenfold_arith::{Domain, IntExpr};
    /// let domain = Domain::boxed([("i", IntExpr::var("N")), ("j", 4.into())]);
    /// assert_eq!(domain.loops()[1].1.last(), 3.into());
    /// ```
    pub fn boxed<S: Into<Sym>>(loops: impl IntoIterator<Item = (S, IntExpr)>) -> Self {
        loops.into_iter().map(|(sym, extent)| (sym.into(), Range::upto(extent))).collect()
    }

    /// One more loop inside of the others.
    pub fn push(&mut self, sym: impl Into<Sym>, range: Range) {
        self.loops.push((sym.into(), range));
    }

    /// The loops, outermost first.
    pub fn loops(&self) -> &[(Sym, Range)] {
        &self.loops
    }

    /// The range of a variable.
    pub fn range(&self, sym: &Sym) -> Option<&Range> {
        self.loops.iter().rev().find(|(it, _)| it == sym).map(|(_, range)| range)
    }

    /// Whether `sym` is one of the variables.
    pub fn binds(&self, sym: &Sym) -> bool {
        self.range(sym).is_some()
    }

    /// Whether one of the variables is in `e`.
    pub fn binds_any_of(&self, e: &IntExpr) -> bool {
        !self.loops.is_empty() && e.vars().iter().any(|sym| self.binds(sym))
    }

    /// States all ranges in the innermost scope of `prover`.
    pub fn assume(&self, prover: &mut Prover) {
        for (sym, range) in &self.loops {
            prover.assume_range(sym, &range.min, &(&range.min + &range.extent));
        }
    }

    /// What `prover` knows, and all ranges.
    pub fn inside(&self, prover: &Prover) -> Prover {
        let mut inner = prover.clone();
        self.assume(&mut inner);
        inner
    }
}

impl FromIterator<(Sym, Range)> for Domain {
    fn from_iter<I: IntoIterator<Item = (Sym, Range)>>(loops: I) -> Self {
        Self { loops: loops.into_iter().collect() }
    }
}
