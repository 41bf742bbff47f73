//! `ThreadSync`: barriers where threads of a block meet in shared memory. (TVM: ThreadSync.)
//!
//! Runs on plain loops, of any phase without blocks. Two accesses of one buffer, a write among them, get a barrier
//! between them unless each thread meets only itself there: every thread variable is the index of an axis, the same one in
//! both. What stands at the end of a loop meets what stands at its begin. Barriers that are there count. Memory that
//! thread blocks share is left alone, as are functions without threads, and kernels in which warps multiply matrices or
//! threads begin copies. It never moves or removes anything.

use std::collections::BTreeSet;

use tenfold_ir::Module;
use tenfold_ir::tir::{
    BufAccess, BufferData, Builder, Expr, ExprId, Intrinsic, LoopKind, PrimFunc, Scope, Stmt, VarId, Warp, accesses,
    own_accesses,
};

use super::kernel::{Made, each_kernel, is_bound, is_shared, is_thread, is_uniform, refuse, try_body};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("ThreadSync", &thread_sync)
    .in_phase(PassPhase::Flat)
    .about("puts barriers between accesses of shared memory by different threads");

fn thread_sync(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    try_body(func, |b, body| {
        each_kernel(body, &mut |kernel| {
            if multiplies(b, &kernel) {
                return Ok(kernel);
            }
            let mut sync = Sync { b, threads: Vec::new(), varying: BTreeSet::new() };
            sync.stmt(kernel, &mut Vec::new())
        })
    })
}

/// Whether warps multiply matrices in a kernel, or threads begin copies, of chunks or of boxes of tensors: who wrote that has
/// put its barriers, since rows of matrices are told apart by which thread gives them, and not by their indices, and chunks
/// by the number of the thread in parts.
fn multiplies(b: &Builder, kernel: &Stmt) -> bool {
    let func = b.func();
    func.exprs_in(kernel).into_iter().any(|e| match func.exprs.get(e) {
        Expr::Call(Intrinsic::Warp(f), ..) => match f {
            Warp::LdMatrix
            | Warp::LdMatrixTrans
            | Warp::Mma
            | Warp::Wgmma(_)
            | Warp::WgmmaRegisters(_)
            | Warp::WgmmaWait(_) => true,
            Warp::ShuffleXor(_) => false,
        },
        Expr::Call(Intrinsic::CopyAsync | Intrinsic::CopyTensor, ..) => true,
        _ => false,
    })
}

/// Whether barriers can stand where a kernel needs them.
pub(super) fn has_room(b: &Builder, kernel: Stmt) -> bool {
    multiplies(b, &kernel)
        || Sync { b, threads: Vec::new(), varying: BTreeSet::new() }.stmt(kernel, &mut Vec::new()).is_ok()
}

struct Sync<'b> {
    b: &'b Builder,
    /// Variables of the thread axes around.
    threads: Vec<VarId>,
    /// Variables that differ from thread to thread.
    varying: BTreeSet<VarId>,
}

