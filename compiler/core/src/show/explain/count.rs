//! What a kernel has to do, whatever its schedule: operations on elements, and the elements that must come in and go
//! out at least once.
//!
//! It is asked before any schedule: then blocks say what is computed, and nothing how. Counts are of one call, for
//! extents that are numbers there.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::DType;
use tenfold_ir::arith::{Domain, IntExpr, IntervalSet, Prover, Range, Sym};
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::{BufId, Dot, Elem, Expr, ExprId, Intrinsic, Param, PrimFunc, Scope, Stmt, VarId, Viewer, Warp};

use crate::work;

/// What one call of a kernel does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Operations on floats. A function such as `exp` is one; both branches of a choice count.
    pub(super) flops: u64,
    /// Operations on integer elements; indices cost nothing.
    pub(super) ints: u64,
    /// Operations as a core sees them: those on 64 bits are two of 32, and what is many instructions counts as many.
    pub(super) effort: u64,
    /// What of that are products of `bf16` that are added in `f32`: each product, and the sum that takes it.
    pub(super) of_halves: u64,
    /// Bytes of each buffer that are read: distinct elements, not cache lines.
    pub(super) read: BTreeMap<BufId, u64>,
    /// The same of what is written.
    pub(super) written: BTreeMap<BufId, u64>,
    /// The narrowest operand's bytes.
    pub(super) narrowest: u64,
}

/// Counts a call; nothing where a number of turns depends on data.
pub(super) fn counts(func: &PrimFunc, dims: &BTreeMap<Sym, i64>) -> Option<Counts> {
    let mut walk = Walk {
        viewer: Viewer::new(func),
        func,
        dims,
        loops: Vec::new(),
        named: BTreeMap::new(),
        counts: Counts { narrowest: 8, ..Counts::default() },
        touched: BTreeMap::new(),
    };
    walk.stmt(&func.body, 1)?;
    let mut counts = walk.counts;
    for ((buf, write), touched) in walk.touched {
        let bytes = touched.elements().saturating_mul(func.buffers[buf.0 as usize].dtype.size_bytes() as u64);
        let of = if write { &mut counts.written } else { &mut counts.read };
        of.insert(buf, bytes);
    }
    Some(counts)
}

/// A loop that is open.
struct Loop {
    sym: Sym,
    range: Range,
    turns: u64,
    middle: i64,
}

/// Elements of a buffer that accesses name.
struct Touched {
    /// Per axis, from the first to the last.
    hull: Vec<(i64, i64)>,
    /// How many different indices there can be.
    indices: u64,
}

impl Touched {
    fn elements(&self) -> u64 {
        let of = |(first, last): &(i64, i64)| (last - first + 1).max(0) as u64;
        self.hull.iter().map(of).fold(1, u64::saturating_mul).min(self.indices)
    }

    fn join(&mut self, other: Touched) {
        for (own, other) in self.hull.iter_mut().zip(other.hull) {
            *own = (own.0.min(other.0), own.1.max(other.1));
        }
        self.indices = self.indices.saturating_add(other.indices);
    }
}

struct Walk<'f> {
    viewer: Viewer<'f>,
    func: &'f PrimFunc,
    dims: &'f BTreeMap<Sym, i64>,
    loops: Vec<Loop>,
    /// What iterators of blocks and `let`s stand for.
    named: BTreeMap<Sym, (IntExpr, ExprId)>,
    counts: Counts,
    touched: BTreeMap<(BufId, bool), Touched>,
}

impl<'f> Walk<'f> {
    /// A statement that runs so often.
    fn stmt(&mut self, stmt: &'f Stmt, times: u64) -> Option<()> {
        match stmt {
            Stmt::For { var, min, extent, body, .. } => return self.turns(*var, (*min, *extent), body, times),
            Stmt::While { cond, body } => {
                let before = (self.counts.flops, self.counts.ints);
                self.own(&[*cond], times);
                self.stmt(body, times)?;
                return ((self.counts.flops, self.counts.ints) == before).then_some(());
            }
            Stmt::Block(block) => {
                for iter in &block.iters {
                    self.name(iter.var, iter.value);
                }
                self.own(block.predicate.as_slice(), times);
                // What a sum begins with is read; nothing is computed for it.
                block.init.iter().try_for_each(|init| self.stmt(init, 0))?;
                return self.stmt(&block.body, times);
            }
            Stmt::Let { var, value, .. } => {
                self.name(*var, *value);
                self.own(&[*value], times);
            }
            Stmt::Store { buf, index, value, .. } => {
                self.own(&[*value], times);
                self.own(index, 0);
                self.touch(*buf, index, true);
            }
            Stmt::Call { .. } => return None,
            Stmt::Prefetch { .. } | Stmt::Barrier(_) => {}
            Stmt::Seq(_) | Stmt::Alloc { .. } | Stmt::At(..) => {}
            Stmt::If { .. } | Stmt::Evaluate(_) | Stmt::Assert { .. } => self.own(&stmt.exprs(), times),
        }
        stmt.children().into_iter().try_for_each(|child| self.stmt(child, times))
    }

