//! `BindThreads`: the loops of kernels that no schedule has bound run on the threads of a device. (TVM: the fallback of
//! dlight's rules for GPUs.)
//!
//! Runs on plain loops that still have an index per axis, for targets that are devices. Every statement of a kernel that
//! touches memory becomes part of a device kernel, by the first of these rules that takes it:
//!
//! - a product or a convolution of halves or bytes, on a target whose warps multiply matrices: a group a tile of the result, whose
//!   warps have parts of it (`matrices`);
//! - a large product or convolution of elements of 4 bytes, on NVIDIA's GPUs: a group a tile of the result, a thread 8 by 8
//!   elements of it (`squares`);
//! - a product or a convolution that is large enough: a group a tile of the result (`tiles`);
//! - a nest whose turns make memory of their own and read it where data says: a nest that makes each element where it is
//!   read (`gathered`);
//! - a nest whose turns begin with such a product: that product, then the rest of the turns (`split`);
//! - a nest whose turns are sums of columns: a warp or a group a turn, which keeps what it uses again in registers, or in
//!   the memory of the group (`registers`);
//! - a nest whose turns have loops inside that threads share: a group a turn, its threads side by side (`rows`);
//! - a nest of loops whose turns are elements that lie side by side in memory: a thread a vector of them (`elements`);
//! - a nest of loops whose turns are proven to touch elements of their own: a thread a turn;
//! - anything else: one group, of which one thread does what cannot be shared.
//!
//! Allocations of whole buffers and branches over dims stay with the host. A nest that has thread loops, which a schedule
//! has bound, is left alone. What is computed does not change but for the order of sums that threads share, which strict functions do not
//! share.

mod elements;
mod gathered;
mod held;
mod lengths;
mod matrices;
mod product;
mod registers;
mod rows;
mod split;
mod squares;
mod sums;
mod tiles;
mod words;

use std::collections::BTreeSet;

use tenfold_ir::Module;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Builder, ExprId, FuncKind, LoopKind, Phase, PrimFunc, Scope, Stmt, ThreadAxis, VarId, Viewer};

use super::butterfly::Meeting;
use super::kernel::{constant, is_bound};
use super::vectorize_loop::dependence;
use super::{rewrite_body, thread_sync};
use crate::CompileError;
use crate::pass::{ConfigKey, IntKey, Pass, PassContext, PassPhase, Remark};
use crate::target::{Device, Key, Target};

/// Where a product has fewer large tiles than there are multiprocessors, it gets small ones.
const MULTIPROCESSORS: IntKey = IntKey {
    name: "BindThreads.multiprocessors",
    default: 0,
    least: 0,
    greatest: 1 << 16,
    doc: "multiprocessors of the GPU whose warps multiply matrices; 0 takes those of the largest one of the chip",
};

