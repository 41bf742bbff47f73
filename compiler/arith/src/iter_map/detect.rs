//! From an expression to a sum of splits.

use super::super::atom::Atom;
use super::super::domain::Domain;
use super::super::expr::IntExpr;
use super::super::prover::Prover;
use super::super::sym::Sym;
use super::predicate::Constraint;
use super::{IterMapError, IterMark, IterSplit, IterSum};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Loops, what is known inside of them, and what conditions fuse.
pub(super) struct Detector<'d> {
    pub(super) domain: &'d Domain,
    pub(super) prover: Prover,
    pub(super) marks: BTreeMap<Sym, Arc<IterMark>>,
    pub(super) constraints: Vec<Constraint>,
}

/// What a divisor divides.
struct Chain {
    /// From scale 1 on.
    splits: Vec<IterSplit>,
    /// The divisor over the scale of the first split.
    step: IntExpr,
    /// What of the quotient the chain has too much.
    lifted: Vec<IterSplit>,
}

impl<'d> Detector<'d> {
    pub(super) fn new(domain: &'d Domain, prover: &Prover) -> Result<Self, IterMapError> {
        let mut marks = BTreeMap::new();
        for (sym, range) in domain.loops() {
            if domain.binds_any_of(&range.min) || domain.binds_any_of(&range.extent) {
                return Err(IterMapError::Dependent(sym.clone()));
            }
            marks.insert(sym.clone(), Arc::new(IterMark::var(sym, range)));
        }
        Ok(Self { domain, prover: domain.inside(prover), marks, constraints: Vec::new() })
    }

    /// An index as a sum, in which what conditions bound stands fused.
    pub(super) fn index(&self, e: &IntExpr) -> Result<IterSum, IterMapError> {
        let sum = self.sum(e)?;
        Ok(self.constrained(sum))
    }

    /// The polynomial `e`: in each term one atom at most may name loop variables.
    pub(super) fn sum(&self, e: &IntExpr) -> Result<IterSum, IterMapError> {
        let mut sum = IterSum::constant(e.constant_term().into());
        for (monomial, k) in e.terms() {
            let mut scale = IntExpr::constant(*k);
            let mut moving = None;
            for atom in monomial.atoms() {
                let it = atom.clone().into_expr();
                if !self.domain.binds_any_of(&it) {
                    scale = scale * it;
                } else if moving.replace(atom).is_some() {
                    return Err(IterMapError::NotAffine(IntExpr::from_monomial(monomial.clone(), *k)));
                }
            }
            let part = moving.map_or_else(|| Ok(IterSum::constant(1.into())), |atom| self.atom(atom))?;
            self.add_scaled(&mut sum, &part, &scale);
        }
        Ok(self.merged(sum))
    }

    fn add_scaled(&self, sum: &mut IterSum, part: &IterSum, scale: &IntExpr) {
        sum.base = &sum.base + &part.base * scale;
        for split in &part.splits {
            let split = split.scaled(&split.scale * scale);
            match sum.splits.iter_mut().find(|it| it.same_part(&split)) {
                Some(same) => same.scale = &same.scale + &split.scale,
                None => sum.splits.push(split),
            }
        }
        sum.splits.retain(|it| !it.scale.is_zero());
    }

    /// Parts of one whole that follow each other, in place and in scale, are one part.
    pub(super) fn merged(&self, mut sum: IterSum) -> IterSum {
        while let Some((low, high)) = self.neighbours(&sum.splits) {
            let above = sum.splits.remove(high);
            let low = &mut sum.splits[low - usize::from(low > high)];
            low.extent = &low.extent * &above.extent;
        }
        sum
    }

    fn neighbours(&self, splits: &[IterSplit]) -> Option<(usize, usize)> {
        let all = 0..splits.len();
        let mut pairs = all.clone().flat_map(|low| all.clone().map(move |high| (low, high)));
        pairs.find(|(low, high)| low != high && self.follows(&splits[*low], &splits[*high]))
    }

    fn follows(&self, low: &IterSplit, high: &IterSplit) -> bool {
        low.mark == high.mark
            && self.equal(&high.lower, &(&low.lower * &low.extent))
            && self.equal(&high.scale, &(&low.scale * &low.extent))
    }

