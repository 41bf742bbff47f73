//! Chains: splits of which each scale is the product of the extents before it, and where they can be cut.

use super::super::divide::gcd;
use super::super::expr::IntExpr;
use super::detect::Detector;
use super::{IterMapError, IterMark, IterSource, IterSplit, IterSum, ceil_div};
use std::sync::Arc;

impl Detector<'_> {
    /// The splits of `sum` in the order of their scales, as a chain that begins at 1, and the scale of the first.
    pub(super) fn fuse(&self, sum: &IterSum) -> Result<(Vec<IterSplit>, IntExpr), IterMapError> {
        let gaps = || IterMapError::Gaps(sum.to_expr());
        let sum = &self.merged(sum.clone());
        let mut left: Vec<&IterSplit> = sum.splits.iter().collect();
        let Some(first) = left.iter().position(|it| self.divides_all(it, &left)) else {
            return if left.is_empty() { Ok((Vec::new(), 1.into())) } else { Err(gaps()) };
        };
        let unit = left[first].scale.clone();
        if !self.prover.prove_ge0(&(&unit - 1)) {
            return Err(gaps());
        }
        let (mut chain, mut at, mut reached) = (Vec::new(), first, unit.clone());
        let mut scale = IntExpr::constant(1);
        loop {
            let split = left.remove(at);
            chain.push(split.scaled(scale.clone()));
            reached = &reached * &split.extent;
            scale = &scale * &split.extent;
            if left.is_empty() {
                return Ok((chain, unit));
            }
            at = left.iter().position(|it| self.equal(&it.scale, &reached)).ok_or_else(gaps)?;
        }
    }

    /// Whether the scale of `it` divides all others, and is the least where they are numbers.
    fn divides_all(&self, it: &IterSplit, all: &[&IterSplit]) -> bool {
        all.iter().all(|other| {
            let least = match (it.scale.as_const(), other.scale.as_const()) {
                (Some(a), Some(b)) => a <= b,
                (None, Some(_)) => false,
                (_, None) => true,
            };
            least && self.exact(&other.scale, &it.scale).is_some()
        })
    }

    /// The number of values of a chain.
    pub(super) fn length(chain: &[IterSplit]) -> IntExpr {
        chain.iter().fold(1.into(), |product: IntExpr, it| product * &it.extent)
    }

    /// A chain modulo `step`, and over it.
    pub(super) fn cut(
        &self,
        chain: &[IterSplit],
        step: &IntExpr,
    ) -> Result<(Vec<IterSplit>, Vec<IterSplit>), IterMapError> {
        if let Some(parts) = self.cut_between(chain, step) {
            return Ok(parts);
        }
        // What lies below the least multiple of the step at which the chain can be cut is fused to one whole.
        let (low, mut high, scale) = match self.aligned(chain, step) {
            Some((at, (low, high))) => (low, high, self.exact(&at, step).unwrap_or_else(|| 1.into())),
            None => (chain.to_vec(), Vec::new(), 1.into()),
        };
        let whole = self.whole(&low);
        let upper = self.exact(&whole.extent, step).unwrap_or_else(|| ceil_div(&whole.extent, step));
        for split in &mut high {
            split.scale = &split.scale * &scale;
        }
        let below = IterSplit { mark: whole.clone(), lower: 1.into(), extent: step.clone(), scale: 1.into() };
        let above = IterSplit { mark: whole, lower: step.clone(), extent: upper, scale: 1.into() };
        high.insert(0, above);
        Ok((vec![below], high))
    }

    /// The whole that a chain counts: its only mark, or a new one.
    fn whole(&self, chain: &[IterSplit]) -> Arc<IterMark> {
        if let [split] = chain
            && split.lower.as_const() == Some(1)
            && split.extent == split.mark.extent
        {
            return split.mark.clone();
        }
        let sum = IterSum { splits: chain.to_vec(), base: 0.into() };
        Arc::new(IterMark { source: IterSource::Sum(sum), extent: Self::length(chain) })
    }

    /// The two parts of a chain where `step` lies between two splits or divides one.
    fn cut_between(&self, chain: &[IterSplit], step: &IntExpr) -> Option<(Vec<IterSplit>, Vec<IterSplit>)> {
        for (at, split) in chain.iter().enumerate() {
            let Some(inner) = self.exact(step, &split.scale) else { continue };
            let high = chain[at + 1..].iter();
            let mut low = chain[..at].to_vec();
            let mut above = Vec::new();
            if inner.as_const() == Some(1) {
                above.push(split.scaled(1.into()));
            } else if self.equal(&inner, &split.extent) {
                low.push(split.clone());
            } else {
                let Some(outer) = self.exact(&split.extent, &inner).filter(|it| self.positive(it)) else { continue };
                low.push(IterSplit { extent: inner.clone(), ..split.clone() });
                let lower = &split.lower * &inner;
                above.push(IterSplit { lower, extent: outer, scale: 1.into(), mark: split.mark.clone() });
            }
            // Above the cut the scales begin anew.
            let mut scale = Self::length(&above);
            for split in high {
                above.push(split.scaled(scale.clone()));
                scale = scale * &split.extent;
            }
            return Some((low, above));
        }
        None
    }

    fn positive(&self, e: &IntExpr) -> bool {
        self.prover.prove_ge0(&(e - 1))
    }

    /// The least multiple of `step` at which the chain can be cut, and its two parts there.
    #[allow(clippy::type_complexity, reason = "a place and two parts")]
    fn aligned(&self, chain: &[IterSplit], step: &IntExpr) -> Option<(IntExpr, (Vec<IterSplit>, Vec<IterSplit>))> {
        for split in chain {
            let multiple = match (step.as_const(), split.scale.as_const()) {
                (Some(step), Some(scale)) => {
                    let common = gcd(step, scale).filter(|it| *it > 0)?;
                    IntExpr::constant(step.checked_mul(scale / common)?)
                }
                (_, _) => split.scale.clone(),
            };
            if self.exact(&multiple, step).is_none() {
                continue;
            }
            if let Some(parts) = self.cut_between(chain, &multiple).filter(|(_, high)| !high.is_empty()) {
                return Some((multiple, parts));
            }
        }
        None
    }
}