/// With few of them groups take several turns where a test can have only few turns in all.
const GROUPS: IntKey = IntKey {
    name: "BindThreads.groups",
    default: 1 << 15,
    least: 1,
    greatest: (1 << 16) - 1,
    doc: "groups of a launch at most, of which each takes every so many turns; every device takes 65,535 along an axis",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("BindThreads", &run)
    .in_phase(PassPhase::Loops)
    .lowering()
    .reads(&[ConfigKey::Int(&MULTIPROCESSORS), ConfigKey::Int(&GROUPS)])
    .about("binds loops that no schedule has bound to the threads of a device");

/// Threads of a group: as many as every device has.
const THREADS: i64 = 128;

fn run(func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    let ours = context.target.device.is_some() && func.kind == FuncKind::Host && !func.exported;
    if !ours || func.phase >= Phase::Flat {
        return Ok(func);
    }
    let free = independent(&func);
    let strict = func.strict || context.strict;
    let mut taken = Vec::new();
    let func = rewrite_body(func, |b, body| {
        let multiprocessors = context.target.device.and_then(Device::multiprocessors).map(|largest| {
            let told = context.int(&MULTIPROCESSORS);
            if told > 0 { told } else { largest }
        });
        let meeting = Meeting::of(context).unwrap_or(Meeting::Group);
        let warpgroups = context.target.device.is_some_and(Device::has_warpgroups);
        let row_bytes = context.target.device.map_or(0, Device::row_bytes);
        let free = free.clone();
        let (target, most, taken_here) = (&context.target, context.int(&GROUPS), Vec::new());
        let mut bind =
            Bind { b, free, strict, target, meeting, most, multiprocessors, warpgroups, row_bytes, taken: taken_here };
        let body = bind.host(body);
        taken = bind.taken;
        body
    });
    for rule in taken {
        let place = || format!("rule `{}`", rule.name);
        context.remark(|| Remark::applied(PASS.info.name, &func.name, place(), rule.reason));
    }
    Ok(func)
}

/// The loops whose turns are proven to touch elements of their own.
fn independent(func: &PrimFunc) -> BTreeSet<VarId> {
    let effect = |s: &Stmt| matches!(s, Stmt::Call { .. } | Stmt::Assert { .. } | Stmt::Barrier(_));
    let mut free = BTreeSet::new();
    Viewer::new(func).walk(&func.body, &mut |viewer, stmt| {
        if let Stmt::For { var, kind: LoopKind::Serial, body, .. } = stmt
            && !body.any(&mut |s| effect(s))
            && dependence(viewer, stmt).is_none()
        {
            free.insert(*var);
        }
    });
    free
}

/// A loop of a nest.
#[derive(Clone, Copy)]
struct Loop {
    var: VarId,
    min: ExprId,
    extent: ExprId,
}

struct Bind<'a> {
    b: &'a mut Builder,
    /// Loops whose turns are proven to touch elements of their own.
    free: BTreeSet<VarId>,
    strict: bool,
    /// Which rules apply.
    target: &'a Target,
    /// How threads reduce together.
    meeting: Meeting,
    /// Groups of a launch at most.
    most: i64,
    /// Of the device, if its warps multiply matrices.
    multiprocessors: Option<i64>,
    /// Whether four warps multiply together there.
    warpgroups: bool,
    /// Bytes of a row that a group can keep in its memory.
    row_bytes: i64,
    /// The rule of each kernel, in order.
    taken: Vec<&'static Rule>,
}

