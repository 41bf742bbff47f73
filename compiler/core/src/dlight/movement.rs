//! The rule for kernels that only move elements from rows to columns: in tiles of which every cache line that is read is
//! used as a whole while it is in the first cache. What padding writes around them is written apart.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, IterKind, PrimFunc, Stmt, VarId, Viewer};

use super::boxed::boxed;
use super::cut::{Range, part};
use super::machine::Machine;
use super::one_axis::one_axis;
use super::tiles::rows_in_cache;
use super::walk::step;
use super::{Chosen, Taken};
use crate::fuse::access::loads;
use crate::fuse::import::cleaned;
use crate::fuse::pattern::moves;
use crate::fuse::stage::{Stage, Staged};
use crate::schedule::{Arg, LoopRV, Schedule, ScheduleError};
use crate::tune::Asked;

/// Bytes of a cache line.
const LINE: i64 = 64;

/// The least bytes that are put together from elements in one step.
pub(super) const STEP: i64 = 16;

/// Edges of tiles that may be asked for.
const TILES: [i64; 4] = [4, 8, 16, 32];

/// The most values of an axis in a block of tiles: they touch no more pages than addresses are at hand of.
const BLOCK: i64 = 128;

/// Others that may be asked for.
const BLOCKS: [i64; 4] = [32, 64, 128, 256];

/// What runs along the lines of which side, and how far.
struct Turned {
    /// Iterates over neighbours in what is read.
    row: VarId,
    /// Iterates over neighbours in what is written.
    column: VarId,
    /// Values of `row` in a tile.
    rows: i64,
    /// Values of `column` in a tile.
    columns: i64,
    /// The least columns that are put together in one step.
    step: i64,
    /// The most values of each in a block of tiles.
    block: i64,
    /// Bytes of an element.
    bytes: i64,
}

/// The kernel in tiles; nothing where it is more than a movement, or one along rows.
pub(super) fn apply(module: &Module, func: &PrimFunc, machine: &Machine, asked: &Asked) -> Option<Taken> {
    let mut staged = Staged::of(func)?;
    let [stage] = &staged.stages[..] else { return None };
    let stage = stage.clone();
    let (stage, around) = boxed(&mut staged.b, &stage).unwrap_or((stage, Vec::new()));
    let (stages, tiles) = in_tiles(&mut staged.b, stage, machine, asked)?;
    staged.stages = stages.into_iter().chain(around).collect();
    let scheduled = tiled(module, staged.join(), &tiles).ok()?;
    Some(Taken { func: PrimFunc { phase: scheduled.phase, ..cleaned(&scheduled) }, chosen: tiles.turned.said() })
}

/// The stages that a movement is cut into, and how they run in tiles; nothing where it is none, or one along rows.
pub(super) fn in_tiles(b: &mut Builder, stage: Stage, machine: &Machine, asked: &Asked) -> Option<(Vec<Stage>, Tiles)> {
    let mut turned = turned(b.func(), &stage, machine, asked)?;
    let mut stage = stage;
    for var in [&mut turned.row, &mut turned.column] {
        (stage, *var) = one_axis(b, stage, *var);
    }
    let (parts, stages) = rectangles(b, &stage, &turned)?;
    let at = |var: VarId| stage.iters.iter().position(|i| i.var == var);
    let (row, column) = (at(turned.row)?, at(turned.column)?);
    Some((stages, Tiles { parts, row, column, turned }))
}

/// How stages run in tiles.
pub(super) struct Tiles {
    parts: Vec<Part>,
    /// The places of both loops among those of a stage.
    row: usize,
    column: usize,
    turned: Turned,
}

/// Elements of which a kernel that computes is better two, one that computes along rows and one that moves.
const MANY: i64 = 4096;

/// Elements of a row from which on vectors go along it.
const ROW: i64 = 8;

/// Whether a kernel computes many elements from rows and writes them as columns: neither its loads nor its stores are vectors
/// then.
pub(crate) fn computes_turned(func: &PrimFunc) -> bool {
    computes(func).unwrap_or(false)
}

