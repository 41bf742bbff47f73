//! Whether a map reaches its box, and each point once.

use super::super::expr::IntExpr;
use super::detect::Detector;
use super::{IterMap, IterMapError, IterMapLevel, IterMark, IterSource, IterSplit, IterSum};
use std::collections::BTreeMap;
use std::sync::Arc;

type Uses = BTreeMap<Arc<IterMark>, Vec<IterSplit>>;

/// Orders the splits of each index, fills in the extents and refuses what is less than `level`.
pub(super) fn check(map: &mut IterMap, detector: &Detector<'_>, level: IterMapLevel) -> Result<(), IterMapError> {
    if level == IterMapLevel::Affine {
        map.extents = map.indices.iter().map(span).collect();
        return Ok(());
    }
    for index in &mut map.indices {
        let (chain, unit) = detector.fuse(index)?;
        if unit.as_const() != Some(1) {
            return Err(IterMapError::Gaps(index.to_expr()));
        }
        map.extents.push(Detector::length(&chain));
        index.splits = chain;
    }
    let mut uses = Uses::new();
    map.indices.iter().for_each(|index| collect(index, &mut uses));
    for (mark, splits) in &uses {
        independent(detector, mark, splits)?;
        if level == IterMapLevel::Bijective {
            complete(detector, mark, splits)?;
        }
    }
    conditions(detector, &uses, level)?;
    if level == IterMapLevel::Bijective { loops(detector, &uses) } else { Ok(()) }
}

/// How far the values of a sum lie apart, and one.
fn span(sum: &IterSum) -> IntExpr {
    sum.splits.iter().fold(1.into(), |all: IntExpr, it| all + &it.scale * (&it.extent - 1))
}

/// Adds the splits of a sum to those of their marks; a fused mark uses its parts once, however often it is used.
fn collect(sum: &IterSum, uses: &mut Uses) {
    for split in &sum.splits {
        let known = uses.entry(split.mark.clone()).or_default();
        known.push(split.clone());
        if let (IterSource::Sum(inner), 1) = (&split.mark.source, known.len()) {
            collect(inner, uses);
        }
    }
}

/// Whether the splits of one mark take all combinations of their values.
fn independent(detector: &Detector<'_>, mark: &IterMark, splits: &[IterSplit]) -> Result<(), IterMapError> {
    let overlap = || IterMapError::Overlap(mark.to_expr());
    for (at, a) in splits.iter().enumerate() {
        for b in &splits[at + 1..] {
            let apart =
                |low: &IterSplit, high: &IterSplit| detector.exact(&high.lower, &(&low.lower * &low.extent)).is_some();
            if !(apart(a, b) || apart(b, a)) {
                return Err(overlap());
            }
        }
        let whole = detector.prover.prove_le(&(&a.lower * &a.extent), &mark.extent);
        let alone = || splits.len() == 1 && detector.prover.prove_lt(&(&a.lower * (&a.extent - 1)), &mark.extent);
        if !(whole || alone()) {
            return Err(overlap());
        }
    }
    Ok(())
}

/// Whether the splits of one mark, of which it is known that they are independent, tell all its values apart.
fn complete(detector: &Detector<'_>, mark: &IterMark, splits: &[IterSplit]) -> Result<(), IterMapError> {
    let product = splits.iter().fold(1.into(), |product: IntExpr, it| product * &it.extent);
    if detector.equal(&product, &mark.extent) {
        return Ok(());
    }
    let name = mark.vars().into_iter().next();
    Err(name.map_or_else(|| IterMapError::Overlap(mark.to_expr()), IterMapError::Unused))
}

/// A condition holds of what the map uses only if the map uses the condition's mark.
fn conditions(detector: &Detector<'_>, uses: &Uses, level: IterMapLevel) -> Result<(), IterMapError> {
    for constraint in &detector.constraints {
        let mark = &constraint.mark;
        let parts = constraint.chain.iter().any(|it| touches(uses, it));
        let unused = level == IterMapLevel::Surjective && !parts;
        if !(uses.contains_key(mark) || unused) {
            return Err(IterMapError::Overlap(mark.to_expr()));
        }
    }
    Ok(())
}

fn touches(uses: &Uses, part: &IterSplit) -> bool {
    let vars = part.mark.vars();
    uses.keys().any(|mark| !mark.vars().is_disjoint(&vars))
}

/// Whether each loop is used.
fn loops(detector: &Detector<'_>, uses: &Uses) -> Result<(), IterMapError> {
    let unused = |(_, mark): &(_, &Arc<IterMark>)| !uses.contains_key(*mark) && mark.extent.as_const() != Some(1);
    match detector.marks.iter().find(unused) {
        Some((sym, _)) => Err(IterMapError::Unused(sym.clone())),
        None => Ok(()),
    }
}
