//! `AlignStores`: loops write whole cache lines, wherever the memory of the caller begins.
//!
//! Vectors as wide as a cache line lie in two lines each where a result begins at another multiple, as large memory of an
//! allocator does, and a store into two lines takes as long as two and more. So a loop that writes a result of the caller in
//! vectors begins with one vector where the result begins, goes on from the first element that begins a vector, and ends
//! with one vector where the result ends: what vectors share is computed twice, and is the same. Where the result begins
//! with a whole vector the loop is what it was.
//!
//! Runs on flat tir behind `LowerParallelLoops`, where vectors are wider than what an allocator aligns to: on x86.

mod parts;
mod passed;

use std::collections::BTreeSet;

use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::tir::{
    Access, BufId, Builder, Expr, ExprId, Intrinsic, LoopKind, PrimFunc, Stmt, Ty, VarId, Viewer, expr_vars,
};
use tenfold_ir::{Loc, Module};

use super::kernel::{plus, run};
use super::{each_prim, rewrite_body};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};
use parts::Part;
use passed::Passed;

/// Bytes whose multiple is where memory of any allocator begins.
const ALLOCATED: i64 = 16;

/// Turns from which on a loop gains.
const TURNS: i64 = 4;

/// Operations on a vector up to which one vector more takes less than stores into two lines.
const LITTLE: i64 = 8;

/// Operations that take a cycle or less.
const CHEAP: [BinaryOp; 7] =
    [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max, BinaryOp::And, BinaryOp::Or];

/// Vectors that a loop has at least for each operation: it has one more where memory begins elsewhere.
const VECTORS: i64 = 8;

/// Loops of a function that are written so at most: each becomes five parts.
const LOOPS: usize = 16;

/// How far ahead of a store the line lies that is asked for, where stores wait for lines of the second cache.
const AHEAD: i64 = 512;

/// Bytes of a result from which on it is not in the first cache.
const SECOND: i64 = 32 << 10;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("AlignStores", &align_stores)
    .at_level(2)
    .in_phase(PassPhase::Flat)
    .about("writes results in whole vectors of memory, wherever they begin");

fn align_stores(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let target = &context.target;
    let bytes = i64::from(target.vector_bytes());
    if bytes > ALLOCATED {
        let passed = Passed::of(module);
        let most = target.past_caches().unwrap_or(i64::MAX);
        each_prim(module, |func| {
            // What goes past the caches is written in another way.
            let near = |buf: &BufId| func.buffers[buf.0 as usize].bytes().is_none_or(|size| size < most);
            let bufs = passed.to(&func).into_iter().filter(near).collect();
            let wanted = Wanted { bufs, bytes, asks: target.reads_lines() };
            let other = wanted.bufs.is_empty() || wanted.count(&func, &func.body) > LOOPS;
            if other { func } else { rewrite_body(func, |b, body| everywhere(b, body, &wanted)) }
        });
    }
    Ok(())
}

/// Which results are written in vectors of how many bytes.
struct Wanted {
    bufs: Vec<BufId>,
    bytes: i64,
    /// Whether lines of the second cache are asked for.
    asks: bool,
}

impl Wanted {
    /// How many loops write such a result in such vectors.
    fn count(&self, func: &PrimFunc, stmt: &Stmt) -> usize {
        match Found::of(func, stmt, self) {
            Some(_) => 1,
            None => stmt.children().into_iter().map(|s| self.count(func, s)).sum(),
        }
    }
}

fn everywhere(b: &mut Builder, stmt: Stmt, wanted: &Wanted) -> Stmt {
    match Found::of(b.func(), &stmt, wanted) {
        Some(found) => found.aligned(b, stmt),
        None => stmt.map_children(&mut |s| everywhere(b, s, wanted)),
    }
}

/// A loop each of whose turns writes vectors behind those of the turn before.
struct Found {
    var: VarId,
    min: ExprId,
    extent: ExprId,
    buf: BufId,
    /// Where the elements of a turn begin.
    begin: ExprId,
    value: ExprId,
    access: Access,
    /// Elements of a turn.
    lanes: i64,
    /// Elements of one store.
    vector: i64,
    /// Bytes of one.
    bytes: i64,
    /// Whether lines are asked for ahead.
    asks: bool,
    /// Where the loop is in the source.
    loc: Option<Loc>,
}

