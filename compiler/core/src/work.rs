//! About how many cycles of a core a loop takes: enough to say whether threads are worth it.
//!
//! It counts what statements do, or what they wait for where they read large operands once: a product of one row waits
//! for its weights. Indices cost nothing, as they mostly end up in addresses.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::tir::{BufId, Elem, Expr, ExprId, Intrinsic, LoopKind, PrimFunc, Scope, Stmt, VarId, Viewer};

/// Cycles below which a loop on threads is no faster: handing parts over, and waiting for the last one, each about
/// 2 µs at 3 GHz, and for a while the threads look for more, which slows what shares a core with them. What runs the
/// loop asks half of it of every part (`tenfold`, `dispatch::threads`).
pub(crate) const LEAST: i64 = 20_000;

/// Turns that a loop is thought to have where nobody outside of it can say.
const UNKNOWN: i64 = 8;

/// Parts of a cycle that are counted: two operations begin in each.
const PARTS: i64 = 2;

/// Bytes of an operand from which on it is not in the first cache when a call begins, nor the others beside it in the
/// second.
const FAR: i64 = 1 << 18;

/// Bytes of such operands that a core is given in a cycle: between what the second cache gives and what the third does.
const NEARER: i64 = 16;

/// Bytes by the index that reads them, by the operand.
type Reads = BTreeMap<BufId, BTreeMap<Vec<ExprId>, i64>>;

/// Counts over one function.
pub(crate) struct Work<'f> {
    viewer: Viewer<'f>,
    vector_bytes: i64,
    /// What is known where the count is asked.
    outside: BTreeSet<Sym>,
}

impl<'f> Work<'f> {
    /// For values that only symbols of `outside` may stand in.
    pub(crate) fn new(func: &'f PrimFunc, vector_bytes: u32, outside: BTreeSet<Sym>) -> Self {
        Work { viewer: Viewer::new(func), vector_bytes: i64::from(vector_bytes.max(8)), outside }
    }

    /// Cycles of a statement, at least one.
    pub(crate) fn cycles(&mut self, stmt: &Stmt) -> IntExpr {
        let parts = self.stmt(stmt).floor_div(&IntExpr::from(PARTS));
        let parts = self.viewer.prover.simplify(&parts);
        parts.as_const().map_or(&parts + 1, |n| IntExpr::from(n.max(self.far(stmt) / NEARER).max(1)))
    }

    /// Bytes of large operands that a statement reads, each counted once.
    fn far(&mut self, stmt: &Stmt) -> i64 {
        let mut read = BTreeMap::new();
        self.reads(stmt, &mut Vec::new(), &mut read);
        let func = self.viewer.func();
        let of = |(buf, places): (BufId, BTreeMap<Vec<ExprId>, i64>)| {
            places.into_values().fold(0, i64::saturating_add).min(large(func, buf).unwrap_or(0))
        };
        read.into_iter().map(of).fold(0, i64::saturating_add)
    }

    /// What each index inside of a statement reads of each large operand: tiles that are written out have many of them.
    fn reads(&mut self, stmt: &Stmt, loops: &mut Vec<(VarId, i64)>, read: &mut Reads) {
        let func = self.viewer.func();
        for id in func.reachable(stmt.exprs()) {
            let Expr::Load { buf, index, .. } = func.exprs.get(id) else { continue };
            if large(func, *buf).is_none() {
                continue;
            }
            let moves = func.reachable(index.iter().copied());
            let moves: BTreeSet<VarId> = moves.into_iter().filter_map(|e| variable(func.exprs.get(e))).collect();
            let turns = loops.iter().filter(|(var, _)| moves.contains(var)).map(|(_, turns)| *turns);
            let each = i64::from(func.exprs.ty(id).lanes) * func.buffers[buf.0 as usize].dtype.size_bytes() as i64;
            let bytes = turns.fold(each, i64::saturating_mul);
            let most = read.entry(*buf).or_default().entry(index.clone()).or_insert(0);
            *most = bytes.max(*most);
        }
        let inside = match stmt {
            Stmt::For { var, extent, .. } => {
                loops.push((*var, self.viewer.int(*extent).as_const().unwrap_or(UNKNOWN)));
                true
            }
            _ => false,
        };
        stmt.children().into_iter().for_each(|child| self.reads(child, loops, read));
        if inside {
            loops.pop();
        }
    }

    fn stmt(&mut self, stmt: &Stmt) -> IntExpr {
        let own = IntExpr::from(self.own(stmt));
        if self.is_rare(stmt) {
            return own;
        }
        let inside = stmt.children().into_iter().fold(IntExpr::from(0), |sum, s| &sum + &self.stmt(s));
        let all = &own + &inside;
        match stmt {
            Stmt::For { extent, kind, body, .. } => {
                let turns = self.turns(*extent, *kind, body);
                &turns * &(&all + 1)
            }
            Stmt::While { .. } => &all * UNKNOWN,
            _ => all,
        }
    }

