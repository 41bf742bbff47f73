//! Stages made ready: starts of reductions stand alone, and accumulators of single elements have buffers of their own.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, IterKind, LoopKind, Scope, Stmt, VarId, substitution};

use crate::fuse::access::{Access, Axis, accesses, axes, names};
use crate::fuse::stage::{Iter, Stage, Staged, renamed};

/// Moves the start of every reduction into a stage of its own before it.
pub(super) fn split_starts(staged: &mut Staged) {
    for mut stage in std::mem::take(&mut staged.stages) {
        if let Some(init) = stage.init.take() {
            let start = start(&mut staged.b, &stage, init);
            staged.stages.push(start);
        }
        staged.stages.push(stage);
    }
}

fn start(b: &mut Builder, stage: &Stage, init: Stmt) -> Stage {
    let kept = stage.iters.iter().filter(|i| i.kind == IterKind::Spatial);
    let (iters, to) = renamed(b, kept);
    let body = substitution(&to).stmt(b, init);
    Stage { name: format!("{}_start", stage.name), iters, init: None, body, loc: stage.loc }
}

/// Whether a stage accumulates.
pub(super) fn reduces(stage: &Stage) -> bool {
    stage.iters.iter().any(|i| i.kind != IterKind::Spatial)
}

/// The innermost variable of every reduction that is better taken along the rows of its result.
pub(super) fn columns(staged: &Staged) -> BTreeMap<usize, VarId> {
    let of = |(n, stage): (usize, &Stage)| column(staged, stage).map(|v| (n, v));
    staged.stages.iter().enumerate().filter_map(of).collect()
}

/// The variable of the result's last axis, if operands are read along it or not along it at all.
fn column(staged: &Staged, stage: &Stage) -> Option<VarId> {
    let func = staged.b.func();
    if !reduces(stage) {
        return None;
    }
    let all = accesses(func, stage);
    // What is accumulated is stored last.
    let written = all.iter().rfind(|a| a.write)?;
    let Some(Axis::Iter(var, _)) = axes(func, &written.index).into_iter().rfind(|a| matches!(a, Axis::Iter(..))) else {
        return None;
    };
    let along = |a: &Access| {
        let uses: Vec<usize> = (0..a.index.len()).filter(|n| names(func, a.index[*n], var)).collect();
        // An axis of extent 1 behind it does not part neighbours.
        let last = a.index.iter().rposition(|i| !matches!(func.exprs.get(*i), Expr::Index(_)));
        uses.is_empty() || uses.last().copied() == last && uses.len() == 1
    };
    let reads: Vec<&Access> = all.iter().filter(|a| !a.write && a.buf != written.buf).collect();
    let any = reads.iter().any(|a| a.index.iter().any(|i| names(func, *i, var)));
    (any && reads.iter().all(|a| along(a))).then_some(var)
}

/// Lets reductions that are taken element by element accumulate in a buffer of their own, which becomes a scalar.
/// Stages move; so do their columns.
pub(super) fn own_accumulators(staged: &mut Staged, columns: BTreeMap<usize, VarId>) -> BTreeMap<usize, VarId> {
    let columns: BTreeSet<VarId> = columns.into_values().collect();
    let mut n = 0;
    while n < staged.stages.len() {
        let stage = &staged.stages[n];
        if reduces(stage) && !stage.iters.iter().any(|i| columns.contains(&i.var)) && accumulator(staged, n).is_some() {
            n += 1;
        }
        n += 1;
    }
    let column = |s: &Stage| s.iters.iter().map(|i| i.var).find(|v| columns.contains(v) && reduces(s));
    staged.stages.iter().enumerate().filter_map(|(n, s)| column(s).map(|v| (n, v))).collect()
}

/// Gives the reduction `n` an accumulator, if it and its start alone touch a parameter.
fn accumulator(staged: &mut Staged, n: usize) -> Option<()> {
    let func = staged.b.func();
    let target = accesses(func, &staged.stages[n]).into_iter().find(|a| a.write)?;
    if func.buffers[target.buf.0 as usize].scope != Scope::Param {
        return None;
    }
    let kept: Vec<bool> = axes(func, &target.index).iter().map(|a| matches!(a, Axis::Iter(_, 0))).collect();
    let fits = |a: &Axis| matches!(a, Axis::Iter(_, 0) | Axis::Fixed(_));
    let touching = |s: &Stage| accesses(func, s).into_iter().filter(|a| a.buf == target.buf).collect::<Vec<_>>();
    let users: Vec<usize> = (0..staged.stages.len()).filter(|m| !touching(&staged.stages[*m]).is_empty()).collect();
    let [first, last] = users[..] else { return None };
    let plain = [first, last].iter().all(|m| {
        touching(&staged.stages[*m]).iter().all(|a| {
            let axes = axes(func, &a.index);
            axes.iter().all(fits) && axes.iter().zip(&kept).all(|(a, k)| matches!(a, Axis::Iter(..)) == *k)
        })
    });
    if last != n || !plain || reduces(&staged.stages[first]) {
        return None;
    }
    let data = staged.b.buf(target.buf).clone();
    let shape = data.shape.iter().zip(&kept).filter(|(_, k)| **k).map(|(d, _)| d.clone()).collect();
    let acc = staged.b.buffer("acc", data.dtype, shape, Scope::Global);
    staged.allocs.push(acc);
    for m in [first, last] {
        let body = std::mem::replace(&mut staged.stages[m].body, Stmt::nop());
        staged.stages[m].body = retarget(&mut staged.b, body, target.buf, acc, &kept);
    }
    let copy = copy_out(staged, n, target, acc, &kept);
    staged.stages.insert(n + 1, copy);
    Some(())
}

/// Accesses to `from` become accesses to `to`, which has the axes that are kept.
fn retarget(b: &mut Builder, stmt: Stmt, from: BufId, to: BufId, kept: &[bool]) -> Stmt {
    let keep = |index: &[ExprId]| index.iter().zip(kept).filter(|(_, k)| **k).map(|(i, _)| *i).collect::<Vec<_>>();
    super::write::redirected(b, stmt, &|_, buf, index| (buf == from).then(|| (to, keep(index))))
}

/// `target = acc`, over the spatial variables of stage `n`.
fn copy_out(staged: &mut Staged, n: usize, target: Access, acc: BufId, kept: &[bool]) -> Stage {
    let stage = &staged.stages[n];
    let (name, loc) = (format!("{}_result", stage.name), stage.loc);
    let spatial: Vec<Iter> = stage.iters.iter().filter(|i| i.kind == IterKind::Spatial).cloned().collect();
    let b = &mut staged.b;
    let index = target.index.iter().zip(kept).filter(|(_, k)| **k).map(|(i, _)| *i).collect();
    let value = b.load(acc, index, tenfold_ir::tir::Access::Proven);
    let access = tenfold_ir::tir::Access::Proven;
    let body = Stmt::Store { buf: target.buf, index: target.index, value, access };
    let (mut iters, to) = renamed(b, spatial.iter());
    let body = substitution(&to).stmt(b, body);
    iters.iter_mut().for_each(|i| i.order = LoopKind::Serial);
    Stage { name, iters, init: None, body, loc }
}
