//! Chains that lie side by side: a row of them at a time, in vectors.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{Builder, ExprId, IterKind, LoopKind, PrimFunc, Stmt, VarId, Viewer, own_accesses};

use super::carried::{Carried, Piece, replaced, stage_of};
use crate::dlight::Chosen;
use crate::dlight::machine::Machine;
use crate::dlight::parts::{Part, even, parts};
use crate::dlight::walk::step;
use crate::fuse::stage::{Iter, Stage, Staged, renamed};
use crate::tune::Asked;

/// Turns from which on what is carried is better kept for many chains than for as many as registers hold: each row of
/// an operand is read from its beginning to its end.
const LONG: i64 = 32;

/// Fewer chains side by side than that are no vectors.
const FEW: i64 = 4;

/// Bytes of what the chains of a tile carry, which stays in the first cache beside what is read.
const CARRIED: i64 = 4 << 10;

/// Others that may be asked for.
const ASKED: [i64; 4] = [1 << 10, 2 << 10, 4 << 10, 8 << 10];

/// The iterator whose chains lie side by side in every operand and result.
pub(super) fn along(func: &PrimFunc, stage: &Stage, carried: &Carried) -> Option<VarId> {
    let last = stage.iters.last()?;
    let viewer = &mut Viewer::new(func);
    let count = viewer.int(last.extent).as_const();
    let sym = viewer.sym(last.var);
    let mut all = Vec::new();
    stage.body.walk(&mut |s| all.extend(own_accesses(func, s)));
    let mut beside = all.iter().filter(|a| !carried.locals.contains(&a.buf)).all(|a| {
        let by = a.index.as_ref().and_then(|index| step(viewer, a.buf, index, &sym));
        by == Some(1) || by == Some(0) && !a.write
    });
    beside &= count.is_none_or(|n| n >= FEW) && carried.turns(func).is_none_or(|n| n >= LONG);
    (beside && !carried.turns_by(func, last.var)).then_some(last.var)
}

/// Puts the chains of a stage into tiles.
pub(super) fn taken(
    staged: &mut Staged,
    stage: &Stage,
    carried: &Carried,
    column: VarId,
    machine: &Machine,
    asked: &Asked,
) -> Chosen {
    let b = &mut staged.b;
    let bytes = |b: &Builder| carried.locals.iter().map(|l| b.buf(*l).dtype.size_bytes() as i64).sum::<i64>().max(1);
    let most = asked.number("carried", CARRIED, ASKED) / bytes(b);
    let extent = stage.iters.iter().find(|i| i.var == column).map(|i| Viewer::new(b.func()).int(i.extent));
    let extent = extent.unwrap_or_else(|| IntExpr::from(1));
    let width = even(&extent, most, machine.vector_bytes);
    for part in parts(&extent, width) {
        let stage = tiled(b, stage, carried, column, &part);
        staged.stages.push(stage);
    }
    vec![("chains", format!("{width} side by side: what they carry stays in the first cache"))]
}

/// The stage over a part of its chains.
fn tiled(b: &mut Builder, stage: &Stage, carried: &Carried, column: VarId, part: &Part) -> Stage {
    let (mut iters, to) = renamed(b, stage.iters.iter().filter(|i| i.var != column));
    let (width, mut first) = (b.int_expr(&part.width), b.int_expr(&part.begin));
    if part.tiles.as_const() != Some(1) {
        let (tile, extent) = (b.index_var("tile"), b.int_expr(&part.tiles));
        iters.push(Iter { var: tile, extent, kind: IterKind::Spatial, order: LoopKind::Serial });
        let tile = b.read(tile);
        let from = b.mul(tile, width);
        first = if part.begin.as_const() == Some(0) { from } else { b.add(first, from) };
    }
    let bufs = carried.buffers(b, part.room);
    let is_first = part.begin.as_const() == Some(0) && part.tiles.as_const() == Some(1);
    let place = |b: &mut Builder, chain: ExprId, to: &BTreeMap<VarId, ExprId>| {
        let at = if is_first { chain } else { b.add(first, chain) };
        to.iter().map(|(v, e)| (*v, *e)).chain([(column, at)]).collect::<BTreeMap<_, _>>()
    };
    let over = (width, LoopKind::Vectorized);
    let before = carried.of_several(b, Piece::Before, over, &bufs, &mut |b, chain| place(b, chain, &to));
    let (mut within, mut loops) = (to.clone(), Vec::new());
    for (var, extent) in &carried.loops {
        let (name, extent) = (b.sym(*var).to_string(), replaced(b, *extent, &within));
        let new = b.index_var(&name);
        loops.push((new, extent));
        let read = b.read(new);
        within.insert(*var, read);
    }
    let turn = carried.of_several(b, Piece::Turn, over, &bufs, &mut |b, chain| place(b, chain, &within));
    let min = b.index(0);
    let along = loops.into_iter().rev().fold(turn, |body, (v, e)| Stmt::loop_(v, min, e, LoopKind::Serial, body));
    let after = carried.of_several(b, Piece::After, over, &bufs, &mut |b, chain| place(b, chain, &to));
    stage_of(b, stage, iters, &bufs, vec![before, along, after])
}