    fn turns(&mut self, var: VarId, (min, extent): (ExprId, ExprId), body: &'f Stmt, times: u64) -> Option<()> {
        let range = Range::new(self.int(min), self.int(extent));
        let turns = self.number(&range.extent)?.max(0);
        // Where an inner loop's turns depend on this one, it counts with the turns that it has in the middle.
        let middle = self.number(&range.min)? + (turns - 1).max(0) / 2;
        self.loops.push(Loop { sym: self.viewer.sym(var), range, turns: turns as u64, middle });
        let counted = if turns == 0 { Some(()) } else { self.stmt(body, times.saturating_mul(turns as u64)) };
        self.loops.pop();
        counted
    }

    fn name(&mut self, var: VarId, value: ExprId) {
        let is = self.int(value);
        let sym = self.viewer.sym(var);
        self.named.insert(sym, (is, value));
    }

    /// An integer over the open loops and what the function does not bind.
    fn int(&mut self, e: ExprId) -> IntExpr {
        let seen = self.viewer.int(e);
        let dim = |sym: &Sym| self.dims.get(sym).map(|n| IntExpr::from(*n));
        seen.substitute(&|sym| self.named.get(sym).map(|(is, _)| is.clone()).or_else(|| dim(sym)))
    }

    fn number(&self, e: &IntExpr) -> Option<i64> {
        e.eval(&|sym| self.loops.iter().rfind(|it| it.sym == *sym).map(|it| it.middle))
    }

    /// Expressions that are evaluated so often, each once.
    fn own(&mut self, roots: &[ExprId], times: u64) {
        for e in self.func.reachable(roots.iter().copied()) {
            if let Expr::Load { buf, index, .. } = self.func.exprs.get(e) {
                self.touch(*buf, index, false);
            }
            let Cost { flops, ints, effort } = cost(self.func, e);
            let add = |sum: &mut u64, n: u64| *sum = sum.saturating_add(n.saturating_mul(times));
            add(&mut self.counts.flops, flops);
            add(&mut self.counts.ints, ints);
            add(&mut self.counts.effort, effort);
            add(&mut self.counts.of_halves, of_halves(self.func, e));
        }
    }

    fn touch(&mut self, buf: BufId, index: &[ExprId], write: bool) {
        if !self.is_outside(buf, write) {
            return;
        }
        let touched = Touched { hull: self.hull(buf, index), indices: self.indices(index) };
        if !write {
            let bytes = self.func.buffers[buf.0 as usize].dtype.size_bytes() as u64;
            self.counts.narrowest = self.counts.narrowest.min(bytes);
        }
        match self.touched.get_mut(&(buf, write)) {
            Some(known) => known.join(touched),
            None => drop(self.touched.insert((buf, write), touched)),
        }
    }

    /// Whether elements come from outside of the kernel, or go there. What it reads back of a result was its own.
    fn is_outside(&self, buf: BufId, write: bool) -> bool {
        use tenfold_ir::tir::BufUse::{In, InOut, Out};
        let param = self.func.params.iter().find_map(|param| match param {
            Param::Buffer(own, usage) if *own == buf => Some(*usage),
            Param::Buffer(..) | Param::Value(_) | Param::Workspace => None,
        });
        match param {
            Some(In) => !write,
            Some(Out) => write,
            Some(InOut) => true,
            None => matches!(self.func.buffers[buf.0 as usize].scope, Scope::Const(_)) && !write,
        }
    }

    /// From the first to the last element along each axis; the whole axis where data decide.
    fn hull(&mut self, buf: BufId, index: &[ExprId]) -> Vec<(i64, i64)> {
        let mut domain = Domain::new();
        self.loops.iter().for_each(|it| domain.push(it.sym.clone(), it.range.clone()));
        let func = self.func;
        let shape = &func.buffers[buf.0 as usize].shape;
        let ends = |walk: &mut Self, (e, extent): (&ExprId, &IntExpr)| {
            let last = extent.eval(&|sym| walk.dims.get(sym).copied()).unwrap_or(i64::MAX) - 1;
            let set = IntervalSet::of(&walk.int(*e), &domain, &Prover::new());
            let [min, max] = [set.min(), set.max()].map(|end| end.and_then(IntExpr::as_const));
            (min.unwrap_or(0).clamp(0, last.max(0)), max.unwrap_or(last).min(last))
        };
        index.iter().zip(shape).map(|axis| ends(self, axis)).collect()
    }

    /// The turns of all loops that an index depends on, by data or not.
    fn indices(&self, index: &[ExprId]) -> u64 {
        let mut open = index.to_vec();
        let mut seen: BTreeSet<Sym> = BTreeSet::new();
        while let Some(root) = open.pop() {
            for e in self.func.reachable([root]) {
                let Expr::Var(var) = self.func.exprs.get(e) else { continue };
                let sym = self.func.vars[var.0 as usize].sym.clone();
                if seen.insert(sym.clone()) {
                    open.extend(self.named.get(&sym).map(|(_, value)| *value));
                }
            }
        }
        let turns = self.loops.iter().filter(|it| seen.contains(&it.sym)).map(|it| it.turns);
        turns.fold(1, u64::saturating_mul)
    }
}

