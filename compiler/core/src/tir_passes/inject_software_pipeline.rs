//! `InjectSoftwarePipeline`: statements of different iterations side by side. (TVM: the pass of that name.)
//!
//! Runs on plain loops. Of a loop annotated `software_pipeline(stages, order)`, a statement of stage `s` runs `s` iterations
//! after those of stage 0, at its place in `order`. A loop before fills the pipeline, one behind empties it. Buffers that
//! are allocated in the body get room for as many iterations as are under way. A schedule in which a statement would run
//! before what it depends on is refused. What is computed never changes.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::copy::copy;
use tenfold_ir::tir::{
    Annotation, BufId, Builder, Expr, ExprId, ExprMap, LoopKind, Phase, PrimFunc, Stmt, VarId, accesses, read, written,
};

use super::kernel::{Made, constant, refuse, try_body, try_children, with_alloc};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("InjectSoftwarePipeline", &inject_software_pipeline)
    .in_phase(PassPhase::Flat)
    .about("runs statements of different iterations side by side, in loops annotated for it");

fn inject_software_pipeline(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    try_body(func, stmt)
}

fn stmt(b: &mut Builder, it: Stmt) -> Made {
    let it = try_children(it, &mut |s| stmt(b, s))?;
    let Stmt::For { var, min, extent, kind, mut annotations, body } = it else { return Ok(it) };
    let found = annotations.iter().position(|a| matches!(a, Annotation::SoftwarePipeline { .. }));
    let Some(Annotation::SoftwarePipeline { stages, order }) = found.map(|at| annotations.remove(at)) else {
        return Ok(Stmt::For { var, min, extent, kind, annotations, body });
    };
    if !matches!(kind, LoopKind::Serial | LoopKind::Unrolled) {
        return Err(no(b, "its loop is not serial"));
    }
    let (own, parts) = open(b, *body)?;
    let pipe = Pipe { var, min, extent, stages, order, parts };
    pipe.check(b, &own)?;
    Ok(pipe.build(b, &own, kind, annotations))
}

fn no(b: &Builder, why: &str) -> CompileError {
    refuse(b.func(), format!("a pipeline cannot be made: {why}"), "choose other stages or another order")
}

/// The allocations around the statements of a body, and the statements.
fn open(b: &Builder, body: Stmt) -> Result<(Vec<BufId>, Vec<Stmt>), CompileError> {
    match body {
        Stmt::Alloc { buf, body } => {
            let (mut own, parts) = open(b, *body)?;
            own.insert(0, buf);
            Ok((own, parts))
        }
        Stmt::At(_, body) => open(b, *body),
        Stmt::Seq(_) => {
            let Stmt::Seq(all) = Stmt::seq([body]) else { return Err(no(b, "its body is one statement")) };
            Ok((Vec::new(), all))
        }
        other => Ok((Vec::new(), vec![other])),
    }
}

struct Pipe {
    var: VarId,
    min: ExprId,
    extent: ExprId,
    stages: Vec<u32>,
    order: Vec<u32>,
    parts: Vec<Stmt>,
}

impl Pipe {
    fn depth(&self) -> u32 {
        self.stages.iter().copied().max().unwrap_or(0)
    }

    /// Whether every statement runs after what it depends on.
    fn check(&self, b: &Builder, own: &[BufId]) -> Result<(), CompileError> {
        if self.stages.len() != self.parts.len() || self.order.len() != self.parts.len() {
            return Err(no(b, "it does not have a stage and a place for every statement"));
        }
        if self.parts.iter().any(|p| p.any(&mut |s| matches!(s, Stmt::Barrier(_)))) {
            return Err(no(b, "a barrier stands in its body; run ThreadSync behind it"));
        }
        for (k, later) in self.parts.iter().enumerate() {
            for (j, earlier) in self.parts.iter().enumerate().take(k) {
                let shared = conflicts(b.func(), earlier, later);
                let (sj, sk) = (self.stages[j], self.stages[k]);
                let before = self.order[j] < self.order[k];
                let follows = sj < sk || sj == sk && before;
                if !shared.is_empty() && !follows {
                    return Err(no(b, &format!("statement {k} would run before statement {j}, on which it depends")));
                }
                // The next iteration of the earlier one must not overtake this one where memory is shared.
                let outer = shared.iter().any(|buf| !own.contains(buf));
                if outer && !(sk <= sj || sk == sj + 1 && !before) {
                    return Err(no(b, &format!("statement {j} of a later iteration would run before statement {k}")));
                }
            }
        }
        Ok(())
    }

    /// How many iterations of a buffer are under way at one time.
    fn versions(&self, b: &Builder, buf: BufId) -> i64 {
        let touches = |p: &Stmt| accesses(b.func(), p).iter().any(|a| a.buf == buf);
        let used = self.parts.iter().zip(&self.stages).filter(|(p, _)| touches(p)).map(|(_, s)| i64::from(*s));
        let (least, greatest) = (used.clone().min().unwrap_or(0), used.max().unwrap_or(0));
        greatest - least + 1
    }

