//! A group a turn: its threads take the columns of each loop inside, and reduce together.

use std::collections::BTreeSet;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, ReduceOp};
use tenfold_ir::tir::{Access, BufId, Expr, ExprId, LoopKind, PrimFunc, Scope, Stmt, VarId, accesses, expr_vars};

use super::{Bind, Loop, THREADS};
use crate::tir_passes::butterfly::Threads;
use crate::tir_passes::kernel::{constant, with_alloc};

/// Bytes of local buffers that threads of a group may share: with what reductions take half of what every device has.
const SHARED: i64 = 8 << 10;

/// Columns from which on threads share them.
pub(super) const COLUMNS: i64 = 32;

/// Turns of a nest from which on each has a thread, if all that a turn has for threads is a reduction.
const MANY: i64 = 1 << 12;

/// What the threads of a group share.
#[derive(Default)]
pub(super) struct Rows {
    /// Buffers of a turn that all of its threads use.
    buffers: Vec<BufId>,
}

/// A loop that threads share: its turns, or its reduction.
pub(super) enum Share<'s> {
    Turns(Loop, &'s Stmt),
    Sum(Loop, Update),
}

/// `buf[index] = buf[index] op term`.
pub(super) struct Update {
    pub buf: BufId,
    pub index: Vec<ExprId>,
    pub op: ReduceOp,
    pub term: ExprId,
}

impl Rows {
    /// What a turn's threads share, if that is worth a group a turn.
    pub(super) fn find(bind: &Bind<'_>, loops: &[Loop], body: &Stmt) -> Option<Rows> {
        let mut rows = Rows::default();
        let (mut turns, mut sums) = (false, false);
        rows.look(bind, body, &mut turns, &mut sums);
        let func = bind.b.func();
        let many = loops.iter().try_fold(1i64, |n, l| n.checked_mul(constant(func, l.extent)?));
        let few = many.is_none_or(|n| n < MANY);
        let bytes: Option<i64> =
            rows.buffers.iter().map(|buf| Some(func.buffers[buf.0 as usize].bytes()?.max(4))).sum();
        let fits = bytes.is_some_and(|bytes| bytes <= SHARED);
        (fits && (turns || sums && few)).then_some(rows)
    }

    /// Finds the loops that threads can share, and the buffers around them.
    fn look(&mut self, bind: &Bind<'_>, stmt: &Stmt, turns: &mut bool, sums: &mut bool) {
        match bind.share(stmt) {
            Some(Share::Turns(l, _)) => *turns |= bind.is_wide(l),
            Some(Share::Sum(l, _)) => *sums |= bind.is_wide(l),
            None => match stmt {
                Stmt::Alloc { buf, body } => {
                    self.buffers.push(*buf);
                    self.look(bind, body, turns, sums);
                }
                _ if bind.is_walked(stmt) => {
                    stmt.children().into_iter().for_each(|s| self.look(bind, s, turns, sums));
                }
                _ => {}
            },
        }
    }

    /// A turn, done by the threads of a group.
    pub(super) fn shared(&self, bind: &mut Bind<'_>, thread: VarId, stmt: Stmt) -> Stmt {
        for buf in &self.buffers {
            bind.b.buf_mut(*buf).scope = Scope::Shared;
        }
        let met = met(bind.b.func(), &stmt);
        Together { bind, thread, met }.stmt(stmt)
    }
}

/// Buffers outside of the kernel that a statement writes and accesses somewhere else too.
fn met(func: &PrimFunc, stmt: &Stmt) -> BTreeSet<BufId> {
    let all = accesses(func, stmt);
    let outside = |buf: BufId| !matches!(func.buffers[buf.0 as usize].scope, Scope::Local | Scope::Shared);
    let times = |buf: BufId| all.iter().filter(|a| a.buf == buf).count();
    all.iter().filter(|a| a.write && outside(a.buf) && times(a.buf) > 1).map(|a| a.buf).collect()
}