impl Sync<'_> {
    /// The statement with barriers; `pending` is what was accessed since the last one.
    fn stmt(&mut self, stmt: Stmt, pending: &mut Vec<BufAccess>) -> Made {
        match stmt {
            Stmt::Seq(all) => {
                let all = all.into_iter().map(|s| self.stmt(s, pending)).collect::<Result<Vec<_>, _>>()?;
                Ok(Stmt::seq(all))
            }
            Stmt::Barrier(_) => {
                pending.clear();
                Ok(stmt)
            }
            Stmt::For { min, extent, .. } if !self.uniform(&[min, extent]) => self.whole(stmt, pending),
            Stmt::For { var, min, extent, kind, annotations, body } => {
                // Loops over threads beside one another may differ in how many there are: all wait outside of them.
                let outermost = is_thread(kind) && self.threads.is_empty();
                let barrier = if outermost { self.between(&body, pending) } else { None };
                let body = self.loop_(var, kind, *body, pending)?;
                let rest = Stmt::For { var, min, extent, kind, annotations, body: Box::new(body) };
                Ok(Stmt::seq(barrier.into_iter().chain([rest])))
            }
            Stmt::If { cond, then, otherwise } if self.uniform(&[cond]) => {
                let mut other_pending = pending.clone();
                let then = Box::new(self.stmt(*then, pending)?);
                let otherwise = otherwise.map(|s| self.stmt(*s, &mut other_pending)).transpose()?.map(Box::new);
                pending.extend(other_pending);
                Ok(Stmt::If { cond, then, otherwise })
            }
            Stmt::Let { var, value, body } => {
                let head = Stmt::Evaluate(value);
                let barrier = self.before(own_accesses(self.b.func(), &head), pending);
                if !self.uniform(&[value]) {
                    self.varying.insert(var);
                }
                let rest = Stmt::Let { var, value, body: Box::new(self.stmt(*body, pending)?) };
                Ok(Stmt::seq(barrier.into_iter().chain([rest])))
            }
            Stmt::Alloc { buf, body } => Ok(Stmt::Alloc { buf, body: Box::new(self.stmt(*body, pending)?) }),
            Stmt::At(loc, body) => Ok(Stmt::At(loc, Box::new(self.stmt(*body, pending)?))),
            Stmt::If { .. }
            | Stmt::While { .. }
            | Stmt::Store { .. }
            | Stmt::Block(_)
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. } => self.whole(stmt, pending),
        }
    }

    fn uniform(&self, all: &[ExprId]) -> bool {
        all.iter().all(|e| is_uniform(self.b.func(), *e, &self.varying))
    }

    fn loop_(&mut self, var: VarId, kind: LoopKind, body: Stmt, pending: &mut Vec<BufAccess>) -> Made {
        if is_thread(kind) {
            self.threads.push(var);
            self.varying.insert(var);
            let body = self.stmt(body, pending);
            self.threads.pop();
            return body;
        }
        if is_bound(kind) {
            return self.stmt(body, pending);
        }
        let mut first = pending.clone();
        let once = self.stmt(body.clone(), &mut first)?;
        let mut second = first.clone();
        let twice = self.stmt(once.clone(), &mut second)?;
        if twice == once {
            pending.extend(first);
            return Ok(once);
        }
        // An iteration meets the one before it: all wait before each.
        let scope = self.scope_of(&accesses(self.b.func(), &body));
        pending.clear();
        let body = self.stmt(body, pending)?;
        Ok(Stmt::seq([Stmt::Barrier(scope.into()), body]))
    }

    /// A statement that not all threads run alike: no barrier can stand inside of it.
    fn whole(&mut self, stmt: Stmt, pending: &mut Vec<BufAccess>) -> Made {
        if !stmt.children().is_empty() {
            let barriers = |s: &Stmt| {
                let mut n = 0;
                s.walk(&mut |s| n += usize::from(matches!(s, Stmt::Barrier(_))));
                n
            };
            for child in stmt.children() {
                let done = self.stmt(child.clone(), &mut Vec::new())?;
                if barriers(&done) > barriers(child) {
                    return Err(refuse(
                        self.b.func(),
                        "a barrier would have to stand in a branch or loop that threads take differently",
                        "let every thread take it, and guard the accesses inside",
                    ));
                }
            }
        }
        let all = accesses(self.b.func(), &stmt);
        let barrier = self.before(all, pending);
        Ok(Stmt::seq(barrier.into_iter().chain([stmt])))
    }

    /// A barrier, if what is accessed inside meets pending accesses; none is pending then.
    fn between(&self, body: &Stmt, pending: &mut Vec<BufAccess>) -> Option<Stmt> {
        let mut met = pending.clone();
        let barrier = self.before(accesses(self.b.func(), body), &mut met)?;
        pending.clear();
        Some(barrier)
    }

    /// A barrier, if these accesses meet pending ones; they are pending then.
    fn before(&self, all: Vec<BufAccess>, pending: &mut Vec<BufAccess>) -> Option<Stmt> {
        let shared: Vec<BufAccess> = all.into_iter().filter(|a| is_shared(self.b.buf(a.buf).scope)).collect();
        let meets = shared.iter().any(|a| pending.iter().any(|p| self.meet(p, a)));
        if meets {
            pending.clear();
        }
        let barrier = meets.then(|| Stmt::Barrier(self.scope_of(&shared).into()));
        pending.extend(shared.into_iter().filter(|a| !pending.contains(a)).collect::<Vec<_>>());
        barrier
    }

    fn scope_of(&self, all: &[BufAccess]) -> Scope {
        let scopes = all.iter().map(|a| self.b.buf(a.buf).scope).filter(|s| is_shared(*s));
        let wide = scopes.clone().find(|s| *s != Scope::Warp);
        wide.or_else(|| scopes.clone().next()).unwrap_or(Scope::Shared)
    }

    /// Whether different threads may touch one element, one of them to write it.
    fn meet(&self, a: &BufAccess, b: &BufAccess) -> bool {
        if !a.write && !b.write {
            return false;
        }
        if a.buf != b.buf {
            return overlap(self.b.buf(a.buf), self.b.buf(b.buf));
        }
        match (&a.index, &b.index) {
            (Some(x), Some(y)) => !self.is_own(x, y),
            (Some(_) | None, _) => true,
        }
    }

    /// Whether each thread has one of both indices alone: every thread variable is in both the index of one axis.
    fn is_own(&self, x: &[ExprId], y: &[ExprId]) -> bool {
        let names = |t: &VarId| x.iter().zip(y).any(|(i, j)| i == j && self.is_var(*i, *t));
        !self.threads.is_empty() && self.threads.iter().all(names)
    }

    fn is_var(&self, e: ExprId, var: VarId) -> bool {
        *self.b.func().exprs.get(e) == Expr::Var(var)
    }
}

/// Whether two buffers may lie over one another: both have places in the memory of a block.
fn overlap(a: &BufferData, b: &BufferData) -> bool {
    let (Some(x), Some(y)) = (&a.offset, &b.offset) else { return false };
    if a.scope != Scope::SharedDyn || b.scope != Scope::SharedDyn {
        return false;
    }
    let bytes = |data: &BufferData| {
        let n = data.shape.iter().try_fold(data.dtype.size_bytes() as i64, |n, d| n.checked_mul(d.as_const()?));
        n.map(tenfold_ir::arith::IntExpr::from)
    };
    let apart = |from: &tenfold_ir::arith::IntExpr, data: &BufferData, to: &tenfold_ir::arith::IntExpr| {
        bytes(data).and_then(|n| (to - &(from + &n)).as_const()).is_some_and(|gap| gap >= 0)
    };
    !(apart(x, a, y) || apart(y, b, x))
}