    fn atom(&self, atom: &Atom) -> Result<IterSum, IterMapError> {
        let Some((a, b)) = atom.operands() else { return self.variable(atom) };
        let not_affine = || IterMapError::NotAffine(atom.clone().into_expr());
        match atom {
            Atom::FloorDiv(..) => self.quotient(self.sum(a)?, self.divisor(b)?),
            Atom::FloorMod(..) => self.remainder(self.sum(a)?, self.divisor(b)?),
            Atom::TruncDiv(..) if self.prover.prove_ge0(a) => self.quotient(self.sum(a)?, self.divisor(b)?),
            Atom::TruncRem(..) if self.prover.prove_ge0(a) => self.remainder(self.sum(a)?, self.divisor(b)?),
            Atom::Min(..) | Atom::Max(..) => {
                let (least, greatest) = if matches!(atom, Atom::Min(..)) { (a, b) } else { (b, a) };
                if self.prover.prove_le(a, b) {
                    self.sum(least)
                } else if self.prover.prove_le(b, a) {
                    self.sum(greatest)
                } else {
                    Err(not_affine())
                }
            }
            Atom::Var(_) | Atom::TruncDiv(..) | Atom::TruncRem(..) | Atom::Sum(..) | Atom::Product(..) => {
                Err(not_affine())
            }
        }
    }

    fn variable(&self, atom: &Atom) -> Result<IterSum, IterMapError> {
        let Atom::Var(sym) = atom else { return Err(IterMapError::NotAffine(atom.clone().into_expr())) };
        let (Some(mark), Some(range)) = (self.marks.get(sym), self.domain.range(sym)) else {
            return Err(IterMapError::NotAffine(IntExpr::var(sym.clone())));
        };
        let mut sum = IterSum::constant(range.min.clone());
        if range.extent.as_const() != Some(1) {
            sum.splits.push(IterSplit::whole(mark.clone()));
        }
        Ok(sum)
    }

