//! Windows of channels that lie side by side: a vector of them at a time, element by element of the window.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{Access, BufId, Builder, Expr, ExprId, IterKind, LoopKind, PrimFunc, Scope, Stmt, VarId, Viewer};

use super::border::{Places, offsets};
use super::counts;
use super::rows::{begins, sum_start, together};
use super::vectors::{Along, along};
use super::window::Pool;
use crate::dlight::Chosen;
use crate::dlight::machine::Machine;
use crate::dlight::parts::{Part, parts};
use crate::dlight::walk::step;
use crate::fuse::stage::{Iter, Stage, Staged, renamed};

/// Bytes of what windows of as many channels have so far, where these are kept.
const ROOM: i64 = 4 << 10;

/// Vectors of channels side by side: what a window reads comes in as long pieces of memory.
const VECTORS: i64 = 4;

/// The iterator along which results are neighbours, and all that is read is so, or is one element.
pub(super) fn channel(func: &PrimFunc, stage: &Stage, pool: &Pool) -> Option<VarId> {
    let viewer = &mut Viewer::new(func);
    let moves = |v: VarId| pool.axes.iter().any(|axis| axis.out == Some(v));
    let beside = |v: &VarId| {
        let sym = viewer.sym(*v);
        let mut any = false;
        let neighbours = func.reachable([pool.term]).into_iter().all(|id| match func.exprs.get(id) {
            Expr::Load { buf, index, .. } => match step(viewer, *buf, index, &sym) {
                Some(0) => true,
                Some(1) => {
                    any = true;
                    true
                }
                Some(_) | None => false,
            },
            _ => true,
        });
        neighbours && any && step(viewer, pool.buf, &pool.index, &sym) == Some(1)
    };
    stage.iters.iter().rev().map(|i| i.var).filter(|v| !moves(*v)).find(beside)
}

/// Puts the channels of a stage into vectors.
pub(super) fn taken(staged: &mut Staged, stage: &Stage, pool: &Pool, channel: VarId, machine: &Machine) -> Chosen {
    let bytes = pool.dtype().size_bytes() as i64;
    let lanes = (machine.vector_bytes / bytes).max(1);
    let extent = stage.iters.iter().find(|i| i.var == channel).map(|i| i.extent);
    let extent = extent.map_or_else(|| IntExpr::from(1), |e| Viewer::new(staged.b.func()).int(e));
    let width = extent.as_const().map_or(ROOM / bytes, |n| n.clamp(1, ROOM / bytes));
    for part in parts(&extent, width) {
        let stage = in_vectors(&mut staged.b, stage, pool, channel, &part, lanes);
        staged.stages.push(stage);
    }
    vec![("windows", "element by element, of channels side by side".into()), ("vectors", format!("{lanes} elements"))]
}

/// The windows of a tile of channels.
struct Tile<'a> {
    pool: &'a Pool,
    channel: VarId,
    to: BTreeMap<VarId, ExprId>,
    begins: Vec<IntExpr>,
    over: Vec<usize>,
    first: IntExpr,
    width: IntExpr,
    room: i64,
    lanes: i64,
    /// Whether an element of the result may be stored twice.
    again: bool,
}

fn in_vectors(b: &mut Builder, stage: &Stage, pool: &Pool, channel: VarId, part: &Part, lanes: i64) -> Stage {
    let (mut iters, to) = renamed(b, stage.iters.iter().filter(|i| i.var != channel));
    let mut first = part.begin.clone();
    if part.tiles.as_const() != Some(1) {
        let (tile, extent) = (b.index_var("tile"), b.int_expr(&part.tiles));
        iters.push(Iter { var: tile, extent, kind: IterKind::Spatial, order: LoopKind::Serial });
        first = &first + &(&IntExpr::var(b.sym(tile).clone()) * &part.width);
    }
    let over: Vec<usize> = (0..pool.axes.len()).collect();
    let begins = begins(b, pool, &to, (pool.axes.len(), &first));
    let again = !pool.updates(b.func());
    let (width, room) = (part.width.clone(), part.room);
    let tile = Tile { pool, channel, to, begins, over, first, width, room, lanes, again };
    let body = tile.body(b);
    Stage { name: b.fresh_name(&stage.name), iters, init: None, body, loc: stage.loc }
}

impl Tile<'_> {
    fn body(&self, b: &mut Builder) -> Stmt {
        let places = Places { begins: &self.begins, over: &self.over };
        let Some(offsets) = offsets(self.pool, &self.over) else { return self.one_by_one(b, places) };
        let at_once = along(b, &self.along(self.again), &self.whole(), &mut |b, channel| {
            let to = self.at(b, channel);
            let mut all: Vec<ExprId> = sum_start(b, self.pool).into_iter().collect();
            for by in &offsets {
                all.push(self.pool.element(b, &places.at(by), &to));
            }
            let made = together(b, self.pool.op, all);
            self.stored(b, made, &to)
        });
        let Some(cond) = places.all_inside(b, self.pool) else { return at_once };
        let border = self.one_by_one(b, places);
        Stmt::If { cond, then: Box::new(at_once), otherwise: Some(Box::new(border)) }
    }

    fn along(&self, again: bool) -> Along {
        Along { lanes: self.lanes, vectors: VECTORS, again }
    }

    fn whole(&self) -> [IntExpr; 2] {
        [IntExpr::from(0), self.width.clone()]
    }

    /// What variables are for a channel of the tile.
    fn at(&self, b: &mut Builder, channel: &IntExpr) -> BTreeMap<VarId, ExprId> {
        let at = b.int_expr(&(&self.first + channel));
        self.to.iter().map(|(v, e)| (*v, *e)).chain([(self.channel, at)]).collect()
    }

    fn stored(&self, b: &mut Builder, made: ExprId, to: &BTreeMap<VarId, ExprId>) -> Stmt {
        let count = self.pool.count.map(|_| counts::all(b, self.pool, &self.begins));
        self.pool.store(b, made, count, to)
    }

    /// Those elements of a window that are there, one after another, of all channels.
    fn one_by_one(&self, b: &mut Builder, places: Places<'_>) -> Stmt {
        let made = b.buffer("made", self.pool.dtype(), vec![IntExpr::from(self.room)], Scope::Local);
        let start = along(b, &self.along(true), &self.whole(), &mut |b, channel| {
            let value = b.scalar(self.pool.start);
            put(b, made, channel, value)
        });
        let elements = places.each(b, self.pool, &mut |b, at| {
            along(b, &self.along(false), &self.whole(), &mut |b, channel| {
                let to = self.at(b, channel);
                let index = vec![b.int_expr(channel)];
                let old = b.load(made, index, Access::Proven);
                let new = self.pool.element(b, at, &to);
                let value = b.binary(self.pool.op, old, new);
                put(b, made, channel, value)
            })
        });
        let stored = along(b, &self.along(self.again), &self.whole(), &mut |b, channel| {
            let to = self.at(b, channel);
            let index = vec![b.int_expr(channel)];
            let value = b.load(made, index, Access::Proven);
            self.stored(b, value, &to)
        });
        Stmt::Alloc { buf: made, body: Box::new(Stmt::seq([start, elements, stored])) }
    }
}

fn put(b: &mut Builder, buf: BufId, at: &IntExpr, value: ExprId) -> Stmt {
    let index = vec![b.int_expr(at)];
    Stmt::Store { buf, index, value, access: Access::Proven }
}