    /// Whether a statement does something in few turns of the loops around: where two numbers are equal.
    fn is_rare(&self, stmt: &Stmt) -> bool {
        let Stmt::If { cond, otherwise: None, .. } = stmt else { return false };
        matches!(self.viewer.func().exprs.get(*cond), Expr::Compare(CmpOp::Eq, ..))
    }

    /// How often a loop's body runs: vectors of it, where it becomes vectors.
    fn turns(&mut self, extent: ExprId, kind: LoopKind, body: &Stmt) -> IntExpr {
        let turns = self.viewer.int(extent);
        let known = turns.vars().iter().all(|sym| self.outside.contains(sym));
        let turns = if known { turns } else { IntExpr::from(UNKNOWN) };
        if kind != LoopKind::Vectorized {
            return turns;
        }
        let lanes = (self.vector_bytes / self.widest(body)).max(1);
        (&turns + (lanes - 1)).floor_div(&IntExpr::from(lanes))
    }

    /// Bytes of the widest element that is written.
    fn widest(&self, body: &Stmt) -> i64 {
        let mut widest = 1;
        body.walk(&mut |s| {
            if let Stmt::Store { buf, .. } = s {
                widest = widest.max(self.viewer.func().buffers[buf.0 as usize].dtype.size_bytes() as i64);
            }
        });
        widest
    }

    /// What a statement does itself, without those inside.
    fn own(&self, stmt: &Stmt) -> i64 {
        let func = self.viewer.func();
        match stmt {
            Stmt::Store { buf, index, value, .. } => match accumulated(func, *buf, index, *value) {
                // A fused multiplication whose sum stays in a register; its operands serve several.
                Some(term) => self.vectors(*value) + self.exprs(&[term]) / 4,
                None => 2 * self.vectors(*value) + self.exprs(&[*value]),
            },
            Stmt::Call { .. } => 100,
            other => self.exprs(&other.exprs()),
        }
    }

    /// Every expression once.
    fn exprs(&self, roots: &[ExprId]) -> i64 {
        let func = self.viewer.func();
        func.reachable(roots.iter().copied()).into_iter().map(|id| self.expr(id)).sum()
    }

    fn expr(&self, id: ExprId) -> i64 {
        let func = self.viewer.func();
        if func.exprs.ty(id).elem == Elem::Index {
            return 0;
        }
        let each = match func.exprs.get(id) {
            Expr::Const(_) | Expr::Index(_) | Expr::Var(_) | Expr::Ramp(..) | Expr::Broadcast(..) => 0,
            Expr::Binary(op, ..) => binary(*op),
            Expr::Unary(op, _) => unary(*op),
            Expr::Call(Intrinsic::ExpNonpositive, ..) => unary(UnaryOp::Exp),
            Expr::Compare(..)
            | Expr::If(..)
            | Expr::Select(..)
            | Expr::Cast(..)
            | Expr::Load { .. }
            | Expr::Call(..)
            | Expr::Shuffle(..) => 1,
        };
        each * self.vectors(id)
    }

    /// Registers that a value takes.
    fn vectors(&self, id: ExprId) -> i64 {
        let ty = self.viewer.func().exprs.ty(id);
        let bytes = match ty.elem {
            Elem::Index => 8,
            Elem::Scalar(dtype) => dtype.size_bytes() as i64,
        };
        (i64::from(ty.lanes) * bytes + self.vector_bytes - 1) / self.vector_bytes
    }
}

/// The bytes of an operand that is large.
fn large(func: &PrimFunc, buf: BufId) -> Option<i64> {
    let data = &func.buffers[buf.0 as usize];
    let mut extents = data.shape.iter().map(|extent| extent.as_const());
    let size = extents.try_fold(data.dtype.size_bytes() as i64, |size, extent| size.checked_mul(extent?))?;
    (data.scope == Scope::Param && size >= FAR).then_some(size)
}

fn variable(expr: &Expr) -> Option<VarId> {
    match expr {
        Expr::Var(var) => Some(*var),
        _ => None,
    }
}

/// Operations that an operator is.
pub(crate) fn binary(op: BinaryOp) -> i64 {
    match op {
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::DivEuclid | BinaryOp::RemEuclid => 8,
        BinaryOp::Pow => 60,
        _ => 1,
    }
}

/// The same of an operator with one operand.
pub(crate) fn unary(op: UnaryOp) -> i64 {
    use UnaryOp::{Abs, Ceil, Floor, IsFinite, IsInf, IsNan, Neg, Not, Round, Sign, Sqrt, Square, Trunc};
    match op {
        Neg | Not | Abs | Sign | Floor | Ceil | Round | Trunc | Square | IsNan | IsInf | IsFinite => 1,
        Sqrt => 8,
        _ => 20,
    }
}

/// What a statement adds to the element that it writes.
fn accumulated(func: &PrimFunc, buf: BufId, index: &[ExprId], value: ExprId) -> Option<ExprId> {
    let Expr::Binary(BinaryOp::Add, old, term) = func.exprs.get(value) else { return None };
    let own = matches!(func.exprs.get(*old), Expr::Load { buf: from, index: at, .. } if *from == buf && at == index);
    own.then_some(*term)
}