/// One way to give a nest of loops threads.
struct Rule {
    name: &'static str,
    /// The key of the targets that have it.
    key: Key,
    /// Why it is a good one where it applies.
    reason: &'static str,
    /// The kernel, of the loops whose turns are independent and what stands in them; nothing where the rule does not
    /// apply. Threads must be able to wait for each other where it makes them meet, else the next rule is tried.
    kernel: fn(&mut Bind<'_>, &[Loop], &Stmt) -> Option<Stmt>,
}

/// Those for products, in the order in which they are tried, before [`RULES`].
const PRODUCTS: &[Rule] = &[
    Rule {
        name: "matrices",
        key: Key::TensorCore,
        reason: "warps multiply matrices of halves or bytes, and find them in shared memory",
        kernel: |bind, loops, body| Some(matrices::Tiles::find(bind, loops, body)?.kernel(bind)),
    },
    Rule {
        name: "squares",
        key: Key::Cuda,
        reason: "a thread has 64 sums in registers, for which it finds both factors in four loads of 16 bytes",
        kernel: |bind, loops, body| Some(squares::Squares::find(bind, loops, body)?.kernel(bind)),
    },
    Rule {
        name: "tiles",
        key: Key::Gpu,
        reason: "a tile of a product reads each factor once, and its threads find it in shared memory",
        kernel: |bind, loops, body| Some(tiles::Tiles::find(bind, loops, body)?.kernel(bind)),
    },
];

/// The others; what none takes, one thread does.
const RULES: &[Rule] = &[
    Rule {
        name: "gathered",
        key: Key::Gpu,
        reason: "what is read where data says is made where it is read: no register is found by a number",
        kernel: gathered::kernel,
    },
    Rule {
        name: "split",
        key: Key::Gpu,
        reason: "tiles read the factors of a product once where each turn would read them for itself",
        kernel: split::kernels,
    },
    Rule {
        name: "registers",
        key: Key::Gpu,
        reason: "threads keep their columns of a row, and make sums together",
        kernel: registers::kernel,
    },
    Rule {
        name: "rows",
        key: Key::Gpu,
        reason: "threads of a group share the columns of a turn, and meet in shared memory",
        kernel: |bind, loops, body| {
            let rows = rows::Rows::find(bind, loops, body)?;
            Some(bind.group_a_turn(loops, THREADS, |bind, thread| rows.shared(bind, thread, body.clone())))
        },
    },
    Rule {
        name: "vectors",
        key: Key::Cuda,
        reason: "a thread reads and writes neighbours at once, in accesses of 16 bytes",
        kernel: elements::vectors,
    },
    Rule {
        name: "turns",
        key: Key::Generic,
        reason: "turns that touch elements of their own wait for nobody: a thread each, neighbours side by side",
        kernel: elements::turns,
    },
];

impl Bind<'_> {
    /// What the host does, with kernels in it.
    fn host(&mut self, stmt: Stmt) -> Stmt {
        match stmt {
            Stmt::Seq(all) => Stmt::seq(all.into_iter().map(|s| self.host(s)).collect::<Vec<_>>()),
            Stmt::At(loc, body) => Stmt::At(loc, Box::new(self.host(*body))),
            Stmt::Alloc { buf, body } if self.b.buf(buf).scope == Scope::Global => {
                Stmt::Alloc { buf, body: Box::new(self.host(*body)) }
            }
            Stmt::Let { var, value, body } if !self.b.func().loads(value) => {
                Stmt::Let { var, value, body: Box::new(self.host(*body)) }
            }
            Stmt::If { cond, then, otherwise } if !self.b.func().loads(cond) => {
                let otherwise = otherwise.map(|s| Box::new(self.host(*s)));
                Stmt::If { cond, then: Box::new(self.host(*then)), otherwise }
            }
            Stmt::Call { .. } | Stmt::Evaluate(_) | Stmt::Prefetch { .. } => stmt,
            bound if bound.any(&mut |s| matches!(s, Stmt::For { kind, .. } if is_bound(*kind))) => bound,
            other => self.kernel(other),
        }
    }

    fn kernel(&mut self, stmt: Stmt) -> Stmt {
        let (loops, inner) = self.peeled(stmt);
        let taken = self.by(PRODUCTS, &loops, &inner).or_else(|| self.by(RULES, &loops, &inner));
        taken.unwrap_or_else(|| self.group_a_turn(&loops, THREADS, |bind, thread| bind.alone(thread, inner)))
    }

    /// The loops around whose turns are independent, and what stands in them.
    fn peeled(&self, stmt: Stmt) -> (Vec<Loop>, Stmt) {
        let mut loops = Vec::new();
        let mut inner = stmt;
        while let Stmt::For { var, min, extent, body, .. } = inner.bare()
            && self.free.contains(var)
            && self.is_host(&[*min, *extent], &loops)
        {
            loops.push(Loop { var: *var, min: *min, extent: *extent });
            inner = (**body).clone();
        }
        (loops, inner)
    }

    /// The kernel by the first of these rules that takes a nest.
    fn by(&mut self, rules: &'static [Rule], loops: &[Loop], inner: &Stmt) -> Option<Stmt> {
        for rule in rules.iter().filter(|rule| self.target.has_key(rule.key)) {
            let before = (Builder::resume(self.b.func().clone()), self.free.clone(), self.taken.len());
            if let Some(kernel) = (rule.kernel)(self, loops, inner)
                && thread_sync::has_room(self.b, kernel.clone())
            {
                self.taken.push(rule);
                return Some(kernel);
            }
            (*self.b, self.free) = (before.0, before.1);
            self.taken.truncate(before.2);
        }
        None
    }

