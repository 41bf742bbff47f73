//! The rule for windows: maxima and averages of pools, in whatever layout.
//!
//! No operand is padded. Windows that lie inside of it are taken without conditions; those that leave it ask once for
//! each row, or for each element that all channels share, whether it is there.
//!
//! Where channels lie side by side, they are the vectors. Else vectors run along rows of the operand: what is made of
//! all rows of a window stands in a buffer that the first cache holds, the start of a window on both sides of it, and
//! windows are made of neighbours in that buffer. So a window of 3 by 3 costs two operations per element of a row and
//! two per window, and windows that are some elements apart are picked out of whole vectors.
//!
//! Elements of floats are put together row by row in each column, then column by column; strict functions keep them in
//! the order of the window.

mod border;
mod channels;
mod counts;
mod rows;
mod vectors;
mod window;

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::tir::{BufId, Builder, ExprId, IterKind, PrimFunc, Scope, Stmt, VarId, verify_bounds};

use super::fallback;
use super::machine::Machine;
use super::{Chosen, Taken, has_vectors};
use crate::fuse::access::{Axis, accesses, axes, loads};
use crate::fuse::stage::{Stage, Staged};
use crate::target::Target;
use crate::tune::Asked;
use window::Pool;

/// What keeps windows of a kernel from being taken.
const UNKNOWN_NEIGHBOURS: &str = "windows read neighbours neither along channels nor along rows";

/// The kernel with its windows in vectors; nothing where it has none.
pub(super) fn apply(module: &Module, func: &PrimFunc, machine: &Machine, asked: &Asked) -> Option<Taken> {
    scheduled(module, func, machine, asked)?.ok()
}

/// Why windows of a kernel are not taken; nothing where they are, or there are none.
pub(super) fn refused(module: &Module, func: &PrimFunc, machine: &Machine) -> Option<&'static str> {
    scheduled(module, func, machine, &Asked::nobody())?.err()
}

/// Whether pools for a target need no operand that is padded.
pub(crate) fn needs_no_padding(target: &Target) -> bool {
    has_vectors(target)
}

fn scheduled(
    module: &Module,
    func: &PrimFunc,
    machine: &Machine,
    asked: &Asked,
) -> Option<Result<Taken, &'static str>> {
    let mut staged = Staged::of(func)?;
    let stages = std::mem::take(&mut staged.stages);
    let mut chosen = None;
    let mut n = 0;
    while let Some(stage) = stages.get(n) {
        n += 1;
        let Some(mut pool) = Pool::of(staged.b.func(), stage) else {
            staged.stages.push(stage.clone());
            continue;
        };
        if followed(&mut staged.b, &stages, n - 1, &mut pool) {
            n += 1;
        }
        match taken(&mut staged, stage, &pool, machine) {
            Ok(said) => chosen.get_or_insert_with(Chosen::new).extend(said),
            Err(why) => return Some(Err(why)),
        }
    }
    let chosen = chosen?;
    let used = |buf: &BufId| staged.stages.iter().any(|s| accesses(staged.b.func(), s).iter().any(|a| a.buf == *buf));
    let kept: Vec<BufId> = staged.allocs.iter().copied().filter(used).collect();
    staged.allocs = kept;
    let (func, more) = fallback::in_shared_loops(module, staged, machine, asked);
    // Every index is proven once more: a symbolic extent may be in the way.
    if !verify_bounds(&func).is_empty() {
        return Some(Err("not every index is proven to lie in its buffer"));
    }
    Some(Ok(Taken { func, chosen: chosen.into_iter().chain(more).collect() }))
}

fn taken(staged: &mut Staged, stage: &Stage, pool: &Pool, machine: &Machine) -> Result<Chosen, &'static str> {
    if let Some(channel) = channels::channel(staged.b.func(), stage, pool) {
        return Ok(channels::taken(staged, stage, pool, channel, machine));
    }
    let column = rows::column(staged.b.func(), pool).ok_or(UNKNOWN_NEIGHBOURS)?;
    rows::taken(staged, stage, pool, column, machine)
}

/// Takes up the stage behind a pool, if it alone reads the results and makes one element of each.
fn followed(b: &mut Builder, stages: &[Stage], n: usize, pool: &mut Pool) -> bool {
    let func = b.func();
    let Some(next) = stages.get(n + 1) else { return false };
    let Stmt::Store { buf, index, value, .. } = &next.body else { return false };
    let plain = next.init.is_none() && next.iters.iter().all(|i| i.kind == IterKind::Spatial);
    let between = func.buffers[pool.buf.0 as usize].scope != Scope::Param;
    let touches = |s: &Stage| accesses(func, s).iter().any(|a| a.buf == pool.buf);
    let alone = stages.iter().enumerate().all(|(m, s)| m == n || m == n + 1 || !touches(s));
    let own = loads(func, [pool.term]).iter().any(|a| a.buf == *buf);
    let Some(of) = linked(func, &stages[n], pool, next).filter(|_| plain && between && alone && !own) else {
        return false;
    };
    let (buf, index, value) = (*buf, index.clone(), *value);
    let to: BTreeMap<VarId, ExprId> = of.into_iter().map(|(new, old)| (new, b.read(old))).collect();
    pool.follow(b, value, (buf, index), &to);
    true
}

/// The iterator of a pool for each one of the stage behind it, where that reads results by one of each.
fn linked(func: &PrimFunc, stage: &Stage, pool: &Pool, next: &Stage) -> Option<BTreeMap<VarId, VarId>> {
    let made = axes(func, &pool.index);
    let mut of = BTreeMap::new();
    let Stmt::Store { value, .. } = &next.body else { return None };
    let reads: Vec<_> = loads(func, [*value]).into_iter().filter(|a| a.buf == pool.buf).collect();
    for (made, read) in reads.iter().flat_map(|a| made.iter().zip(axes(func, &a.index))) {
        match (made, read) {
            (Axis::Iter(old, 0), Axis::Iter(new, 0)) => {
                let extent =
                    |s: &Stage, v: VarId| s.iters.iter().find(|i| i.var == v).map(|i| func.exprs.get(i.extent));
                if of.insert(new, *old).is_some_and(|other| other != *old) || extent(stage, *old) != extent(next, new) {
                    return None;
                }
            }
            (Axis::Fixed(a), Axis::Fixed(b)) if *a == b => {}
            _ => return None,
        }
    }
    let each = of.len() == next.iters.len() && stage.iters.len() == of.len();
    (each && !reads.is_empty()).then_some(of)
}
