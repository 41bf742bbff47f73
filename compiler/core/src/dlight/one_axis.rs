//! Axes that lie behind each other on both sides of a movement, as one.

use std::collections::BTreeMap;

use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, Stmt, VarId, Viewer, substitution};

use super::walk::step;
use crate::fuse::stage::{Iter, Stage};

/// The stage with one iterator for this one and all that go on where it ends, in what is stored and in the element that
/// is, and that iterator. (TVM: fuse.)
pub(super) fn one_axis(b: &mut Builder, stage: Stage, inner: VarId) -> (Stage, VarId) {
    match chain(b, &stage, inner) {
        Some(chain) if chain.len() > 1 => fused(b, stage, &chain),
        Some(_) | None => (stage, inner),
    }
}

/// The iterators, innermost first, with their extents.
fn chain(b: &Builder, stage: &Stage, inner: VarId) -> Option<Vec<(VarId, i64)>> {
    let func = b.func();
    let Stmt::Store { buf, index, value, .. } = &stage.body else { return None };
    let Expr::Load { buf: from, index: at, .. } = func.exprs.get(*value) else { return None };
    let mut viewer = Viewer::new(func);
    let mut links = Vec::new();
    for iter in &stage.iters {
        let sym = viewer.sym(iter.var);
        let mut apart = |buf: BufId, index: &[ExprId]| step(&mut viewer, buf, index, &sym);
        let steps = apart(*buf, index).zip(apart(*from, at));
        let extent = viewer.int(iter.extent).as_const();
        links.extend(steps.zip(extent).map(|(steps, extent)| (iter.var, extent, steps)));
    }
    let ends = |(_, extent, (written, read)): &(VarId, i64, (i64, i64))| {
        Some((written.checked_mul(*extent)?, read.checked_mul(*extent)?))
    };
    let mut last = links.iter().find(|(var, ..)| *var == inner)?;
    let mut chain = vec![(inner, last.1)];
    while let Some(next) = links.iter().find(|link| Some(link.2) == ends(last) && chain.iter().all(|c| c.0 != link.0)) {
        chain.push((next.0, next.1));
        last = next;
    }
    Some(chain)
}

/// One iterator in the place of the innermost; the others are what is left of it.
fn fused(b: &mut Builder, stage: Stage, chain: &[(VarId, i64)]) -> (Stage, VarId) {
    let names: Vec<String> = chain.iter().rev().map(|(var, _)| b.sym(*var).to_string()).collect();
    let whole = b.index_var(&names.join("_"));
    let mut rest = b.read(whole);
    let mut to = BTreeMap::new();
    for (n, (var, extent)) in chain.iter().enumerate() {
        let extent = b.index(*extent);
        let outermost = n + 1 == chain.len();
        to.insert(*var, if outermost { rest } else { b.binary(BinaryOp::RemEuclid, rest, extent) });
        rest = b.binary(BinaryOp::DivEuclid, rest, extent);
    }
    let extent = b.index(chain.iter().map(|(_, extent)| extent).product());
    let mut iters = Vec::new();
    for iter in &stage.iters {
        if iter.var == chain[0].0 {
            iters.push(Iter { var: whole, extent, ..iter.clone() });
        } else if !to.contains_key(&iter.var) {
            iters.push(iter.clone());
        }
    }
    let body = substitution(&to).stmt(b, stage.body.clone());
    (Stage { iters, body, ..stage }, whole)
}
