//! Chains that lie along rows: some rows together, a few elements of each at a time.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, Builder, ExprId, IterKind, LoopKind, PrimFunc, Stmt, VarId, Viewer, own_accesses};

use super::carried::{Carried, Piece, in_buffers, replaced, stage_of};
use crate::dlight::Chosen;
use crate::dlight::machine::Machine;
use crate::dlight::parts::{Part, parts};
use crate::dlight::tiles::rows_in_cache;
use crate::dlight::walk::step;
use crate::fuse::stage::{Iter, Stage, Staged, renamed};
use crate::tune::Asked;

/// Elements of a row that follow one another: a cache line of 4-byte elements is used as a whole while it is there.
const TERMS: i64 = 16;

/// Rows that are gone along together: the latency of an addition times how many begin per cycle.
const ROWS: i64 = 8;

/// Others that may be asked for.
const ASKED: [i64; 4] = [2, 4, 8, 16];

/// The innermost iterator over rows, if each turn of the one loop writes beside the last, and rows that are gone along
/// together do not share sets of the first cache.
pub(super) fn along(func: &PrimFunc, stage: &Stage, carried: &Carried, machine: &Machine) -> Option<VarId> {
    let [(turn, extent)] = carried.loops[..] else { return None };
    let viewer = &mut Viewer::new(func);
    let row = stage.iters.iter().rfind(|i| viewer.int(i.extent).as_const().is_none_or(|n| n > 1))?;
    let [turn, of_row] = [turn, row.var].map(|v| viewer.sym(v));
    let mut writes = Vec::new();
    carried.piece(Piece::Turn).walk(&mut |s| writes.extend(own_accesses(func, s).into_iter().filter(|a| a.write)));
    writes.retain(|a| !carried.locals.contains(&a.buf));
    let fits = writes.iter().all(|a| {
        let Some(index) = &a.index else { return false };
        let bytes = func.buffers[a.buf.0 as usize].dtype.size_bytes() as i64;
        let beside = step(viewer, a.buf, index, &turn).is_some_and(|by| by.abs() == 1);
        // As many lines are read as are written.
        let apart = step(viewer, a.buf, index, &of_row).map(|by| rows_in_cache(by.abs() * bytes, machine));
        beside && apart.is_some_and(|rows| rows >= 2 * ROWS)
    });
    let long = viewer.int(extent).as_const().is_none_or(|n| n >= TERMS);
    (fits && long && !writes.is_empty() && !carried.turns_by(func, row.var)).then_some(row.var)
}

/// Puts the rows of a stage into tiles.
pub(super) fn taken(staged: &mut Staged, stage: &Stage, carried: &Carried, row: VarId, asked: &Asked) -> Chosen {
    let b = &mut staged.b;
    let most = asked.number("rows", ROWS, ASKED);
    let extent = stage.iters.iter().find(|i| i.var == row).map(|i| Viewer::new(b.func()).int(i.extent));
    let extent = extent.unwrap_or_else(|| IntExpr::from(1));
    for part in parts(&extent, most) {
        let stage = tiled(b, stage, carried, row, &part);
        staged.stages.push(stage);
    }
    vec![("chains", format!("{most} rows together, {TERMS} elements of each at a time: additions wait for each other"))]
}

/// The stage over a part of its rows.
fn tiled(b: &mut Builder, stage: &Stage, carried: &Carried, row: VarId, part: &Part) -> Stage {
    let (mut iters, to) = renamed(b, stage.iters.iter().filter(|i| i.var != row));
    let (rows, begin) = (b.int_expr(&part.width), b.int_expr(&part.begin));
    let (tile, extent) = (b.index_var("tile"), b.int_expr(&part.tiles));
    iters.push(Iter { var: tile, extent, kind: IterKind::Spatial, order: LoopKind::Serial });
    let tile = b.read(tile);
    let from = b.mul(tile, rows);
    let first = b.add(begin, from);
    let bufs = carried.buffers(b, part.room);
    let mut place = |b: &mut Builder, chain: ExprId| {
        let at = b.add(first, chain);
        to.iter().map(|(v, e)| (*v, *e)).chain([(row, at)]).collect::<BTreeMap<VarId, ExprId>>()
    };
    let over = (rows, LoopKind::Serial);
    let before = carried.of_several(b, Piece::Before, over, &bufs, &mut place);
    let mut all = vec![before];
    for (begin, turns, terms) in lengths(b, carried, &to) {
        all.push(together(b, carried, rows, (begin, turns, terms), &bufs, &mut place));
    }
    all.push(carried.of_several(b, Piece::After, over, &bufs, &mut place));
    stage_of(b, stage, iters, &bufs, all)
}

/// Where the elements of a row begin that are taken so many times so many at a time: as many as fit, and the rest.
fn lengths(b: &mut Builder, carried: &Carried, to: &BTreeMap<VarId, ExprId>) -> Vec<(IntExpr, IntExpr, IntExpr)> {
    let Some((_, extent)) = carried.loops.first() else { return Vec::new() };
    let extent = replaced(b, *extent, to);
    let extent = Viewer::new(b.func()).int(extent);
    let turns = extent.floor_div(&IntExpr::from(TERMS));
    let whole = &turns * TERMS;
    let rest = &extent - &whole;
    let all = [(IntExpr::from(0), turns, IntExpr::from(TERMS)), (whole, IntExpr::from(1), rest)];
    all.into_iter().filter(|(_, turns, terms)| ![turns, terms].iter().any(|e| e.as_const() == Some(0))).collect()
}

/// Some elements of each row, again and again.
fn together(
    b: &mut Builder,
    carried: &Carried,
    rows: ExprId,
    (begin, turns, terms): (IntExpr, IntExpr, IntExpr),
    bufs: &BTreeMap<BufId, BufId>,
    place: &mut dyn FnMut(&mut Builder, ExprId) -> BTreeMap<VarId, ExprId>,
) -> Stmt {
    let [chunk, chain, term] = ["chunk", "chain", "term"].map(|name| b.index_var(name));
    let (min, first, turns, count) = (b.index(0), b.int_expr(&begin), b.int_expr(&turns), b.int_expr(&terms));
    let [at_chunk, at_chain, at_term] = [chunk, chain, term].map(|v| b.read(v));
    let mut to = place(b, at_chain);
    let from = b.mul(at_chunk, count);
    let from = b.add(first, from);
    let here = b.add(from, at_term);
    to.extend(carried.loops.first().map(|(turn, _)| (*turn, here)));
    let body = in_buffers(b, &carried.piece(Piece::Turn), &to, bufs, at_chain);
    let kind = if terms.as_const().is_some() { LoopKind::Unrolled } else { LoopKind::Serial };
    let body = Stmt::loop_(term, min, count, kind, body);
    let body = Stmt::loop_(chain, min, rows, LoopKind::Serial, body);
    Stmt::loop_(chunk, min, turns, LoopKind::Serial, body)
}