    fn build(self, b: &mut Builder, own: &[BufId], kind: LoopKind, annotations: Vec<Annotation>) -> Stmt {
        let mut rooms = BTreeMap::new();
        for buf in own {
            let versions = self.versions(b, *buf);
            rooms.insert(*buf, (room(b, *buf, versions), versions));
        }
        let depth = b.index(i64::from(self.depth()));
        let zero = b.index(0);
        let fill = self.turns(b, &rooms, (zero, depth), true);
        let steady = b.sub(self.extent, depth);
        let main = self.turns(b, &rooms, (depth, steady), false);
        let main = match main {
            Stmt::For { var, min, extent, body, .. } => Stmt::For { var, min, extent, kind, annotations, body },
            other => other,
        };
        let from = b.binary(BinaryOp::Max, self.extent, depth);
        let from = constant(b.func(), self.extent).map_or(from, |n| b.index(n.max(i64::from(self.depth()))));
        let end = b.add(self.extent, depth);
        let left = b.sub(end, from);
        let empty = self.turns(b, &rooms, (from, left), true);
        let all = Stmt::seq([fill, main, empty]);
        own.iter().rev().fold(all, |body, buf| with_alloc(rooms[buf].0, body))
    }

    /// Turns `from..from + count`; guarded, each statement runs only in iterations that there are.
    fn turns(
        &self,
        b: &mut Builder,
        rooms: &BTreeMap<BufId, (BufId, i64)>,
        (from, count): (ExprId, ExprId),
        guarded: bool,
    ) -> Stmt {
        let turn = b.index_var("turn");
        let t = b.read(turn);
        let mut by_order: Vec<usize> = (0..self.parts.len()).collect();
        by_order.sort_by_key(|k| self.order[*k]);
        let mut all = Vec::new();
        for k in by_order {
            let stage = b.index(i64::from(self.stages[k]));
            let number = if self.stages[k] == 0 { t } else { b.sub(t, stage) };
            let at = if constant(b.func(), self.min) == Some(0) { number } else { b.add(self.min, number) };
            let own = copy(b, &self.parts[k], &BTreeMap::from([(self.var, at)]));
            let mut own = rooms.iter().fold(own, |s, (buf, (room, n))| in_room(b, s, (*buf, *room), (number, *n)));
            if guarded {
                let zero = b.index(0);
                let (begun, over) = (b.compare(CmpOp::Ge, number, zero), b.compare(CmpOp::Lt, number, self.extent));
                own = Stmt::If { cond: b.and(begun, over), then: Box::new(own), otherwise: None };
            }
            all.push(own);
        }
        Stmt::loop_(turn, from, count, LoopKind::Serial, Stmt::seq(all))
    }
}

/// Buffers that both touch, and one of them writes.
fn conflicts(func: &PrimFunc, a: &Stmt, b: &Stmt) -> BTreeSet<BufId> {
    let (ra, wa, rb, wb) = (read(func, a), written(func, a), read(func, b), written(func, b));
    let touched: BTreeSet<BufId> = rb.union(&wb).copied().collect();
    wa.intersection(&touched).chain(ra.intersection(&wb)).copied().collect()
}

/// A buffer with room for several iterations.
fn room(b: &mut Builder, buf: BufId, versions: i64) -> BufId {
    let data = b.buf(buf).clone();
    let n = IntExpr::from(versions);
    let shape = match b.func().phase {
        Phase::Flat | Phase::Target => vec![data.shape.iter().fold(n, |n, d| &n * d)],
        Phase::Blocks | Phase::Scheduled => std::iter::once(n).chain(data.shape.clone()).collect(),
    };
    let room = b.buffer(&data.name, data.dtype, shape, data.scope);
    b.buf_mut(room).range = data.range;
    room
}

/// Accesses of a buffer in the room of an iteration.
fn in_room(b: &mut Builder, stmt: Stmt, (buf, room): (BufId, BufId), (number, versions): (ExprId, i64)) -> Stmt {
    let n = b.index(versions);
    let which = if versions == 1 { b.index(0) } else { b.binary(BinaryOp::RemEuclid, number, n) };
    let flat = b.func().phase >= Phase::Flat;
    let size = b.buf(buf).shape.iter().fold(IntExpr::from(1), |n, d| &n * d);
    let moved = move |b: &mut Builder, index: Vec<ExprId>| {
        if !flat {
            return std::iter::once(which).chain(index).collect::<Vec<_>>();
        }
        let size = b.int_expr(&size);
        let begin = b.mul(which, size);
        index.into_iter().map(|i| b.add(begin, i)).collect()
    };
    let shift = moved.clone();
    let mut map = ExprMap::new(|b: &mut Builder, id| match b.func().exprs.get(id).clone() {
        Expr::Load { buf: from, index, access } if from == buf => {
            let (index, ty) = (shift(b, index), b.ty(id));
            b.raw(Expr::Load { buf: room, index, access }, ty)
        }
        _ => id,
    });
    let stmt = map.stmt(b, stmt);
    stmt.map(&mut |s| match s {
        Stmt::Store { buf: to, index, value, access } if to == buf => {
            Stmt::Store { buf: room, index: moved(b, index), value, access }
        }
        Stmt::Prefetch { buf: to, index } if to == buf => Stmt::Prefetch { buf: room, index: moved(b, index) },
        other => other,
    })
}
