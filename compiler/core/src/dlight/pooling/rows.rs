//! Windows that move along rows: what is made of all rows of a window first, in vectors, then what is made of
//! neighbours in that.
//!
//! Rows of windows stand in a buffer of a few KB, with the start where windows leave the operand: whatever the distance
//! from a window to the next, whole vectors of the operand are read, each element once per row of windows.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Prover};
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Access, BufId, Builder, Expr, ExprId, IterKind, LoopKind, PrimFunc, Scope, Stmt, VarId, Viewer};

use super::border::{Places, WRITTEN_OUT, offsets};
use super::counts;
use super::vectors::{Along, along};
use super::window::{Axis, Pool};
use crate::dlight::Chosen;
use crate::dlight::machine::Machine;
use crate::dlight::parts::{Part, parts};
use crate::dlight::walk::step;
use crate::fuse::stage::{Iter, Stage, Staged, renamed};

/// Bytes of a buffer of rows, which stays in the first cache beside what is read.
const ROOM: i64 = 8 << 10;

/// The axis of windows along which elements are neighbours in all that is read.
pub(super) fn column(func: &PrimFunc, pool: &Pool) -> Option<usize> {
    let viewer = &mut Viewer::new(func);
    let beside = |n: &usize| {
        let axis = &pool.axes[*n];
        let sym = viewer.sym(axis.tap);
        let mut any = false;
        let neighbours = func.reachable([pool.term]).into_iter().all(|id| match func.exprs.get(id) {
            Expr::Load { buf, index, .. } => match step(viewer, *buf, index, &sym) {
                Some(0) => true,
                Some(by) => {
                    any = true;
                    by == axis.dilation
                }
                None => false,
            },
            _ => true,
        });
        neighbours && any
    };
    (0..pool.axes.len()).rev().find(beside)
}

/// How rows are gone over.
#[derive(Clone)]
struct Rows {
    column: usize,
    /// All other axes of windows.
    over: Vec<usize>,
    /// What stands between elements of a window along those; nothing where they are too many to write out.
    offsets: Option<Vec<Vec<i64>>>,
    /// Whether elements must be put together in their order: then each row of a window has its own in the buffer.
    ordered: bool,
    lanes: i64,
}

/// Puts the windows of a stage into rows; why not, where that cannot be.
pub(super) fn taken(
    staged: &mut Staged,
    stage: &Stage,
    pool: &Pool,
    column: usize,
    machine: &Machine,
) -> Result<Chosen, &'static str> {
    let func = staged.b.func();
    let (axis, bytes) = (&pool.axes[column], pool.dtype().size_bytes() as i64);
    let over: Vec<usize> = (0..pool.axes.len()).filter(|n| *n != column).collect();
    let rows = Rows {
        column,
        offsets: offsets(pool, &over),
        over,
        ordered: func.strict && pool.dtype().is_float(),
        lanes: (machine.vector_bytes / bytes).max(1),
    };
    let kept = match (rows.ordered, &rows.offsets) {
        (false, _) => 1,
        (true, Some(all)) => all.len() as i64,
        (true, None) => return Err("its order is strict, and windows have too many rows to keep"),
    };
    if rows.ordered && kept.saturating_mul(axis.taps) > WRITTEN_OUT as i64 {
        return Err("its order is strict, and windows have too many elements to write out");
    }
    let stride = axis.stride.max(1);
    let most = (ROOM / bytes / kept - axis.reach()) / stride + 1;
    let extent = axis.out.and_then(|out| stage.iters.iter().find(|i| i.var == out)).map(|i| i.extent);
    let extent = extent.map_or_else(|| IntExpr::from(1), |e| Viewer::new(func).int(e));
    let long = extent.as_const().is_none_or(|n| n > most);
    if most < 1 || long && most < rows.lanes {
        return Err("what a window reads of a row does not fit the buffer for rows");
    }
    let width = extent.as_const().filter(|n| *n <= most).unwrap_or(most / rows.lanes * rows.lanes);
    for part in parts(&extent, width) {
        let stage = rows.stage(&mut staged.b, stage, pool, &part, kept);
        staged.stages.push(stage);
    }
    let first = if rows.over.is_empty() || rows.ordered { "each row by itself" } else { "all rows of a window first" };
    let lanes = rows.lanes;
    Ok(vec![("windows", format!("{first}, then along rows of {extent}")), ("vectors", format!("{lanes} elements"))])
}

