//! The rule for kernels that only move elements from rows to columns: in tiles of which every cache line that is read is
//! used as a whole while it is in the first cache. What padding writes around them is written apart.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, Expr, ExprId, IterKind, PrimFunc, Stmt, VarId, Viewer};

use super::Taken;
use super::boxed::boxed;
use super::cut::{Range, part};
use super::machine::Machine;
use super::tiles::rows_in_cache;
use super::walk::step;
use crate::fuse::access::loads;
use crate::fuse::import::cleaned;
use crate::fuse::pattern::moves;
use crate::fuse::stage::{Stage, Staged};
use crate::schedule::{Arg, LoopRV, Schedule, ScheduleError};
use crate::tune::Asked;

/// Bytes of a cache line.
const LINE: i64 = 64;

/// Bytes that are put together from elements in one step; wider vectors are put together from such ones, which takes
/// longer than to store them one by one.
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
    /// The most values of each in a block of tiles.
    block: i64,
}

/// The kernel in tiles; nothing where it is more than a movement, or one along rows.
pub(super) fn apply(module: &Module, func: &PrimFunc, machine: &Machine, asked: &Asked) -> Option<Taken> {
    let mut staged = Staged::of(func)?;
    let [stage] = &staged.stages[..] else { return None };
    let stage = stage.clone();
    let (stage, around) = boxed(&mut staged.b, &stage).unwrap_or((stage, Vec::new()));
    let turned = turned(&staged, &stage, machine, asked)?;
    let Stmt::Store { buf, .. } = &stage.body else { return None };
    let bytes = staged.b.buf(*buf).dtype.size_bytes() as i64;
    let (main, stages) = rectangles(&mut staged, &stage, &turned)?;
    staged.stages = stages.into_iter().chain(around).collect();
    let scheduled = tiled(module, staged.join(), &main, &stage, &turned).ok()?;
    let chosen = vec![("tile", format!("{} x {}", turned.rows, turned.columns)), ("bounded by", turned.bounds(bytes))];
    Some(Taken { func: PrimFunc { phase: scheduled.phase, ..cleaned(&scheduled) }, chosen })
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

fn turned(staged: &Staged, stage: &Stage, machine: &Machine, asked: &Asked) -> Option<Turned> {
    let func = staged.b.func();
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
    let (rows, columns) = (lines(written), lines(read).min((STEP / bytes).max(2)));
    if !plain || rows < 2 || columns < 2 {
        return None;
    }
    let edge = |name: &str, own: i64| asked.number(name, own, TILES.into_iter().filter(|n| n * bytes <= 2 * LINE));
    let (rows, columns) = (edge("rows", rows), edge("columns", columns));
    Some(Turned { row, column, rows, columns, block: asked.number("block", BLOCK, BLOCKS) })
}

impl Turned {
    /// What decided how large a tile is, of elements of so many bytes.
    fn bounds(&self, bytes: i64) -> String {
        match self.rows * bytes == LINE {
            true => format!(
                "a cache line of what is read, {LINE} bytes, and what is put together for a store, {STEP} bytes"
            ),
            false => "the first cache: lines of rows that lie so far apart share its sets".into(),
        }
    }
}

/// The part of a kernel that is whole tiles.
struct Main {
    name: String,
    rows: i64,
    columns: i64,
}

/// Whole tiles first, then what is left of both axes.
fn rectangles(staged: &mut Staged, stage: &Stage, turned: &Turned) -> Option<(Main, Vec<Stage>)> {
    let rows = cut(staged, stage, turned.row, turned.rows)?;
    let columns = cut(staged, stage, turned.column, turned.columns)?;
    let mut stages = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        for (m, column) in columns.iter().enumerate() {
            let ranges = BTreeMap::from([(turned.row, row.clone()), (turned.column, column.clone())]);
            let first = (n, m) == (0, 0);
            let name = if first { stage.name.clone() } else { staged.b.fresh_name(&format!("{}_rest", stage.name)) };
            stages.push(part(&mut staged.b, stage, &name, &ranges, &BTreeMap::new()));
        }
    }
    let size = |all: &[Range]| all.first()?.size.as_const();
    let main = Main { name: stage.name.clone(), rows: size(&rows)?, columns: size(&columns)? };
    Some((main, stages))
}

/// As many whole tiles as an axis has, and the rest.
fn cut(staged: &mut Staged, stage: &Stage, var: VarId, tile: i64) -> Option<Vec<Range>> {
    let iter = stage.iters.iter().find(|i| i.var == var)?;
    let extent = Viewer::new(staged.b.func()).int(iter.extent).as_const()?;
    let whole = extent / tile * tile;
    let mut range = |begin: i64, size: i64| Range {
        begin: staged.b.index(begin),
        extent: staged.b.index(size),
        size: IntExpr::from(size),
    };
    let all = [(0, whole), (whole, extent - whole)].map(|(begin, size)| range(begin, size));
    (whole >= tile).then(|| all.into_iter().filter(|r| r.size.as_const() != Some(0)).collect())
}

/// How many tiles in a row make a block: the most that divide them, of no more than so many values.
fn block(whole: i64, tile: i64, most: i64) -> i64 {
    let tiles = whole / tile;
    (1..=(most / tile).min(tiles)).rev().find(|n| tiles % n == 0).unwrap_or(1)
}

/// The whole tiles, block after block, in each of them tile after tile.
fn tiled(
    module: &Module,
    func: PrimFunc,
    main: &Main,
    stage: &Stage,
    turned: &Turned,
) -> Result<PrimFunc, ScheduleError> {
    let mut s = Schedule::new(module, func);
    let loops = s.get_loops(main.name.as_str())?;
    let extents = (main.rows, main.columns);
    let at = |var: VarId| stage.iters.iter().position(|i| i.var == var).unwrap_or(0);
    let (row, column) = (at(turned.row), at(turned.column));
    let of = |block: i64, tile: i64| [Arg::Infer, Arg::Int(block), Arg::Int(tile)];
    let rows = s.split(loops[row], &of(block(extents.0, turned.rows, turned.block), turned.rows))?;
    let columns = s.split(loops[column], &of(block(extents.1, turned.columns, turned.block), turned.columns))?;
    let taken = BTreeSet::from([row, column]);
    let mut order: Vec<LoopRV> = (0..loops.len()).filter(|n| !taken.contains(n)).map(|n| loops[n]).collect();
    order.extend([rows[0], columns[0], rows[1], columns[1], rows[2], columns[2]]);
    s.reorder(&order)?;
    // Else back ends gather what is not side by side, which takes longer than to load it one by one.
    s.vectorize(columns[2])?;
    Ok(s.finish())
}
