//! A map divided into what outer loops do and what inner loops do.

use super::super::domain::Domain;
use super::super::expr::IntExpr;
use super::super::fact::Fact;
use super::super::prover::Prover;
use super::super::sym::Sym;
use super::{IterMap, IterMapError, IterMapLevel, IterSplit, IterSum, detect_iter_map};
use std::collections::BTreeSet;

/// `index = outer * inner_extent + inner` for each index of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subspace {
    /// What the outer loops give of each index.
    pub outer: Vec<IterSum>,
    /// How many values that has.
    pub outer_extents: Vec<IntExpr>,
    /// What the inner loops give of each index, from 0 on.
    pub inner: Vec<IterSum>,
    /// How many values that has.
    pub inner_extents: Vec<IntExpr>,
    /// Conditions on outer loops.
    pub outer_predicates: Vec<Fact>,
    /// Conditions on inner loops.
    pub inner_predicates: Vec<Fact>,
}

/// Divides the map of `indices` at the loops `inner`, as making a block of a loop nest needs it: the outer block
/// iterates over `outer`, the inner one over `inner`.
///
/// ```
/// use tenfold_arith::{Domain, IntExpr, IterMapLevel, Prover, Sym, subspace_divide};
/// let e = |text| IntExpr::parse(text).unwrap();
/// let domain = Domain::boxed([("io", e("N")), ("j", e("M")), ("ii", e("8"))]);
/// let indices = [e("8*io + ii"), e("j")];
/// let level = IterMapLevel::Bijective;
/// let parts = subspace_divide(&indices, &domain, &[Sym::new("ii")], &[], level, &Prover::new()).unwrap();
/// assert_eq!(parts.outer[0].to_expr(), e("io"));
/// assert_eq!(parts.inner[0].to_expr(), e("ii"));
/// assert_eq!(parts.inner_extents, [e("8"), e("1")]);
/// ```
///
/// # Errors
/// As [`detect_iter_map`]; and where the inner loops are not the low part of an index, or one condition or one fused
/// iteration has loops of both kinds.
pub fn subspace_divide(
    indices: &[IntExpr],
    domain: &Domain,
    inner: &[Sym],
    predicates: &[Fact],
    level: IterMapLevel,
    prover: &Prover,
) -> Result<Subspace, IterMapError> {
    let level = if level == IterMapLevel::Affine { IterMapLevel::Surjective } else { level };
    detect_iter_map(indices, domain, predicates, level, prover)?.divide(inner)
}

impl IterMap {
    /// Divides a map that is at least surjective at the loops `inner`.
    ///
    /// # Errors
    /// As [`subspace_divide`].
    pub fn divide(&self, inner: &[Sym]) -> Result<Subspace, IterMapError> {
        let inner: BTreeSet<Sym> = inner.iter().cloned().collect();
        let mut out = Subspace {
            outer: Vec::new(),
            outer_extents: Vec::new(),
            inner: Vec::new(),
            inner_extents: Vec::new(),
            outer_predicates: Vec::new(),
            inner_predicates: Vec::new(),
        };
        self.indices.iter().try_for_each(|index| out.index(index, &inner))?;
        self.predicates.iter().try_for_each(|fact| out.predicate(fact, &inner, &self.domain))?;
        Ok(out)
    }
}

impl Subspace {
    fn index(&mut self, index: &IterSum, loops: &BTreeSet<Sym>) -> Result<(), IterMapError> {
        let mixed = || IterMapError::Mixed(index.to_expr());
        let (mut low, mut high): (Vec<IterSplit>, Vec<IterSplit>) = (Vec::new(), Vec::new());
        let (mut extent, mut outer) = (IntExpr::constant(1), IntExpr::constant(1));
        for split in &index.splits {
            let vars = split.mark.vars();
            if vars.is_subset(loops) && high.is_empty() {
                extent = extent * &split.extent;
                low.push(split.clone());
            } else if vars.is_disjoint(loops) {
                high.push(split.scaled(outer.clone()));
                outer = outer * &split.extent;
            } else {
                return Err(mixed());
            }
        }
        // The base goes to the outer part; the inner one begins at 0.
        let base = match index.base.as_const() {
            Some(0) => index.base.clone(),
            _ if extent.as_const() == Some(1) => index.base.clone(),
            _ => extent.as_const().and_then(|c| index.base.exact_quotient(c)).ok_or_else(mixed)?,
        };
        self.outer.push(IterSum { splits: high, base });
        self.outer_extents.push(outer);
        self.inner.push(IterSum { splits: low, base: 0.into() });
        self.inner_extents.push(extent);
        Ok(())
    }

    fn predicate(&mut self, fact: &Fact, loops: &BTreeSet<Sym>, domain: &Domain) -> Result<(), IterMapError> {
        let vars: BTreeSet<Sym> = fact.vars().into_iter().filter(|sym| domain.binds(sym)).collect();
        if vars.is_subset(loops) {
            self.inner_predicates.push(fact.clone());
        } else if vars.is_disjoint(loops) {
            self.outer_predicates.push(fact.clone());
        } else {
            return Err(IterMapError::Predicate(fact.clone()));
        }
        Ok(())
    }
}