    /// A group a turn.
    fn group_a_turn(&mut self, loops: &[Loop], threads: i64, body: impl FnOnce(&mut Self, VarId) -> Stmt) -> Stmt {
        let group = self.b.index_var("group");
        let thread = self.b.index_var("thread");
        let body = body(self, thread);
        let threads = self.b.index(threads);
        let count = self.count(loops);
        let body = self.strided(group, count, loops, body);
        let groups = self.groups(count);
        self.bound(group, groups, thread, threads, body)
    }

    /// Whether the host can compute expressions: they name no loop of the kernel and read no memory.
    fn is_host(&self, all: &[ExprId], loops: &[Loop]) -> bool {
        let func = self.b.func();
        let own = |e: ExprId| tenfold_ir::tir::expr_vars(func, e).iter().any(|v| loops.iter().any(|l| l.var == *v));
        all.iter().all(|e| !func.loads(*e) && !own(*e))
    }

    /// How many turns there are.
    fn count(&mut self, loops: &[Loop]) -> ExprId {
        let one = self.b.index(1);
        loops
            .iter()
            .fold(one, |n, l| if self.b.func().literal(n) == Some(1) { l.extent } else { self.product(n, l.extent) })
    }

    fn product(&mut self, a: ExprId, b: ExprId) -> ExprId {
        match (constant(self.b.func(), a), constant(self.b.func(), b)) {
            (Some(x), Some(y)) if x.checked_mul(y).is_some() => self.b.index(x * y),
            _ => self.b.mul(a, b),
        }
    }

    fn times(&mut self, a: ExprId, n: i64) -> ExprId {
        let n = self.b.index(n);
        self.product(a, n)
    }

    fn quotient(&mut self, a: ExprId, n: i64) -> ExprId {
        let n = self.b.index(n);
        self.b.binary(BinaryOp::DivEuclid, a, n)
    }

    fn rest(&mut self, a: ExprId, n: i64) -> ExprId {
        let n = self.b.index(n);
        self.b.binary(BinaryOp::RemEuclid, a, n)
    }

    /// `(n + by - 1) / by`.
    fn parts(&mut self, n: ExprId, by: i64) -> ExprId {
        if let Some(n) = constant(self.b.func(), n) {
            return self.b.index(n.max(0).saturating_add(by - 1) / by);
        }
        let (more, by) = (self.b.index(by - 1), self.b.index(by));
        let sum = self.b.add(n, more);
        self.b.binary(BinaryOp::DivEuclid, sum, by)
    }

    /// How many groups there are for that many parts: each takes every so many.
    fn groups(&mut self, parts: ExprId) -> ExprId {
        match constant(self.b.func(), parts) {
            Some(n) => self.b.index(n.clamp(1, self.most)),
            None => {
                let (least, most) = (self.b.index(1), self.b.index(self.most));
                let some = self.b.binary(BinaryOp::Max, parts, least);
                self.b.binary(BinaryOp::Min, some, most)
            }
        }
    }

    /// A thread a turn.
    fn turns(&mut self, loops: &[Loop], body: Stmt) -> Stmt {
        let (group, thread) = (self.b.index_var("group"), self.b.index_var("thread"));
        let count = self.count(loops);
        let parts = self.parts(count, THREADS);
        let (g, t, threads) = (self.b.read(group), self.b.read(thread), self.b.index(THREADS));
        let base = self.b.mul(g, threads);
        let first = self.b.add(base, t);
        let groups = self.groups(parts);
        let stride = self.product(groups, threads);
        let exact = constant(self.b.func(), count).is_some_and(|n| n > 0 && n % THREADS == 0);
        let once = constant(self.b.func(), parts).is_some_and(|n| n <= self.most);
        let body = self.every(first, stride, count, (once, exact), loops, body);
        self.bound(group, groups, thread, threads, body)
    }