impl Bind<'_> {
    /// Whether a loop has work for several threads, as far as is known.
    fn is_wide(&self, l: Loop) -> bool {
        constant(self.b.func(), l.extent).is_none_or(|n| n >= COLUMNS)
    }

    /// Whether all threads go through a statement, and share what is in it.
    fn is_walked(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Seq(_) | Stmt::At(..) | Stmt::Alloc { .. } => true,
            Stmt::Let { value, .. } => !self.b.func().loads(*value),
            Stmt::For { min, extent, kind, .. } => {
                *kind != LoopKind::Parallel && !self.b.func().loads(*min) && !self.b.func().loads(*extent)
            }
            Stmt::If { cond, .. } => !self.b.func().loads(*cond),
            _ => false,
        }
    }

    pub(super) fn share<'s>(&self, stmt: &'s Stmt) -> Option<Share<'s>> {
        let Stmt::For { var, min, extent, kind, body, .. } = stmt else { return None };
        let l = Loop { var: *var, min: *min, extent: *extent };
        if self.b.func().loads(*min) || self.b.func().loads(*extent) {
            return None;
        }
        match kind {
            LoopKind::Serial if self.free.contains(var) => Some(Share::Turns(l, body)),
            LoopKind::Reduction => Some(Share::Sum(l, self.update(*var, body)?)),
            _ => None,
        }
    }

    /// What a reduction's loop does, if that is one update of one element in any order.
    fn update(&self, var: VarId, body: &Stmt) -> Option<Update> {
        let func = self.b.func();
        let Stmt::Store { buf, index, value, .. } = body.bare() else { return None };
        let dtype = func.buffers[buf.0 as usize].dtype;
        let Expr::Binary(op, old, term) = func.exprs.get(*value) else { return None };
        let own =
            |e: &ExprId| matches!(func.exprs.get(*e), Expr::Load { buf: b, index: i, .. } if b == buf && i == index);
        let term = if own(old) { *term } else { Some(*old).filter(|_| own(term))? };
        let alone =
            func.reachable([term]).iter().all(|e| !matches!(func.exprs.get(*e), Expr::Load { buf: b, .. } if b == buf));
        let fixed = index.iter().all(|i| !expr_vars(func, *i).contains(&var) && !func.loads(*i));
        let op = match op {
            BinaryOp::Add => ReduceOp::Sum,
            BinaryOp::Mul => ReduceOp::Prod,
            BinaryOp::Max => ReduceOp::Max,
            BinaryOp::Min => ReduceOp::Min,
            _ => return None,
        };
        let exact = !(self.strict && dtype.is_float());
        (alone && fixed && exact && dtype.size_bytes() > 1).then(|| Update {
            buf: *buf,
            index: index.clone(),
            op,
            term,
        })
    }

    /// Every so many turns of a loop by each thread.
    fn columns(&mut self, thread: VarId, l: Loop, body: Stmt) -> Stmt {
        let step = self.b.index_var("step");
        let (at, me, threads) = (self.b.read(step), self.b.read(thread), self.b.index(THREADS));
        let base = self.b.mul(at, threads);
        let place = self.b.add(base, me);
        let zero = self.b.index(0);
        let value = if self.b.func().literal(l.min) == Some(0) { place } else { self.b.add(l.min, place) };
        let body = Stmt::Let { var: l.var, value, body: Box::new(body) };
        let exact = constant(self.b.func(), l.extent).is_some_and(|n| n % THREADS == 0);
        let body = if exact { body } else { self.below(place, l.extent, body) };
        let steps = self.parts(l.extent, THREADS);
        Stmt::loop_(step, zero, steps, LoopKind::Serial, body)
    }

    /// Each thread reduces its part; the parts are combined, and the first thread adds the result.
    fn sum(&mut self, thread: VarId, l: Loop, update: &Update) -> Stmt {
        let dtype = self.b.buf(update.buf).dtype;
        let one = || vec![IntExpr::from(1)];
        let part = self.b.buffer("part", dtype, one(), Scope::Local);
        let (zero, me) = (self.b.index(0), self.b.read(thread));
        let op = update.op.combiner();
        let unit = self.b.scalar(update.op.unit(dtype));
        let start = store(part, zero, unit);
        let old = self.b.load(part, vec![zero], Access::Proven);
        let sum = self.b.binary(op, old, update.term);
        let own = self.columns(thread, l, store(part, zero, sum));
        let threads = Threads { meeting: self.meeting, count: THREADS, number: me };
        let combined = threads.combine(self.b, part, update.op, vec![start, own]);
        let last = self.last(thread, update, part);
        with_alloc(part, combined.then([last]))
    }

    /// The first thread adds what the first element of `from` is.
    fn last(&mut self, thread: VarId, update: &Update, from: BufId) -> Stmt {
        let zero = self.b.index(0);
        let old = self.b.load(update.buf, update.index.clone(), Access::Proven);
        let sum = self.b.load(from, vec![zero], Access::Proven);
        let value = self.b.binary(update.op.combiner(), old, sum);
        let last = Stmt::Store { buf: update.buf, index: update.index.clone(), value, access: Access::Proven };
        self.alone(thread, last)
    }
}

