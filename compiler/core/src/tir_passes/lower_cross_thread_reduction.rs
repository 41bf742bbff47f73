//! `LowerCrossThreadReduction`: a reduction over threads becomes a butterfly of warps, or a tree in shared memory.
//! (TVM: the pass of that name.)
//!
//! Runs where blocks are. Of a loop over threads that is annotated `cross_thread`, the block inside must have an init and
//! store `b[i] = b[i] op term` with an operator that takes any order; the loops between bind reduce iterators alone. Each
//! thread reduces its part, the parts are combined as the device does it (`butterfly`), elsewhere by halves with barriers
//! between, and the first thread writes the result. A function that is `strict` is refused for floats, since the order changes. Other loops are left alone.

use std::collections::BTreeSet;

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp, ReduceOp};
use tenfold_ir::tir::copy::substitute;
use tenfold_ir::tir::{
    Access, Annotation, Block, BufId, Builder, Expr, ExprId, IterKind, LoopKind, PrimFunc, Scope, Stmt, ThreadAxis,
    VarId, expr_vars,
};

use super::butterfly::{Meeting, Threads};
use super::kernel::{Made, block_of, constant, is_thread, refuse, try_body, try_children, with_alloc};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("LowerCrossThreadReduction", &lower_cross_thread_reduction)
    .in_phase(PassPhase::Blocks)
    .lowering()
    .about("makes butterflies of warps or trees in shared memory of reductions over threads");

fn lower_cross_thread_reduction(func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    let meeting = Meeting::of(context);
    try_body(func, |b, body| Lower { b, around: Vec::new(), others: false, meeting }.stmt(body))
}

struct Lower<'b> {
    b: &'b mut Builder,
    /// Thread loops around, with their numbers of threads.
    around: Vec<(VarId, i64)>,
    /// Whether a loop over threads is around.
    others: bool,
    /// How threads of the device reduce together.
    meeting: Option<Meeting>,
}

/// `buf[index] = buf[index] op term`, beginning with `init`.
struct Update {
    buf: BufId,
    index: Vec<ExprId>,
    op: BinaryOp,
    term: ExprId,
    init: ExprId,
}