    /// The turns of a group: one, or every so many.
    fn strided(&mut self, group: VarId, count: ExprId, loops: &[Loop], body: Stmt) -> Stmt {
        let (first, groups) = (self.b.read(group), self.groups(count));
        let few = constant(self.b.func(), count).is_some_and(|n| (1..=self.most).contains(&n));
        self.every(first, groups, count, (few, few), loops, body)
    }

    /// The turns `first`, `first + stride`, …: one where there are as many threads as turns (`once`), of which none is
    /// too many (`exact`).
    fn every(
        &mut self,
        first: ExprId,
        stride: ExprId,
        count: ExprId,
        (once, exact): (bool, bool),
        loops: &[Loop],
        body: Stmt,
    ) -> Stmt {
        if once {
            let body = self.turn(first, loops, body);
            return if exact { body } else { self.below(first, count, body) };
        }
        // A group whose first turn is beyond the last one has none.
        let step = self.b.index_var("step");
        let one = self.b.index(1);
        let left = self.b.sub(count, first);
        let left = self.b.add(left, stride);
        let left = self.b.sub(left, one);
        let zero = self.b.index(0);
        let left = self.b.binary(BinaryOp::Max, left, zero);
        let steps = self.b.binary(BinaryOp::DivEuclid, left, stride);
        let at = self.b.read(step);
        let at = self.b.mul(at, stride);
        let at = self.b.add(first, at);
        let body = self.turn(at, loops, body);
        Stmt::loop_(step, zero, steps, LoopKind::Serial, body)
    }

    /// One turn of a nest: its variables are places in the number of the turn.
    fn turn(&mut self, number: ExprId, loops: &[Loop], body: Stmt) -> Stmt {
        let values = self.places(number, loops);
        values.into_iter().fold(body, |body, (var, value)| Stmt::Let { var, value, body: Box::new(body) })
    }

    /// The values of the variables of a nest in the turn of a number, the innermost one first.
    fn places(&mut self, number: ExprId, loops: &[Loop]) -> Vec<(VarId, ExprId)> {
        let (mut rest, mut values) = (number, Vec::new());
        for (n, l) in loops.iter().enumerate().rev() {
            let place = if n == 0 { rest } else { self.b.binary(BinaryOp::RemEuclid, rest, l.extent) };
            if n > 0 {
                rest = self.b.binary(BinaryOp::DivEuclid, rest, l.extent);
            }
            let zero = self.b.func().literal(l.min) == Some(0);
            values.push((l.var, if zero { place } else { self.b.add(l.min, place) }));
        }
        values
    }

    /// What the first thread does alone.
    fn alone(&mut self, thread: VarId, body: Stmt) -> Stmt {
        let (me, zero) = (self.b.read(thread), self.b.index(0));
        let cond = self.b.compare(CmpOp::Eq, me, zero);
        Stmt::If { cond, then: Box::new(body), otherwise: None }
    }

    fn below(&mut self, a: ExprId, limit: ExprId, body: Stmt) -> Stmt {
        let cond = self.b.compare(CmpOp::Lt, a, limit);
        Stmt::If { cond, then: Box::new(body), otherwise: None }
    }

    fn bound(&mut self, group: VarId, groups: ExprId, thread: VarId, threads: ExprId, body: Stmt) -> Stmt {
        let zero = self.b.index(0);
        let inner = Stmt::loop_(thread, zero, threads, LoopKind::ThreadBound(ThreadAxis::Thread(0)), body);
        Stmt::loop_(group, zero, groups, LoopKind::ThreadBound(ThreadAxis::Block(0)), inner)
    }
}