/// A statement that all threads of a group run.
struct Together<'t, 'a> {
    bind: &'t mut Bind<'a>,
    thread: VarId,
    /// Memory through which threads may meet and of which `ThreadSync` knows nothing.
    met: BTreeSet<BufId>,
}

impl Together<'_, '_> {
    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        match self.bind.share(&stmt) {
            Some(Share::Turns(l, body)) => {
                let body = body.clone();
                return self.bind.columns(self.thread, l, body);
            }
            Some(Share::Sum(l, update)) => return self.bind.sum(self.thread, l, &update),
            None => {}
        }
        if !self.bind.is_walked(&stmt) {
            return self.bind.alone(self.thread, stmt);
        }
        match stmt {
            Stmt::Seq(all) => self.in_order(all),
            Stmt::For { var, min, extent, kind, annotations, body } => {
                let again = self.meets(&body) && !self.keeps(var, &body);
                let body = self.stmt(*body);
                let body = if again { Stmt::seq([body, Stmt::Barrier(Scope::Shared.into())]) } else { body };
                Stmt::For { var, min, extent, kind, annotations, body: Box::new(body) }
            }
            other => other.map_children(&mut |s| self.stmt(s)),
        }
    }

    /// Statements one after the other, with a barrier where threads may meet outside of the kernel's memory.
    fn in_order(&mut self, all: Vec<Stmt>) -> Stmt {
        let (mut out, mut before) = (Vec::new(), false);
        for stmt in all {
            let meets = self.meets(&stmt);
            if before && meets {
                out.push(Stmt::Barrier(Scope::Shared.into()));
            }
            before |= meets;
            out.push(self.stmt(stmt));
        }
        Stmt::seq(out)
    }

    fn meets(&self, stmt: &Stmt) -> bool {
        accesses(self.bind.b.func(), stmt).iter().any(|a| self.met.contains(&a.buf))
    }

    /// Whether every turn of a loop gives each thread the same elements: all it does is columns, at places that do not
    /// move with it.
    fn keeps(&self, var: VarId, body: &Stmt) -> bool {
        let func = self.bind.b.func();
        let columns = matches!(self.bind.share(body.bare()), Some(Share::Turns(l, _))
            if [l.min, l.extent].iter().all(|e| !expr_vars(func, *e).contains(&var)));
        let stays = |index: &[ExprId]| index.iter().all(|i| !expr_vars(func, *i).contains(&var) && !func.loads(*i));
        columns
            && accesses(func, body).iter().all(|a| !self.met.contains(&a.buf) || a.index.as_deref().is_some_and(stays))
    }
}

fn store(buf: BufId, at: ExprId, value: ExprId) -> Stmt {
    Stmt::Store { buf, index: vec![at], value, access: Access::Proven }
}