impl Lower<'_> {
    fn stmt(&mut self, stmt: Stmt) -> Made {
        let Stmt::For { var, min, extent, kind, annotations, body } = stmt else {
            return try_children(stmt, &mut |s| self.stmt(s));
        };
        if is_thread(kind) && annotations.contains(&Annotation::CrossThread) {
            return self.reduction(var, (min, extent, kind), annotations, *body);
        }
        let threads = constant(self.b.func(), extent).filter(|_| is_thread(kind));
        self.around.extend(threads.map(|n| (var, n)));
        let others = self.others;
        self.others |= is_thread(kind);
        let body = self.stmt(*body);
        self.others = others;
        if threads.is_some() {
            self.around.pop();
        }
        Ok(Stmt::For { var, min, extent, kind, annotations, body: Box::new(body?) })
    }

    fn no(&self, message: &str, help: &str) -> CompileError {
        refuse(self.b.func(), format!("a reduction over threads {message}"), help)
    }

    fn reduction(
        &mut self,
        var: VarId,
        (min, extent, kind): (ExprId, ExprId, LoopKind),
        mut annotations: Vec<Annotation>,
        body: Stmt,
    ) -> Made {
        let threads = constant(self.b.func(), extent).filter(|n| *n > 0 && constant(self.b.func(), min) == Some(0));
        let threads = threads.ok_or_else(|| {
            self.no(
                "needs a constant number of threads, from 0 on",
                "split the loop by a constant, and bind its inner part",
            )
        })?;
        let (loops, block) = self.nest(&body)?;
        self.only_reduces(&block, var, &loops)?;
        let update = self.update(&block)?;
        annotations.retain(|a| *a != Annotation::CrossThread);
        let dtype = self.b.buf(update.buf).dtype;
        let part = self.b.buffer("part", dtype, Vec::new(), Scope::Local);
        let mut all = self.own_part(part, &update, &block, &loops);
        let values = block.iters.iter().map(|i| (i.var, i.value)).collect();
        let body = if let Some((group, op)) = self.together(var, kind, threads, update.op) {
            let combined = group.combine(self.b, part, op, all);
            let total = self.b.load(part, Vec::new(), Access::Proven);
            let last = self.result(total, var, &update);
            with_alloc(part, substitute(self.b, combined.then([last]), &values))
        } else {
            let rows = self.around.iter().map(|(_, n)| IntExpr::from(*n)).chain([IntExpr::from(threads)]);
            let cross = self.b.buffer("cross", dtype, rows.collect(), Scope::Shared);
            all.extend(self.tree(cross, part, var, threads, update.op));
            let zero = self.b.index(0);
            let first = self.at(zero);
            let total = self.b.load(cross, first, Access::Proven);
            all.push(self.result(total, var, &update));
            with_alloc(cross, with_alloc(part, substitute(self.b, Stmt::seq(all), &values)))
        };
        Ok(Stmt::For { var, min, extent, kind, annotations, body: Box::new(body) })
    }

    /// The threads, if they can reduce together and have no others beside them.
    fn together(&mut self, var: VarId, kind: LoopKind, count: i64, op: BinaryOp) -> Option<(Threads, ReduceOp)> {
        let x = kind == LoopKind::ThreadBound(ThreadAxis::Thread(0));
        let meeting = self.meeting.filter(|meeting| x && !self.others && meeting.takes(count))?;
        let op = unit(op)?;
        Some((Threads { meeting, count, number: self.b.read(var) }, op))
    }

    /// The loops down to the block, and the block.
    fn nest(&self, body: &Stmt) -> Result<(Vec<Stmt>, Block), CompileError> {
        let (mut loops, mut at) = (Vec::new(), body.bare());
        while let Stmt::For { body, .. } = at {
            loops.push(at.clone());
            at = body.bare();
        }
        let block = block_of(at).filter(|b| b.allocs.is_empty() && b.matches.is_empty());
        let block = block
            .ok_or_else(|| self.no("holds more than loops and one block", "move the block alone under the loop"))?;
        Ok((loops, block.clone()))
    }

    fn only_reduces(&self, block: &Block, var: VarId, loops: &[Stmt]) -> Result<(), CompileError> {
        let inner: BTreeSet<VarId> = loops.iter().flat_map(Stmt::bound).chain([var]).collect();
        let spatial = block.iters.iter().filter(|i| i.kind != IterKind::Reduce);
        if spatial.clone().any(|i| !expr_vars(self.b.func(), i.value).is_disjoint(&inner)) {
            return Err(self
                .no("has loops of other axes inside", "reorder so that the loop over threads stands inside of them"));
        }
        Ok(())
    }

    fn update(&self, block: &Block) -> Result<Update, CompileError> {
        let found = self.find_update(block);
        let update = found
            .ok_or_else(|| self.no("is no `b[i] = b[i] op term` with an init", "make a reduction block of it first"))?;
        let float = self.b.buf(update.buf).dtype.is_float();
        if self.b.func().strict && float && matches!(update.op, BinaryOp::Add | BinaryOp::Mul) {
            return Err(self.no(
                "changes the order of floats in a strict function",
                "leave out `numerics = \"strict\"`, or unbind the loop",
            ));
        }
        Ok(update)
    }

    fn find_update(&self, block: &Block) -> Option<Update> {
        let Stmt::Store { buf, index, value, .. } = block.body.bare() else { return None };
        let Stmt::Store { buf: from, index: at, value: init, .. } = block.init.as_ref()?.bare() else { return None };
        let func = self.b.func();
        let Expr::Binary(op, x, y) = func.exprs.get(*value) else { return None };
        let old =
            |e: ExprId| matches!(func.exprs.get(e), Expr::Load { buf: b, index: i, .. } if b == buf && i == index);
        let term = if old(*x) {
            *y
        } else if old(*y) {
            *x
        } else {
            return None;
        };
        let mut again = false;
        for e in func.reachable([term]) {
            again |= matches!(func.exprs.get(e), Expr::Load { buf: b, .. } if b == buf);
        }
        let whole = from == buf && at == index && !again && unit(*op).is_some();
        whole.then(|| Update { buf: *buf, index: index.clone(), op: *op, term, init: *init })
    }

    /// Each thread reduces what its loops give it.
    fn own_part(&mut self, part: BufId, update: &Update, block: &Block, loops: &[Stmt]) -> Vec<Stmt> {
        let dtype = self.b.buf(update.buf).dtype;
        let start = unit(update.op).map_or_else(|| tenfold_ir::Scalar::zero(dtype), |op| op.unit(dtype));
        let start = self.b.scalar(start);
        let store = |value| Stmt::Store { buf: part, index: Vec::new(), value, access: Access::Proven };
        let old = self.b.load(part, Vec::new(), Access::Proven);
        let next = self.b.binary(update.op, old, update.term);
        let mut step = store(next);
        if let Some(cond) = block.predicate {
            step = Stmt::If { cond, then: Box::new(step), otherwise: None };
        }
        for l in loops.iter().rev() {
            step = l.clone().map_children(&mut |_| step.clone());
        }
        vec![store(start), step]
    }

    fn at(&mut self, last: ExprId) -> Vec<ExprId> {
        let around = self.around.clone();
        around.into_iter().map(|(v, _)| self.b.read(v)).chain([last]).collect()
    }

    fn tree(&mut self, cross: BufId, part: BufId, var: VarId, threads: i64, op: BinaryOp) -> Vec<Stmt> {
        let me = self.b.read(var);
        let (own, value) = (self.at(me), self.b.load(part, Vec::new(), Access::Proven));
        let mut all = vec![Stmt::Store { buf: cross, index: own.clone(), value, access: Access::Proven }];
        let mut half = (threads as u64).next_power_of_two() as i64 / 2;
        while half > 0 {
            let (limit, step) = (self.b.index(half.min(threads - half)), self.b.index(half));
            let other = self.b.add(me, step);
            let other = self.at(other);
            let (x, y) = (self.b.load(cross, own.clone(), Access::Proven), self.b.load(cross, other, Access::Proven));
            let value = self.b.binary(op, x, y);
            let then = Stmt::Store { buf: cross, index: own.clone(), value, access: Access::Proven };
            let cond = self.b.compare(CmpOp::Lt, me, limit);
            all.extend([Stmt::Barrier(Scope::Shared.into()), Stmt::If { cond, then: Box::new(then), otherwise: None }]);
            half /= 2;
        }
        all.push(Stmt::Barrier(Scope::Shared.into()));
        all
    }

    fn result(&mut self, total: ExprId, var: VarId, update: &Update) -> Stmt {
        let (me, zero) = (self.b.read(var), self.b.index(0));
        let dtype = self.b.buf(update.buf).dtype;
        let neutral = unit(update.op).map(|op| op.unit(dtype));
        let is_neutral = matches!(self.b.func().exprs.get(update.init), Expr::Const(s) if Some(*s) == neutral);
        let value = if is_neutral { total } else { self.b.binary(update.op, update.init, total) };
        let then = Stmt::Store { buf: update.buf, index: update.index.clone(), value, access: Access::Proven };
        let cond = self.b.compare(CmpOp::Eq, me, zero);
        Stmt::If { cond, then: Box::new(then), otherwise: None }
    }
}

/// The reduction of an operator that takes any order.
fn unit(op: BinaryOp) -> Option<ReduceOp> {
    match op {
        BinaryOp::Add => Some(ReduceOp::Sum),
        BinaryOp::Mul => Some(ReduceOp::Prod),
        BinaryOp::Max => Some(ReduceOp::Max),
        BinaryOp::Min => Some(ReduceOp::Min),
        BinaryOp::Sub
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::DivEuclid
        | BinaryOp::RemEuclid
        | BinaryOp::Pow
        | BinaryOp::Atan2
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::Shr => None,
    }
}