/// A tile of windows of one row.
struct Tile<'a> {
    pool: &'a Pool,
    rows: &'a Rows,
    to: BTreeMap<VarId, ExprId>,
    /// Where the first window begins.
    begins: Vec<IntExpr>,
    /// Counts windows, as does the iterator; the first of the tile.
    first: IntExpr,
    width: IntExpr,
    /// What all windows together read of a row.
    reach: IntExpr,
    /// Which of that is there.
    inside: [IntExpr; 2],
    buf: BufId,
    /// Whether an element of the result may be stored twice.
    again: bool,
}

impl Rows {
    fn stage(&self, b: &mut Builder, stage: &Stage, pool: &Pool, part: &Part, kept: i64) -> Stage {
        let axis = &pool.axes[self.column];
        let (mut iters, to) = renamed(b, stage.iters.iter().filter(|i| Some(i.var) != axis.out));
        let mut first = part.begin.clone();
        if part.tiles.as_const() != Some(1) {
            let (tile, extent) = (b.index_var("tile"), b.int_expr(&part.tiles));
            iters.push(Iter { var: tile, extent, kind: IterKind::Spatial, order: LoopKind::Serial });
            first = &first + &(&IntExpr::var(b.sym(tile).clone()) * &part.width);
        }
        let begins = begins(b, pool, &to, (self.column, &first));
        let reach = |windows: &IntExpr| {
            let reach = &(&(windows - 1) * axis.stride) + axis.reach();
            // No windows read nothing.
            if axis.stride > axis.reach() { reach.maximum(&IntExpr::from(0)) } else { reach }
        };
        let whole = reach(&part.width);
        let mut viewer = Viewer::new(b.func());
        for iter in &iters {
            let (sym, extent) = (viewer.sym(iter.var), viewer.int(iter.extent));
            viewer.prover.assume_range(&sym, &IntExpr::from(0), &extent);
        }
        let inside = within(&viewer.prover, axis, &begins[self.column], &whole);
        let room = reach(&IntExpr::from(part.room));
        let shape = if self.ordered { vec![IntExpr::from(kept), room] } else { vec![room] };
        let buf = b.buffer("rows", pool.dtype(), shape, Scope::Local);
        let again = !pool.updates(b.func());
        let (first, width) = (first.clone(), part.width.clone());
        let tile = Tile { pool, rows: self, to, begins, first, width, reach: whole, inside, buf, again };
        let body = Stmt::Alloc { buf, body: Box::new(Stmt::seq(tile.body(b))) };
        Stage { name: b.fresh_name(&stage.name), iters, init: None, body, loc: stage.loc }
    }
}

/// Where windows begin; along one axis, where the window `first` does.
pub(super) fn begins(
    b: &Builder,
    pool: &Pool,
    to: &BTreeMap<VarId, ExprId>,
    (column, first): (usize, &IntExpr),
) -> Vec<IntExpr> {
    let own = |v: VarId| match to.get(&v).map(|e| b.func().exprs.get(*e)) {
        Some(Expr::Var(new)) => IntExpr::var(b.sym(*new).clone()),
        _ => IntExpr::from(0),
    };
    let begin = |(n, axis): (usize, &Axis)| {
        if n == column { axis.begin(first) } else { axis.begin(&axis.out.map_or(IntExpr::from(0), own)) }
    };
    pool.axes.iter().enumerate().map(begin).collect()
}

/// What of a row that begins there lies in the operand.
fn within(prover: &Prover, axis: &Axis, begin: &IntExpr, reach: &IntExpr) -> [IntExpr; 2] {
    let none = IntExpr::from(0);
    let Some(extent) = &axis.extent else { return [none, reach.clone()] };
    let first = if prover.prove_ge0(begin) { none.clone() } else { (-begin).maximum(&none) };
    // What is proven is not written: the end of it has to be proven, too.
    let first = if axis.pad <= axis.reach() { first } else { first.minimum(reach) };
    let left = extent - begin;
    let left = if prover.prove_ge0(&left) { left } else { left.maximum(&none) };
    let end = if prover.prove_le(reach, &left) { reach.clone() } else { left.minimum(reach) };
    [first, end]
}