impl Found {
    fn of(func: &PrimFunc, stmt: &Stmt, wanted: &Wanted) -> Option<Found> {
        let Stmt::For { var, min, extent, kind: LoopKind::Serial, annotations, body } = stmt else { return None };
        let loc = match &**body {
            Stmt::At(loc, _) => Some(*loc),
            _ => None,
        };
        let Stmt::Store { buf, index, value, access } = body.bare() else { return None };
        let ([at], true) = (&index[..], wanted.bufs.contains(buf)) else { return None };
        let data = &func.buffers[buf.0 as usize];
        let (begin, lanes) = run(func, *at)?;
        // Of wide elements a vector may become one of narrow ones.
        let vector = lanes.min(wanted.bytes / data.dtype.size_bytes() as i64);
        let bytes = vector * data.dtype.size_bytes() as i64;
        if bytes <= ALLOCATED || bytes.count_ones() != 1 || lanes % vector != 0 {
            return None;
        }
        let index = func.vars[var.0 as usize].ty == Ty::index();
        if !index || !annotations.is_empty() || func.loads(*min) || func.loads(*extent) {
            return None;
        }
        // What vectors share is computed twice, of what must be the same, and the bits of a stored type are made later.
        let own = |e: ExprId| matches!(func.exprs.get(e), Expr::Load { buf: of, .. } if of == buf);
        if data.dtype.is_stored() || func.reachable([*at, *value]).into_iter().any(own) {
            return None;
        }
        let viewer = Viewer::new(func);
        let mut look = Look { viewer, var: *var, lanes, seen: BTreeSet::new(), operations: 0 };
        let moves = look.moves(*at) && look.moves(*value) && look.operations <= LITTLE;
        let most = look.operations.saturating_mul(VECTORS);
        let many = |turns: i64| turns >= TURNS && turns.saturating_mul(lanes / vector) >= most;
        if !moves || !func.literal(*extent).is_none_or(many) {
            return None;
        }
        let asks = wanted.asks && data.bytes().is_some_and(|bytes| bytes >= SECOND);
        let (buf, value, access) = (*buf, *value, *access);
        Some(Found {
            var: *var,
            min: *min,
            extent: *extent,
            buf,
            begin,
            value,
            access,
            lanes,
            vector,
            bytes,
            asks,
            loc,
        })
    }

    /// The loop from the first whole vector of memory on, and one vector at each end; as it was where that is the first one.
    fn aligned(self, b: &mut Builder, plain: Stmt) -> Stmt {
        let [zero, one, bytes] = [0, 1, self.bytes].map(|n| b.index(n));
        let first = self.part(self.min, zero, 1).index(b, self.begin);
        let place = b.load(self.buf, vec![first], self.access);
        let skip = b.index_var("skip");
        let skipped = b.read(skip);
        let before = parts::minus(b, self.extent, one);
        let shifted = self.shifted(b, skipped, before);
        let plain = match plain {
            Stmt::For { var, min, extent, kind, annotations, body } => {
                let turn = b.read(var);
                Stmt::For { var, min, extent, kind, annotations, body: Box::new(self.asking(b, turn, *body)) }
            }
            other => other,
        };
        let cond = b.compare(CmpOp::Gt, skipped, zero);
        let body = Box::new(Stmt::If { cond, then: Box::new(shifted), otherwise: Some(Box::new(plain)) });
        let value = b.call(Intrinsic::UntilAligned, vec![place, bytes], Ty::index());
        let mut all = Stmt::Let { var: skip, value, body };
        // Without a turn there may be no element to ask for.
        if b.func().literal(self.extent).is_none() {
            let cond = b.compare(CmpOp::Gt, self.extent, zero);
            all = Stmt::If { cond, then: Box::new(all), otherwise: None };
        }
        match self.loc {
            Some(loc) => Stmt::At(loc, Box::new(all)),
            None => all,
        }
    }

