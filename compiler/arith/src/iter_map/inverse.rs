//! Loop variables from indices.

use super::super::expr::IntExpr;
use super::super::sym::Sym;
use super::{IterMap, IterMark, IterSource, IterSum};
use std::collections::BTreeMap;
use std::sync::Arc;

type Values = BTreeMap<Arc<IterMark>, IntExpr>;

impl IterMap {
    /// Each loop variable as an expression of the values of the indices, in the order of the loops. The map must be
    /// bijective; `outputs` are the values of its indices. Of variables that a lesser map drops the first value stands.
    pub fn inverse(&self, outputs: &[IntExpr]) -> Vec<(Sym, IntExpr)> {
        let mut values = Values::new();
        for (index, output) in self.indices.iter().zip(outputs) {
            spread(index, output, &mut values);
        }
        // A fused mark is complete once every sum that uses it was spread, so the outermost go first.
        let mut fused: Vec<Arc<IterMark>> = Vec::new();
        self.indices.iter().for_each(|index| order(index, &mut fused));
        for mark in fused.iter().rev() {
            if let (IterSource::Sum(inner), Some(value)) = (&mark.source, values.get(mark).cloned()) {
                spread(inner, &value, &mut values);
            }
        }
        self.domain.loops().iter().map(|(sym, range)| (sym.clone(), value_of(sym, &range.min, &values))).collect()
    }
}

/// Fused marks, each behind those inside of it.
fn order(sum: &IterSum, out: &mut Vec<Arc<IterMark>>) {
    for split in &sum.splits {
        if let IterSource::Sum(inner) = &split.mark.source
            && !out.contains(&split.mark)
        {
            order(inner, out);
            out.push(split.mark.clone());
        }
    }
}

/// What the value of a chain says of the marks of its splits.
fn spread(sum: &IterSum, value: &IntExpr, values: &mut Values) {
    let value = value - &sum.base;
    for (at, split) in sum.splits.iter().enumerate() {
        let quotient = value.floor_div(&split.scale);
        let last = at + 1 == sum.splits.len();
        let part = if last { quotient } else { quotient.floor_mod(&split.extent) };
        let known = values.entry(split.mark.clone()).or_insert_with(|| 0.into());
        *known = &*known + part * &split.lower;
    }
}

fn value_of(sym: &Sym, min: &IntExpr, values: &Values) -> IntExpr {
    let found = values.iter().find(|(mark, _)| matches!(&mark.source, IterSource::Var(it, _) if it == sym));
    found.map_or_else(|| min.clone(), |(_, value)| value + min)
}