impl Tile<'_> {
    fn body(&self, b: &mut Builder) -> Vec<Stmt> {
        let [first, end] = self.inside.clone();
        let before = self.started(b, &[IntExpr::from(0), first]);
        let behind = self.started(b, &[end, self.reach.clone()]);
        let rows = self.of_rows(b);
        let mut all = vec![before, behind, rows];
        all.extend(self.of_neighbours(b));
        all
    }

    fn along(&self, again: bool) -> Along {
        Along { lanes: self.rows.lanes, vectors: 1, again }
    }

    /// The place of the buffer for elements of a row.
    fn place(&self, b: &mut Builder, row: usize, at: &IntExpr) -> Vec<ExprId> {
        let at = b.int_expr(at);
        if self.rows.ordered { vec![b.index(row as i64), at] } else { vec![at] }
    }

    /// Rows of the buffer.
    fn kept(&self) -> usize {
        if self.rows.ordered { self.rows.offsets.as_ref().map_or(1, Vec::len) } else { 1 }
    }

    fn put(&self, b: &mut Builder, row: usize, at: &IntExpr, value: ExprId) -> Stmt {
        Stmt::Store { buf: self.buf, index: self.place(b, row, at), value, access: Access::Proven }
    }

    /// The start, in every row.
    fn started(&self, b: &mut Builder, ends: &[IntExpr; 2]) -> Stmt {
        along(b, &self.along(true), ends, &mut |b, at| {
            let start = b.scalar(self.pool.start);
            Stmt::seq((0..self.kept()).map(|row| self.put(b, row, at, start)).collect::<Vec<_>>())
        })
    }

    /// The element of the operand that belongs to a place of the buffer.
    fn element(&self, b: &mut Builder, mut at: Vec<IntExpr>, place: &IntExpr) -> ExprId {
        at[self.rows.column] = &self.begins[self.rows.column] + place;
        self.pool.element(b, &at, &self.to)
    }

    /// What is made of the rows of a window.
    fn of_rows(&self, b: &mut Builder) -> Stmt {
        let places = Places { begins: &self.begins, over: &self.rows.over };
        let ends = &self.inside;
        let Some(offsets) = &self.rows.offsets else { return self.row_by_row(b, places) };
        let at_once = along(b, &self.along(true), ends, &mut |b, place| {
            let all: Vec<ExprId> = offsets.iter().map(|by| self.element(b, places.at(by), place)).collect();
            if self.rows.ordered {
                return Stmt::seq(
                    all.into_iter().enumerate().map(|(row, e)| self.put(b, row, place, e)).collect::<Vec<_>>(),
                );
            }
            let made = together(b, self.pool.op, all);
            self.put(b, 0, place, made)
        });
        let Some(cond) = places.all_inside(b, self.pool) else { return at_once };
        let border = if self.rows.ordered { self.each_row(b, places, offsets) } else { self.row_by_row(b, places) };
        Stmt::If { cond, then: Box::new(at_once), otherwise: Some(Box::new(border)) }
    }

    /// The same of those rows that are there, one after another.
    fn row_by_row(&self, b: &mut Builder, places: Places<'_>) -> Stmt {
        let ends = &self.inside;
        let start = self.started(b, ends);
        let rows = places.each(b, self.pool, &mut |b, at| {
            along(b, &self.along(false), ends, &mut |b, place| {
                let index = self.place(b, 0, place);
                let old = b.load(self.buf, index, Access::Proven);
                let new = self.element(b, at.to_vec(), place);
                let made = b.binary(self.pool.op, old, new);
                self.put(b, 0, place, made)
            })
        });
        Stmt::seq([start, rows])
    }

    /// Each row by itself, the start where it is not there.
    fn each_row(&self, b: &mut Builder, places: Places<'_>, offsets: &[Vec<i64>]) -> Stmt {
        let ends = &self.inside;
        let mut all = Vec::new();
        for (row, by) in offsets.iter().enumerate() {
            let at = places.at(by);
            let there = along(b, &self.along(true), ends, &mut |b, place| {
                let element = self.element(b, at.clone(), place);
                self.put(b, row, place, element)
            });
            let Some(cond) = places.inside(b, self.pool, &at) else {
                all.push(there);
                continue;
            };
            let none = along(b, &self.along(true), ends, &mut |b, place| {
                let start = b.scalar(self.pool.start);
                self.put(b, row, place, start)
            });
            all.push(Stmt::If { cond, then: Box::new(there), otherwise: Some(Box::new(none)) });
        }
        Stmt::seq(all)
    }

    /// What is made of neighbours in the buffer, and stored.
    fn of_neighbours(&self, b: &mut Builder) -> Vec<Stmt> {
        let axis = &self.pool.axes[self.rows.column];
        let whole = [IntExpr::from(0), self.width.clone()];
        if axis.taps <= WRITTEN_OUT as i64 {
            let stored = along(b, &self.along(self.again), &whole, &mut |b, window| {
                let mut all: Vec<ExprId> = sum_start(b, self.pool).into_iter().collect();
                for (row, tap) in (0..self.kept()).flat_map(|row| (0..axis.taps).map(move |tap| (row, tap))) {
                    let at = &(window * axis.stride) + tap * axis.dilation;
                    let index = self.place(b, row, &at);
                    all.push(b.load(self.buf, index, Access::Proven));
                }
                let made = together(b, self.pool.op, all);
                self.stored(b, made, window)
            });
            return vec![stored];
        }
        vec![self.tap_by_tap(b)]
    }

    /// The same of long windows, whose elements are not written out.
    fn tap_by_tap(&self, b: &mut Builder) -> Stmt {
        let axis = &self.pool.axes[self.rows.column];
        let whole = [IntExpr::from(0), self.width.clone()];
        let room = self.width.as_const().map_or_else(|| b.buf(self.buf).shape[0].clone(), IntExpr::from);
        let made = b.buffer("made", self.pool.dtype(), vec![room], Scope::Local);
        let at = |b: &mut Builder, window: &IntExpr| vec![b.int_expr(window)];
        let start = along(b, &self.along(true), &whole, &mut |b, window| {
            let (value, index) = (b.scalar(self.pool.start), at(b, window));
            Stmt::Store { buf: made, index, value, access: Access::Proven }
        });
        let (tap, min, extent) = (b.index_var("tap"), b.index(0), b.index(axis.taps));
        let moved = &IntExpr::var(b.sym(tap).clone()) * axis.dilation;
        let turn = along(b, &self.along(false), &whole, &mut |b, window| {
            let index = at(b, window);
            let place = self.place(b, 0, &(&(window * axis.stride) + &moved));
            let (old, new) = (b.load(made, index.clone(), Access::Proven), b.load(self.buf, place, Access::Proven));
            let value = b.binary(self.pool.op, old, new);
            Stmt::Store { buf: made, index, value, access: Access::Proven }
        });
        let turns = Stmt::loop_(tap, min, extent, LoopKind::Serial, turn);
        let stored = along(b, &self.along(self.again), &whole, &mut |b, window| {
            let index = at(b, window);
            let value = b.load(made, index, Access::Proven);
            self.stored(b, value, window)
        });
        Stmt::Alloc { buf: made, body: Box::new(Stmt::seq([start, turns, stored])) }
    }

    fn stored(&self, b: &mut Builder, made: ExprId, window: &IntExpr) -> Stmt {
        let column = self.rows.column;
        let count = self.pool.count.map(|_| counts::beside(b, self.pool, column, &self.begins, &self.reach, window));
        let mut to = self.to.clone();
        if let Some(out) = self.pool.axes[column].out {
            let at = b.int_expr(&(&self.first + window));
            to.insert(out, at);
        }
        self.pool.store(b, made, count, &to)
    }
}

/// What a sum begins with, in whatever order its elements are added: 0 and elements that are all -0 are 0.
pub(super) fn sum_start(b: &mut Builder, pool: &Pool) -> Option<ExprId> {
    (pool.op == BinaryOp::Add).then(|| b.scalar(pool.start))
}

/// Elements put together in order.
pub(super) fn together(b: &mut Builder, op: BinaryOp, all: Vec<ExprId>) -> ExprId {
    let mut all = all.into_iter();
    let Some(first) = all.next() else { return b.index(0) };
    all.fold(first, |made, next| b.binary(op, made, next))
}
