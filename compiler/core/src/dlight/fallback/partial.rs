//! Reductions of much along columns in parts, for threads: each part has results of its own, and those are reduced at the
//! end.
//!
//! How many parts there are follows from the shape alone, and so does the order in which terms are added, however many
//! threads there are. Floats of strict functions keep their order. A sum of all stays one piece: the few results
//! that its parts would have stand on the stack, to which threads do not write.

use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{
    Access, BufId, Builder, Expr, ExprId, IterKind, LoopKind, PrimFunc, Scope, Stmt, VarId, Viewer, substitution,
};

use super::lanes::{Reduction, neighbours, spatial, unit};
use crate::dlight::walk::step;
use crate::fuse::stage::{Iter, Stage, Staged, renamed};
use crate::tune::Asked;

/// Parts that there may be, at most one for each core of most machines.
const PARTS: [i64; 5] = [1, 2, 4, 8, 16];

/// Results that loops over them share out well enough.
const SHARED_OUT: i64 = 16;

/// Bytes of terms from which on it pays to split them.
const MUCH: i64 = 8 << 20;

/// Bytes of all parts' results, at most.
const LITTLE: i64 = 256 << 10;

/// Splits every reduction that no loop over its results can share out; into how many parts, if there was one.
pub(super) fn in_parts(staged: &mut Staged, asked: &Asked) -> Option<i64> {
    let (mut seen, mut found) = (0, None);
    for stage in std::mem::take(&mut staged.stages) {
        let parts = Parts::of(staged.b.func(), &stage).map(|parts| {
            seen += 1;
            parts.decided(seen - 1, asked)
        });
        match parts.filter(|parts| parts.count > 1) {
            Some(parts) => {
                parts.split(staged, &stage);
                found = found.max(Some(parts.count));
            }
            None => staged.stages.push(stage),
        }
    }
    found
}

/// A reduction in parts.
struct Parts {
    acc: BufId,
    op: BinaryOp,
    term: ExprId,
    start: ExprId,
    /// The outermost iterator over what is reduced.
    outer: VarId,
    /// Its turns.
    all: i64,
    /// How many parts.
    count: i64,
}

impl Parts {
    fn of(func: &PrimFunc, stage: &Stage) -> Option<Parts> {
        let Reduction { acc, op, term, start, .. } = Reduction::of(func, stage)?;
        let extent = |i: &Iter| func.literal(i.extent);
        let bytes = func.buffers[acc.0 as usize].dtype.size_bytes() as i64;
        let product = |of: &dyn Fn(&Iter) -> bool| {
            stage.iters.iter().filter(|i| of(i)).try_fold(1i64, |n, i| n.checked_mul(extent(i)?))
        };
        let column = column(func, term, stage)?;
        let shared_out = product(&|i| i.kind == IterKind::Spatial && i.var != column)?;
        let outer = stage.iters.iter().find(|i| i.kind == IterKind::Reduce)?;
        let all = extent(outer)?;
        let much = product(&|_| true)?.saturating_mul(bytes) >= MUCH;
        let results = product(&|i| i.kind == IterKind::Spatial)?.saturating_mul(bytes);
        let fits = |n: &i64| all % n == 0 && results.saturating_mul(*n) <= LITTLE;
        let count = if much { PARTS.into_iter().rev().find(fits)? } else { 1 };
        (shared_out < SHARED_OUT).then_some(Parts { acc, op, term, start, outer: outer.var, all, count })
    }

    /// The reduction of that number in as many parts as are asked for.
    fn decided(self, number: usize, asked: &Asked) -> Parts {
        let options = PARTS.into_iter().filter(|n| self.all % n == 0);
        Parts { count: asked.number(&format!("parts-{number}"), self.count, options), ..self }
    }

    /// The stages in the place of the reduction: each part's, and that of all parts.
    fn split(&self, staged: &mut Staged, stage: &Stage) {
        let all = self.buffer(staged, stage);
        let part = self.part(&mut staged.b, stage, all);
        let total = self.total(&mut staged.b, stage, all);
        staged.stages.extend([part, total]);
    }

    fn buffer(&self, staged: &mut Staged, stage: &Stage) -> BufId {
        let viewer = &mut Viewer::new(staged.b.func());
        let shape = std::iter::once(self.count.into()).chain(spatial(stage).map(|i| viewer.int(i.extent))).collect();
        let data = staged.b.buf(self.acc).clone();
        let buf = staged.b.buffer(&format!("{}_parts", data.name), data.dtype, shape, Scope::Global);
        staged.allocs.push(buf);
        buf
    }

    fn part(&self, b: &mut Builder, stage: &Stage, all: BufId) -> Stage {
        let (mut iters, mut to) = renamed(b, stage.iters.iter());
        let (number, turns, count) = (b.index_var("part"), b.index(self.all / self.count), b.index(self.count));
        if let Some(own) = stage.iters.iter().position(|i| i.var == self.outer) {
            iters[own].extent = turns;
        }
        iters.insert(0, Iter { var: number, extent: count, kind: IterKind::Spatial, order: LoopKind::Serial });
        let number = b.read(number);
        let begin = b.mul(number, turns);
        let here = b.add(begin, to[&self.outer]);
        to.insert(self.outer, here);
        let at: Vec<ExprId> = std::iter::once(number).chain(spatial(stage).map(|i| to[&i.var])).collect();
        let unit = unit(b, self.acc, self.op, self.start);
        let mut here = substitution(&to);
        let [term, unit] = [self.term, unit].map(|e| here.expr(b, e));
        let old = b.load(all, at.clone(), Access::Proven);
        let value = b.binary(self.op, old, term);
        let store = |value| Stmt::Store { buf: all, index: at.clone(), value, access: Access::Proven };
        let (init, body) = (Some(store(unit)), store(value));
        Stage { name: b.fresh_name(&format!("{}_parts", stage.name)), iters, init, body, loc: stage.loc }
    }

    /// The parts' results in one.
    fn total(&self, b: &mut Builder, stage: &Stage, all: BufId) -> Stage {
        let number = b.index_var("part");
        let mut iters: Vec<Iter> = spatial(stage).cloned().collect();
        let extent = b.index(self.count);
        iters.push(Iter { var: number, extent, kind: IterKind::Reduce, order: LoopKind::Reduction });
        let at: Vec<VarId> = std::iter::once(number).chain(spatial(stage).map(|i| i.var)).collect();
        let at = at.into_iter().map(|v| b.read(v)).collect();
        let Stmt::Store { buf, index, access, .. } = stage.body.clone() else { return stage.clone() };
        let (old, term) = (b.load(buf, index.clone(), Access::Proven), b.load(all, at, Access::Proven));
        let value = b.binary(self.op, old, term);
        Stage { iters, body: Stmt::Store { buf, index, value, access }, ..stage.clone() }
    }
}

/// The iterator over results along which terms are neighbours, where they are none along what is reduced: loops over it run
/// inside of those over what is reduced.
fn column(func: &PrimFunc, term: ExprId, stage: &Stage) -> Option<VarId> {
    if stage.iters.iter().any(|i| i.kind == IterKind::Reduce && neighbours(func, term, i.var)) {
        return None;
    }
    let viewer = &mut Viewer::new(func);
    let loads = func.reachable([term]);
    spatial(stage).map(|i| i.var).find(|var| {
        let sym = viewer.sym(*var);
        loads.iter().any(|id| match func.exprs.get(*id) {
            Expr::Load { buf, index, .. } => step(viewer, *buf, index, &sym) == Some(1),
            _ => false,
        })
    })
}