/// The effort of products of two `bf16` in `f32`, and of the sums that take them.
fn of_halves(func: &PrimFunc, e: ExprId) -> u64 {
    let is_half = |e: &ExprId| match func.exprs.get(*e) {
        Expr::Cast(to, of) => {
            [to.elem, func.exprs.ty(*of).elem] == [Elem::Scalar(DType::F32), Elem::Scalar(DType::BF16)]
        }
        _ => false,
    };
    let products = match func.exprs.get(e) {
        Expr::Binary(BinaryOp::Mul, a, b) if is_half(a) && is_half(b) => 1,
        Expr::Call(Intrinsic::Dot(Dot::Bf16), ..) => Dot::Bf16.terms() as u64,
        _ => 0,
    };
    2 * products * u64::from(func.exprs.ty(e).lanes)
}

/// What an expression costs by itself.
#[derive(Default)]
struct Cost {
    flops: u64,
    ints: u64,
    effort: u64,
}

fn cost(func: &PrimFunc, e: ExprId) -> Cost {
    let (of, weight) = match func.exprs.get(e) {
        // A product and a sum.
        Expr::Call(Intrinsic::Fma, ..) => {
            let once = of_type(func, e, 1);
            return Cost { flops: 2 * once.flops, ints: 2 * once.ints, effort: 2 * once.effort };
        }
        Expr::Unary(op, _) if *op != UnaryOp::Not => (e, work::unary(*op) as u64),
        Expr::Binary(op, a, _) => (*a, work::binary(*op) as u64),
        Expr::Compare(_, a, _) => (*a, 1),
        Expr::Call(Intrinsic::QMultiplyShift, ..) => (e, 4),
        Expr::Call(Intrinsic::ExpNonpositive, ..) => (e, work::unary(UnaryOp::Exp) as u64),
        Expr::Call(Intrinsic::NearestInt, args, _) => (args[0], 2),
        Expr::Call(Intrinsic::Scalef | Intrinsic::Ex2, ..) => (e, 1),
        // Four products and three sums, as where they are no words: roofs know how many a core does at once.
        Expr::Call(Intrinsic::Dot(Dot::Bytes { .. }), ..) => {
            let once = of_type(func, e, 7);
            return Cost { ints: 7 * once.ints, ..once };
        }
        Expr::Call(Intrinsic::Dot(dot @ (Dot::Eight | Dot::Sixteen)), ..) => {
            let once = of_type(func, e, 1);
            return Cost { ints: (2 * dot.terms() as u64 - 1) * once.ints, ..once };
        }
        // Two products and a sum, each of which is an operation where matrices are not multiplied.
        Expr::Call(Intrinsic::Dot(Dot::Bf16), ..) => {
            let once = of_type(func, e, 3);
            return Cost { flops: 3 * once.flops, ..once };
        }
        // A thread's part of the products and sums of a tile: 16 of each for a lane, of a warpgroup's 64.
        Expr::Call(Intrinsic::Warp(Warp::Mma), ..) => (e, 32),
        Expr::Call(Intrinsic::Warp(Warp::Wgmma(_) | Warp::WgmmaRegisters(_)), ..) => (e, 128),
        Expr::Call(
            Intrinsic::Bitcast
            | Intrinsic::Lookup
            | Intrinsic::Word
            | Intrinsic::Warp(_)
            | Intrinsic::Group(_)
            | Intrinsic::UntilAligned
            | Intrinsic::CopyAsync
            | Intrinsic::CopyTensor
            | Intrinsic::Mbarrier(_),
            ..,
        )
        | Expr::Const(_)
        | Expr::Index(_)
        | Expr::Var(_)
        | Expr::Unary(..)
        | Expr::If(..)
        | Expr::Select(..)
        | Expr::Cast(..)
        | Expr::Load { .. }
        | Expr::Ramp(..)
        | Expr::Broadcast(..)
        | Expr::Shuffle(..) => return Cost::default(),
    };
    of_type(func, of, weight)
}

/// One operator, by the type that it works on.
fn of_type(func: &PrimFunc, e: ExprId, weight: u64) -> Cost {
    let ty = func.exprs.ty(e);
    let lanes = u64::from(ty.lanes);
    let Elem::Scalar(dtype) = ty.elem else { return Cost::default() };
    let effort = lanes * weight * if dtype.size_bytes() > 4 { 2 } else { 1 };
    match dtype {
        dtype if dtype.is_bool() => Cost::default(),
        dtype if dtype.is_float() => Cost { flops: lanes, ints: 0, effort },
        _ => Cost { flops: 0, ints: lanes, effort },
    }
}
