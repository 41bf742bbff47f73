//! Conditions that bound a fused iteration.

use super::super::expr::IntExpr;
use super::super::fact::Fact;
use super::super::interval_set::{greater, lesser};
use super::detect::Detector;
use super::{IterMapError, IterMark, IterSource, IterSplit, IterSum};
use std::sync::Arc;

/// A chain of which only the values `low..high` run.
pub(super) struct Constraint {
    pub(super) chain: Vec<IterSplit>,
    low: IntExpr,
    high: IntExpr,
    /// The chain less `low`, once all conditions are known.
    pub(super) mark: Arc<IterMark>,
}

impl Constraint {
    fn new(chain: Vec<IterSplit>) -> Self {
        let high = Detector::length(&chain);
        let mark = mark_of(&chain, &0.into(), &high);
        Self { chain, low: 0.into(), high, mark }
    }

    /// `sum` with the chain, if it is there, replaced by the mark.
    fn apply(&self, detector: &Detector<'_>, sum: IterSum) -> IterSum {
        let same = |part: &IterSplit| sum.splits.iter().position(|it| it.same_part(part));
        let Some(places) = self.chain.iter().map(same).collect::<Option<Vec<_>>>() else { return sum };
        let Some(unit) = places.first().map(|at| sum.splits[*at].scale.clone()) else { return sum };
        let fits = |(part, at): (&IterSplit, &usize)| detector.equal(&sum.splits[*at].scale, &(&part.scale * &unit));
        if !self.chain.iter().zip(&places).all(fits) {
            return sum;
        }
        let others = sum.splits.iter().enumerate().filter(|(at, _)| !places.contains(at));
        let mut splits: Vec<IterSplit> = others.map(|(_, it)| it.clone()).collect();
        splits.push(IterSplit::whole(self.mark.clone()).scaled(unit.clone()));
        IterSum { splits, base: sum.base + unit * &self.low }
    }
}

fn mark_of(chain: &[IterSplit], low: &IntExpr, high: &IntExpr) -> Arc<IterMark> {
    let source = IterSource::Sum(IterSum { splits: chain.to_vec(), base: -low });
    Arc::new(IterMark { source, extent: high - low })
}

impl Detector<'_> {
    /// Takes conditions into account. Each becomes a bound of a chain; chains of fewer splits come first, so that a
    /// condition on a part is known where a condition on the whole is read.
    pub(super) fn restrict(&mut self, predicates: &[Fact]) -> Result<(), IterMapError> {
        let mut rows = Vec::new();
        for fact in predicates {
            self.rows(fact, &mut rows)?;
        }
        rows.sort_by_key(|(_, row)| row.vars().iter().filter(|sym| self.domain.binds(sym)).count());
        for (fact, row) in rows {
            self.bound(&row).map_err(|_| IterMapError::Predicate(fact))?;
        }
        Ok(())
    }

    /// The conditions that name loop variables.
    pub(super) fn predicates(&self, all: &[Fact]) -> Vec<Fact> {
        all.iter().filter(|fact| fact.vars().iter().any(|sym| self.domain.binds(sym))).cloned().collect()
    }

    fn rows(&mut self, fact: &Fact, rows: &mut Vec<(Fact, IntExpr)>) -> Result<(), IterMapError> {
        if !fact.vars().iter().any(|sym| self.domain.binds(sym)) {
            self.prover.assume(fact.clone());
            return Ok(());
        }
        match fact {
            Fact::NonNegative(e) => rows.push((fact.clone(), e.clone())),
            Fact::Zero(e) => rows.extend([(fact.clone(), e.clone()), (fact.clone(), -e)]),
            Fact::And(all) => all.iter().try_for_each(|fact| self.rows(fact, rows))?,
            Fact::NonZero(_) | Fact::Divisible(..) | Fact::Or(_) => return Err(IterMapError::Predicate(fact.clone())),
        }
        Ok(())
    }

    /// `row >= 0`.
    fn bound(&mut self, row: &IntExpr) -> Result<(), IterMapError> {
        // What the ranges of the loops imply by themselves restricts nothing.
        if self.prover.prove_ge0(row) {
            return Ok(());
        }
        let sum = self.sum(row)?;
        let above = sum.splits.iter().all(|it| self.prover.prove_ge0(&-&it.scale));
        let moving = IterSum { splits: sum.splits.clone(), base: 0.into() };
        let moving = if above { negated(&moving) } else { moving };
        let (chain, unit) = self.fuse(&self.constrained(moving))?;
        // Moving parts may have brought a base of their own out of a mark.
        let shift = self.constrained_base(&sum, above);
        let end = (&sum.base + shift).floor_div(&unit);
        self.narrow(chain, above, &end);
        Ok(())
    }

    fn constrained_base(&self, sum: &IterSum, above: bool) -> IntExpr {
        let moving = IterSum { splits: sum.splits.clone(), base: 0.into() };
        if above { -self.constrained(negated(&moving)).base } else { self.constrained(moving).base }
    }

    /// `chain <= end` if `above`, else `chain >= -end`.
    fn narrow(&mut self, chain: Vec<IterSplit>, above: bool, end: &IntExpr) {
        let same = |it: &Constraint| it.chain == chain;
        let at = self.constraints.iter().position(same).unwrap_or_else(|| {
            self.constraints.push(Constraint::new(chain));
            self.constraints.len() - 1
        });
        let constraint = &mut self.constraints[at];
        if above {
            constraint.high = lesser(&constraint.high, &(end + 1), &self.prover);
        } else {
            constraint.low = greater(&constraint.low, &-end, &self.prover);
        }
        constraint.mark = mark_of(&constraint.chain, &constraint.low, &constraint.high);
    }

    /// A sum in which the chains of conditions are replaced by their marks.
    pub(super) fn constrained(&self, sum: IterSum) -> IterSum {
        self.constraints.iter().fold(sum, |sum, constraint| constraint.apply(self, sum))
    }
}

fn negated(sum: &IterSum) -> IterSum {
    let splits = sum.splits.iter().map(|it| it.scaled(-&it.scale)).collect();
    IterSum { splits, base: -&sum.base }
}
