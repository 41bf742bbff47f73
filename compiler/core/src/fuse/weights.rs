//! Weights of 8 bits that a product dequantises as it reads them.

use tenfold_ir::tir::{Expr, IterKind, PrimFunc, Stmt, VarId, Viewer};

use super::access::{Access, accesses, names};
use super::pattern::is_byte;
use super::stage::{Stage, Staged};

/// Rows up to which a product converts the same weight again: each tile of rows does so, in about a quarter of the time
/// that it multiplies in, and written out the weights would be stored once and loaded in four times the bytes.
pub(crate) const FEW_ROWS: i64 = 64;

/// Whether every number of 8 bits that the reductions of a kernel read is a weight: it lies along the last axis of the
/// result, so that vectors of it are converted, and few rows or an unknown number of them read it.
pub(super) fn few_rows(func: &PrimFunc) -> bool {
    let Some(staged) = Staged::of(func) else { return false };
    let func = staged.b.func();
    let reduces = |s: &&Stage| s.iters.iter().any(|i| i.kind == IterKind::Reduce);
    staged.stages.iter().filter(reduces).all(|stage| {
        let byte = |a: &Access| !a.write && is_byte(func.buffers[a.buf.0 as usize].dtype);
        accesses(func, stage).iter().filter(|a| byte(a)).all(|a| is_weight(func, stage, a))
    })
}

fn is_weight(func: &PrimFunc, stage: &Stage, access: &Access) -> bool {
    let Stmt::Store { index, .. } = &stage.body else { return false };
    let last = index.last().and_then(|id| match func.exprs.get(*id) {
        Expr::Var(var) => Some(*var),
        _ => None,
    });
    let reads = |var: VarId| access.index.iter().any(|id| names(func, *id, var));
    let rows = stage.iters.iter().filter(|i| i.kind == IterKind::Spatial && !reads(i.var));
    let mut extents = rows.map(|i| Viewer::new(func).int(i.extent).as_const());
    let times = extents.try_fold(1_i64, |all, n| Some(all.saturating_mul(n?)));
    last.is_some_and(reads) && times.is_none_or(|n| n <= FEW_ROWS)
}