fn computes(func: &PrimFunc) -> Option<bool> {
    let mut staged = Staged::of(func)?;
    let [stage] = &staged.stages[..] else { return None };
    let stage = stage.clone();
    let stage = boxed(&mut staged.b, &stage).map_or(stage, |(inside, _)| inside);
    let Stmt::Store { buf, index, value, .. } = &stage.body else { return None };
    let func = staged.b.func();
    let mut viewer = Viewer::new(func);
    let mut extents = Vec::new();
    for iter in &stage.iters {
        extents.push((iter.var, viewer.int(iter.extent).as_const()?));
    }
    let plain = stage.init.is_none() && stage.iters.iter().all(|i| i.kind == IterKind::Spatial);
    let many = extents.iter().map(|(_, extent)| extent).product::<i64>() >= MANY;
    if !plain || !many || moves(func, *value) {
        return Some(false);
    }
    let mut along = |buf: BufId, index: &[ExprId]| {
        let mut steps = extents.iter().map(|(var, extent)| {
            let sym = viewer.sym(*var);
            (*var, *extent, step(&mut viewer, buf, index, &sym))
        });
        steps.find(|(_, extent, step)| *step == Some(1) && *extent > 1).map(|(var, extent, _)| (var, extent))
    };
    let (column, _) = along(*buf, index)?;
    let mut reads = loads(func, [*value]);
    reads.retain(|a| func.buffers[a.buf.0 as usize].shape.len() > 1);
    let turned = |(row, extent): (VarId, i64)| row != column && extent >= ROW;
    Some(!reads.is_empty() && reads.iter().all(|a| along(a.buf, &a.index).is_some_and(turned)))
}

fn turned(func: &PrimFunc, stage: &Stage, machine: &Machine, asked: &Asked) -> Option<Turned> {
    let Stmt::Store { buf, index, value, .. } = &stage.body else { return None };
    let plain = stage.init.is_none() && stage.iters.iter().all(|i| i.kind == IterKind::Spatial);
    let Expr::Load { buf: from, index: at, .. } = func.exprs.get(*value) else { return None };
    let mut viewer = Viewer::new(func);
    let mut steps = |buf: BufId, index, var: VarId| {
        let sym = viewer.sym(var);
        step(&mut viewer, buf, index, &sym)
    };
    let along = |s: Option<i64>| s == Some(1);
    let column = stage.iters.iter().map(|i| i.var).find(|v| along(steps(*buf, index, *v)))?;
    let row = stage.iters.iter().map(|i| i.var).find(|v| *v != column && along(steps(*from, at, *v)))?;
    let bytes = func.buffers[buf.0 as usize].dtype.size_bytes() as i64;
    let (read, written) = (steps(*from, at, column)?, steps(*buf, index, row)?);
    // A power of two divides the elements of a line.
    let lines = |apart: i64| 1 << rows_in_cache(apart.abs() * bytes, machine).clamp(1, LINE / bytes).ilog2();
    let step = (STEP / bytes).max(2);
    // Rows that are no whole lines begin anywhere in one, and long stores would lie in two of them.
    let whole = written * bytes % LINE == 0;
    let wide = if whole { (machine.vector_bytes / bytes).max(step) } else { step };
    let (rows, columns) = match wide * bytes == LINE {
        // Lines that are written as a whole need not stay.
        true => (lines(written).max(LINE / bytes / 2), wide),
        false => (lines(written), lines(read).min(wide)),
    };
    if !plain || rows < 2 || columns < 2 {
        return None;
    }
    let edge = |name: &str, own: i64| asked.number(name, own, TILES.into_iter().filter(|n| n * bytes <= 2 * LINE));
    let (rows, columns) = (edge("rows", rows), edge("columns", columns));
    let block = asked.number("block", BLOCK, BLOCKS);
    Some(Turned { row, column, rows, columns, step, block, bytes })
}

impl Turned {
    /// How large a tile is, and what decided it.
    fn said(&self) -> Chosen {
        let read = match self.rows * self.bytes == LINE {
            true => format!("a cache line of what is read, {LINE} bytes"),
            false => "the first cache: lines of rows that lie so far apart share its sets".into(),
        };
        let bounds = format!("{read}; what is put together for a store, {} bytes", self.columns * self.bytes);
        vec![("tile", format!("{} x {}", self.rows, self.columns)), ("bounded by", bounds)]
    }
}