    /// The turns but the last one from so many elements on, between one vector at the beginning and what is left behind.
    fn shifted(&self, b: &mut Builder, skipped: ExprId, before: ExprId) -> Stmt {
        let (zero, end) = (b.index(0), b.index(self.lanes - self.vector));
        let last = plus(b, self.min, before);
        let turn = b.index_var("turn");
        let here = b.read(turn);
        let head = self.store(b, self.part(self.min, zero, self.vector));
        let body = self.store(b, self.part(here, skipped, self.lanes));
        let body = self.asking(b, here, body);
        let rest =
            (self.lanes > self.vector).then(|| self.store(b, self.part(last, skipped, self.lanes - self.vector)));
        let tail = self.store(b, self.part(last, end, self.vector));
        let turns = Stmt::loop_(turn, self.min, before, LoopKind::Serial, body);
        Stmt::seq([head, turns].into_iter().chain(rest).chain([tail]))
    }

    /// So many lanes of a turn, from one of its elements on.
    fn part(&self, at: ExprId, offset: ExprId, lanes: i64) -> Part {
        Part { var: self.var, at, offset, lanes }
    }

    fn store(&self, b: &mut Builder, part: Part) -> Stmt {
        let (begin, value, one) = (part.index(b, self.begin), part.value(b, self.value), b.index(1));
        let index = vec![b.ramp(begin, one, part.lanes as u16)];
        Stmt::Store { buf: self.buf, index, value, access: self.access }
    }

    /// What a turn does, behind asking for the lines of a later one: a core asks for what is read by itself, seldom for what
    /// is written.
    fn asking(&self, b: &mut Builder, turn: ExprId, body: Stmt) -> Stmt {
        if !self.asks {
            return body;
        }
        let ahead = AHEAD * self.vector / self.bytes;
        let lines = (0..self.lanes / self.vector).map(|line| {
            let offset = b.index(ahead + line * self.vector);
            let at = self.part(turn, offset, 1).index(b, self.begin);
            Stmt::Prefetch { buf: self.buf, index: vec![at] }
        });
        let lines: Vec<Stmt> = lines.collect();
        Stmt::seq(lines.into_iter().chain([body]))
    }
}

/// Looks at what is written whether it may be computed of other neighbours in memory.
struct Look<'f> {
    viewer: Viewer<'f>,
    var: VarId,
    lanes: i64,
    seen: BTreeSet<ExprId>,
    /// Operations on vectors.
    operations: i64,
}

impl Look<'_> {
    /// Whether the lanes of an expression are those of neighbours, which go on in the next turn, or all the same.
    fn moves(&mut self, id: ExprId) -> bool {
        let func = self.viewer.func();
        if func.exprs.ty(id).lanes == 1 {
            return !expr_vars(func, id).contains(&self.var);
        }
        if self.operations > LITTLE || !self.seen.insert(id) {
            return true;
        }
        match func.exprs.get(id) {
            Expr::Ramp(base, stride, _) => func.literal(*stride) == Some(1) && self.step(*base) == Some(self.lanes),
            Expr::Broadcast(x, _) => self.moves(*x),
            // Elements of less than a byte are taken apart by where they begin.
            Expr::Load { buf, index, .. } => {
                !func.buffers[buf.0 as usize].dtype.is_stored() && index.iter().all(|at| self.moves(*at))
            }
            Expr::Unary(UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Square | UnaryOp::Not, x) | Expr::Cast(_, x) => {
                self.computes(&[*x])
            }
            Expr::Binary(op, x, y) if CHEAP.contains(op) => self.computes(&[*x, *y]),
            Expr::Compare(_, x, y) => self.computes(&[*x, *y]),
            Expr::Select(c, x, y) => self.computes(&[*c, *x, *y]),
            Expr::Call(Intrinsic::Fma, args, _) => self.computes(args),
            Expr::Const(_)
            | Expr::Index(_)
            | Expr::Var(_)
            | Expr::If(..)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Call(..)
            | Expr::Shuffle(..) => false,
        }
    }

    fn computes(&mut self, operands: &[ExprId]) -> bool {
        self.operations += 1;
        operands.iter().all(|e| self.moves(*e))
    }

    /// By how much an index grows with a turn.
    fn step(&mut self, index: ExprId) -> Option<i64> {
        let (index, var) = (self.viewer.int(index), self.viewer.sym(self.var));
        self.viewer.step(&index, &var)
    }
}