    fn divisor<'e>(&self, b: &'e IntExpr) -> Result<&'e IntExpr, IterMapError> {
        if self.domain.binds_any_of(b) || !self.prover.prove_ge0(&(b - 1)) {
            return Err(IterMapError::Divisor(b.clone()));
        }
        Ok(b)
    }

    /// What of `sum` the divisor divides, over the divisor; and the rest.
    fn separate(&self, sum: &IterSum, by: &IntExpr) -> (IterSum, IterSum) {
        let (mut whole, mut rest) = (IterSum::constant(0.into()), IterSum::constant(0.into()));
        for split in &sum.splits {
            match self.exact(&split.scale, by) {
                Some(scale) => whole.splits.push(split.scaled(scale)),
                None => rest.splits.push(split.clone()),
            }
        }
        whole.base = self.prover.simplify(&sum.base.floor_div(by));
        rest.base = self.prover.simplify(&(&sum.base - &whole.base * by));
        (whole, rest)
    }

    /// Whether the values of `rest`, which begin at its base, stay in one period of the divisor.
    fn within_period(&self, rest: &IterSum, by: &IntExpr) -> bool {
        let mut last = rest.base.clone();
        for split in &rest.splits {
            if !self.prover.prove_ge0(&split.scale) {
                return false;
            }
            last = last + &split.scale * (&split.extent - 1);
        }
        self.prover.prove_ge0(&rest.base) && self.prover.prove_lt(&last, by)
    }

    fn quotient(&self, sum: IterSum, by: &IntExpr) -> Result<IterSum, IterMapError> {
        let (mut whole, rest) = self.separate(&self.constrained(sum), by);
        if self.within_period(&rest, by) {
            return Ok(whole);
        }
        let Chain { splits, step, lifted } = self.chain_of(&rest, by)?;
        let (_, high) = self.cut(&splits, &step)?;
        self.add_scaled(&mut whole, &IterSum { splits: high, base: 0.into() }, &1.into());
        self.add_scaled(&mut whole, &IterSum { splits: lifted, base: 0.into() }, &(-1).into());
        Ok(whole)
    }

    fn remainder(&self, sum: IterSum, by: &IntExpr) -> Result<IterSum, IterMapError> {
        let (_, rest) = self.separate(&self.constrained(sum), by);
        if self.within_period(&rest, by) {
            return Ok(rest);
        }
        let Chain { splits, step, .. } = self.chain_of(&rest, by)?;
        let (low, _) = self.cut(&splits, &step)?;
        let unit = self.exact(by, &step).unwrap_or_else(|| 1.into());
        let mut out = IterSum::constant(0.into());
        self.add_scaled(&mut out, &IterSum { splits: low, base: 0.into() }, &unit);
        Ok(out)
    }

    /// The rest of a division as a chain.
    fn chain_of(&self, rest: &IterSum, by: &IntExpr) -> Result<Chain, IterMapError> {
        let gaps = || IterMapError::Gaps(rest.to_expr());
        if !rest.base.is_zero() {
            return Err(gaps());
        }
        let fused = self.fuse(rest).map(|(splits, unit)| (splits, unit, Vec::new()));
        let (splits, unit, lifted) = fused.ok().or_else(|| self.lift(rest, by)).ok_or_else(gaps)?;
        let step = self.exact(by, &unit).ok_or_else(gaps)?;
        Ok(Chain { splits, step, lifted })
    }

    /// A chain whose scales are those of `rest` but for multiples of the divisor, as the constructors of divisions take
    /// them out; its unit; and what it has more than `rest`, over the divisor.
    fn lift(&self, rest: &IterSum, by: &IntExpr) -> Option<(Vec<IterSplit>, IntExpr, Vec<IterSplit>)> {
        (0..rest.splits.len()).find_map(|first| {
            let unit = rest.splits[first].scale.clone();
            self.exact(by, &unit).filter(|_| self.prover.prove_ge0(&(&unit - 1)))?;
            let (mut chain, mut lifted) = (Vec::new(), Vec::new());
            let (mut left, mut scale) = (rest.splits.clone(), IntExpr::constant(1));
            while !left.is_empty() {
                let wanted = &scale * &unit;
                let more = |it: &IterSplit| self.exact(&(&wanted - &it.scale), by);
                let start = if chain.is_empty() { first } else { 0 };
                let (at, more) = left.iter().enumerate().skip(start).find_map(|(at, it)| Some((at, more(it)?)))?;
                let split = left.remove(at);
                if !more.is_zero() {
                    lifted.push(split.scaled(more));
                }
                chain.push(split.scaled(scale.clone()));
                scale = scale * &split.extent;
            }
            let chain = self.merged(IterSum { splits: chain, base: 0.into() }).splits;
            Some((chain, unit, lifted))
        })
    }

    pub(super) fn equal(&self, a: &IntExpr, b: &IntExpr) -> bool {
        a == b || self.prover.prove_eq(a, b)
    }

    /// `a / b` where that leaves nothing.
    pub(super) fn exact(&self, a: &IntExpr, b: &IntExpr) -> Option<IntExpr> {
        if let Some(c) = b.as_const() {
            let known = a.exact_quotient(c);
            return known.or_else(|| (c > 0 && self.prover.prove_divisible(a, c)).then(|| a.floor_div(b)));
        }
        if a.is_zero() || a == b {
            return Some(i64::from(!a.is_zero()).into());
        }
        let ((lead, k), constant) = (b.terms().first()?, a.constant_term());
        let candidates = a.terms().iter().filter_map(|(monomial, c)| {
            let rest = monomial.over(lead)?;
            let c = (c.checked_rem(*k)? == 0).then(|| c / k)?;
            Some(rest.map_or(IntExpr::constant(c), |it| IntExpr::from_monomial(it, c)))
        });
        let candidates: Vec<IntExpr> = candidates.collect();
        if b.terms().len() == 1 && b.constant_term() == 0 && constant == 0 && candidates.len() == a.terms().len() {
            return Some(candidates.into_iter().fold(0.into(), |sum, it| sum + it));
        }
        candidates.into_iter().find(|it| it * b == *a)
    }
}