/// What runs over so many values of an axis in tiles.
struct Strip {
    range: Range,
    size: i64,
    /// Values in a tile.
    tile: i64,
}

/// A part of a kernel that is whole tiles.
struct Part {
    name: String,
    /// How many rows, and of them in a tile.
    rows: (i64, i64),
    /// How many columns, and of them in a tile.
    columns: (i64, i64),
}

/// Whole tiles of the size that was chosen first, then smaller ones of what is left of both axes.
fn rectangles(b: &mut Builder, stage: &Stage, turned: &Turned) -> Option<(Vec<Part>, Vec<Stage>)> {
    let rows = strips(b, stage, turned.row, turned.rows, [turned.step, 1])?;
    let columns = strips(b, stage, turned.column, turned.columns, [turned.step, turned.step])?;
    let (mut parts, mut stages) = (Vec::new(), Vec::new());
    for (n, row) in rows.iter().enumerate() {
        for (m, column) in columns.iter().enumerate() {
            let ranges = BTreeMap::from([(turned.row, row.range.clone()), (turned.column, column.range.clone())]);
            let first = (n, m) == (0, 0);
            let name = if first { stage.name.clone() } else { b.fresh_name(&format!("{}_rest", stage.name)) };
            stages.push(part(b, stage, &name, &ranges, &BTreeMap::new()));
            parts.push(Part { name, rows: (row.size, row.tile), columns: (column.size, column.tile) });
        }
    }
    Some((parts, stages))
}

/// As many whole tiles as an axis has, and one for the rest; they have no fewer values than `least` says. The rest ends
/// where the axis does, and moves some elements again where its tile has more values than are left.
fn strips(b: &mut Builder, stage: &Stage, var: VarId, tile: i64, least: [i64; 2]) -> Option<Vec<Strip>> {
    let iter = stage.iters.iter().find(|i| i.var == var)?;
    let extent = Viewer::new(b.func()).int(iter.extent).as_const()?;
    let fits = 1 << u64::try_from(extent).ok()?.checked_ilog2()?;
    let least = least.map(|n| n.min(tile));
    let tile = tile.min(fits);
    if tile < least[0] {
        return None;
    }
    let rest = extent % tile;
    let last = u64::try_from(rest).ok()?.next_power_of_two() as i64;
    let last = last.max(least[1]).min(tile);
    let mut strip = |begin: i64, size: i64, tile: i64| Strip {
        range: Range { begin: b.index(begin), extent: b.index(size), size: IntExpr::from(size) },
        size,
        tile,
    };
    let mut all = vec![strip(0, extent - rest, tile)];
    if rest > 0 {
        all.push(strip(extent - last, last, last));
    }
    Some(all)
}

/// How many tiles in a row make a block: the most that divide them, of no more than so many values.
fn block((size, tile): (i64, i64), most: i64) -> i64 {
    let tiles = size / tile;
    (1..=(most / tile).min(tiles)).rev().find(|n| tiles % n == 0).unwrap_or(1)
}

/// The parts one after another, each block after block, in each block tile after tile.
pub(super) fn tiled(module: &Module, func: PrimFunc, tiles: &Tiles) -> Result<PrimFunc, ScheduleError> {
    let mut s = Schedule::new(module, func);
    for part in &tiles.parts {
        let loops = s.get_loops(part.name.as_str())?;
        let of = |of: (i64, i64)| [Arg::Infer, Arg::Int(block(of, tiles.turned.block)), Arg::Int(of.1)];
        let rows = s.split(loops[tiles.row], &of(part.rows))?;
        let columns = s.split(loops[tiles.column], &of(part.columns))?;
        let taken = BTreeSet::from([tiles.row, tiles.column]);
        let mut order: Vec<LoopRV> = (0..loops.len()).filter(|n| !taken.contains(n)).map(|n| loops[n]).collect();
        order.extend([rows[0], columns[0], rows[1], columns[1], rows[2], columns[2]]);
        s.reorder(&order)?;
        // Else back ends gather what is not side by side, which takes longer than to load it one by one.
        s.vectorize(columns[2])?;
    }
    Ok(s.finish())
}
