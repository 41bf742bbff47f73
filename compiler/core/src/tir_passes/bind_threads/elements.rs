//! Elements: turns that are alike but for the place at which they read and write.
//!
//! A thread makes some neighbours at once where it reads and writes them in accesses of 16 bytes. Every buffer of a kernel
//! begins at a multiple of 16 bytes, so that neighbours are one access where the first of them has a number that is a
//! multiple of theirs: along rows of a constant length that is one, or in buffers that are walked from their begin to their
//! end, whatever their shape. What does not move along a row is read once for all of them.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::DType;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::copy::{copy, substitute};
use tenfold_ir::tir::{Access, BufAccess, Expr, ExprId, LoopKind, PrimFunc, Scope, Stmt, VarId, accesses, expr_vars};

use super::{Bind, Loop, THREADS};
use crate::tir_passes::butterfly::Meeting;
use crate::tir_passes::kernel::constant;

/// Bytes that a thread reads at once.
const BYTES: i64 = 16;

/// Elements of a thread that reads and writes them one by one, and from how many of them on it has several: few are better
/// spread over the whole device.
const EACH: i64 = 4;
const MANY: i64 = 1 << 18;

/// A vector a thread, if a turn is an element at places that are neighbours in the turn behind it.
pub(super) fn vectors(bind: &mut Bind<'_>, loops: &[Loop], body: &Stmt) -> Option<Stmt> {
    // Shaders read elements: those side by side are for threads side by side.
    let Meeting::Warps = bind.meeting else { return None };
    let (last, all) = (*loops.last()?, outside(bind.b.func(), loops, body)?);
    let lanes = lanes(bind.b.func(), &all, last)?;
    if is_whole(bind, &all, loops) && !is_chosen(bind.b.func(), body, loops) {
        return Some(bind.parts_of_all(loops, lanes, body.clone()));
    }
    let rows = along_rows(bind.b.func(), &all, last, lanes) && !is_chosen(bind.b.func(), body, &[last]);
    rows.then(|| bind.parts_of_rows(loops, last, lanes, body.clone()))
}

/// A turn a thread, or some turns. Where each access is at the turn's own place among all, the number of the turn is that
/// place.
pub(super) fn turns(bind: &mut Bind<'_>, loops: &[Loop], body: &Stmt) -> Option<Stmt> {
    let all = outside(bind.b.func(), loops, body);
    if loops.len() > 1
        && let Some(all) = &all
        && is_whole(bind, all, loops)
    {
        let (number, min, extent) = (bind.b.index_var("number"), bind.b.index(0), bind.count(loops));
        let at = bind.b.read(number);
        let body = bind.at_number(at, loops, body.clone());
        return Some(bind.some_turns(&[Loop { var: number, min, extent }], body));
    }
    match all {
        _ if loops.is_empty() => None,
        Some(_) => Some(bind.some_turns(loops, body.clone())),
        None => Some(bind.turns(loops, body.clone())),
    }
}

/// The accesses of what is not a turn's own, if a turn has nothing but elements that it writes.
fn outside(func: &PrimFunc, loops: &[Loop], body: &Stmt) -> Option<Vec<BufAccess>> {
    if !is_plain(func, body) || loops.iter().any(|l| func.literal(l.min) != Some(0)) {
        return None;
    }
    let mut own = BTreeSet::new();
    body.walk(&mut |s| own.extend(s.allocates()));
    Some(accesses(func, body).into_iter().filter(|a| !own.contains(&a.buf)).collect())
}

/// Whether a turn has nothing but elements that it writes, at places that say by which loops they move.
fn is_plain(func: &PrimFunc, body: &Stmt) -> bool {
    let mut bound = BTreeSet::new();
    body.walk(&mut |s| bound.extend(s.bound()));
    let open = |e: &ExprId| expr_vars(func, *e).iter().all(|v| !bound.contains(v));
    let plain = |s: &Stmt| match s {
        Stmt::Seq(_) | Stmt::At(..) | Stmt::Store { .. } | Stmt::Let { .. } => true,
        Stmt::If { cond, .. } => open(cond),
        Stmt::Alloc { buf, .. } => func.buffers[buf.0 as usize].scope == Scope::Local,
        _ => false,
    };
    let placed = |a: &BufAccess| a.index.as_ref().is_some_and(|index| index.iter().all(open));
    !body.any(&mut |s| !plain(s)) && accesses(func, body).iter().all(placed)
}

/// How many of the widest elements are 16 bytes, if at least two are.
fn lanes(func: &PrimFunc, all: &[BufAccess], last: Loop) -> Option<i64> {
    let dtype = |a: &BufAccess| func.buffers[a.buf.0 as usize].dtype;
    let whole = |a: &BufAccess| dtype(a) == DType::Bool || dtype(a).bits() >= 8;
    let moving = all.iter().filter(|a| names(func, a, last.var));
    let widest = moving.map(|a| dtype(a).size_bytes() as i64).max()?;
    (all.iter().all(whole) && 2 * widest <= BYTES).then_some(BYTES / widest)
}

/// Whether an index of an access follows a variable.
fn names(func: &PrimFunc, access: &BufAccess, var: VarId) -> bool {
    access.index.as_ref().is_none_or(|index| index.iter().any(|i| expr_vars(func, *i).contains(&var)))
}

/// Whether accesses that follow the last loop are at its own place in rows of so many lanes.
fn along_rows(func: &PrimFunc, all: &[BufAccess], last: Loop, lanes: i64) -> bool {
    let multiple = |n: i64| n > 0 && n % lanes == 0;
    let aligned = |a: &BufAccess| {
        let data = &func.buffers[a.buf.0 as usize];
        let row = data.shape.last().and_then(|n| n.as_const());
        a.index.as_ref().and_then(|index| index.split_last()).is_some_and(|(at, before)| {
            let fixed = before.iter().all(|i| !expr_vars(func, *i).contains(&last.var));
            let alone = before.is_empty() || row.is_some_and(multiple);
            *func.exprs.get(*at) == Expr::Var(last.var) && fixed && alone && data.strides.is_none()
        })
    };
    constant(func, last.extent).is_some_and(multiple)
        && all.iter().all(|a| a.access == Access::Proven && (!names(func, a, last.var) || aligned(a)))
}

/// Whether each access is at the turn's own place in a buffer of the nest's extents, or follows no loop.
fn is_whole(bind: &mut Bind<'_>, all: &[BufAccess], loops: &[Loop]) -> bool {
    all.iter().all(|a| {
        let data = bind.b.buf(a.buf).clone();
        let extents: Vec<ExprId> = data.shape.iter().map(|n| bind.b.int_expr(n)).collect();
        let func = bind.b.func();
        let fixed = loops.iter().all(|l| !names(func, a, l.var));
        let own = |index: &Vec<ExprId>| {
            index.len() == loops.len()
                && index.iter().zip(loops).all(|(i, l)| *func.exprs.get(*i) == Expr::Var(l.var))
                && extents.iter().zip(loops).all(|(n, l)| *n == l.extent)
        };
        let whole = data.strides.is_none() && a.index.as_ref().is_some_and(own);
        a.access == Access::Proven && (fixed || whole)
    })
}

/// Whether something is chosen by a condition that these loops or memory decide: lanes would have to go apart.
fn is_chosen(func: &PrimFunc, body: &Stmt, loops: &[Loop]) -> bool {
    let decides =
        |cond: ExprId| func.loads(cond) || expr_vars(func, cond).iter().any(|v| loops.iter().any(|l| l.var == *v));
    let lazy = |e: &ExprId| match *func.exprs.get(*e) {
        Expr::If(cond, x, y) => decides(cond) && [x, y].iter().any(|e| func.loads(*e)),
        _ => false,
    };
    body.any(&mut |s| matches!(s, Stmt::If { cond, .. } if decides(*cond))) || func.exprs_in(body).iter().any(lazy)
}

impl Bind<'_> {
    /// Turns that write elements: some a thread where there are many, as far apart as there are threads, so that threads
    /// side by side have neighbours.
    fn some_turns(&mut self, loops: &[Loop], body: Stmt) -> Stmt {
        let count = self.count(loops);
        let known = constant(self.b.func(), count);
        if known.is_some_and(|n| n < MANY) {
            return self.turns(loops, body);
        }
        let part =
            Loop { var: self.b.index_var("part"), min: self.b.index(0), extent: self.parts(count, EACH * THREADS) };
        self.group_a_turn(&[part], THREADS, |bind, thread| {
            let turn = bind.b.index_var("turn");
            let (at, each, threads) = (bind.b.read(part.var), bind.b.index(EACH), bind.b.index(THREADS));
            let (turn_at, thread) = (bind.b.read(turn), bind.b.read(thread));
            let line = bind.b.mul(at, each);
            let line = bind.b.add(line, turn_at);
            let first = bind.b.mul(line, threads);
            let number = bind.b.add(first, thread);
            let mut body = bind.turn(number, loops, body);
            if known.is_none_or(|n| n % (EACH * THREADS) != 0) {
                body = bind.below(number, count, body);
            }
            Stmt::loop_(turn, part.min, each, LoopKind::Unrolled, body)
        })
    }

    /// A thread some neighbours of a row.
    fn parts_of_rows(&mut self, loops: &[Loop], last: Loop, lanes: i64, body: Stmt) -> Stmt {
        let vector = self.b.index_var("vector");
        let width = constant(self.b.func(), last.extent).unwrap_or_default();
        let mut nest = loops.to_vec();
        nest.pop();
        nest.push(Loop { var: vector, min: last.min, extent: self.b.index(width / lanes) });
        let first = self.first(vector, lanes);
        let body = self.lanes(lanes, |bind, lane| {
            let at = bind.b.add(first, lane);
            substitute(bind.b, body, &BTreeMap::from([(last.var, at)]))
        });
        self.turns(&nest, body)
    }

    /// A thread some neighbours of all elements; those that are no vector any more have a thread each.
    fn parts_of_all(&mut self, loops: &[Loop], lanes: i64, body: Stmt) -> Stmt {
        let (vector, min, count) = (self.b.index_var("vector"), self.b.index(0), self.count(loops));
        let first = self.first(vector, lanes);
        let rest = body.clone();
        let full = self.lanes(lanes, |bind, lane| {
            let number = bind.b.add(first, lane);
            bind.at_number(number, loops, body)
        });
        let (whole, left) = self.divided(count, lanes);
        if self.b.func().literal(left) == Some(0) {
            return self.turns(&[Loop { var: vector, min, extent: whole }], full);
        }
        let at = self.b.read(vector);
        let before = self.b.index(lanes - 1);
        let before = self.product(whole, before);
        let number = self.b.add(at, before);
        let rest = copy(self.b, &rest, &BTreeMap::new());
        let rest = self.at_number(number, loops, rest);
        let cond = self.b.compare(CmpOp::Lt, at, whole);
        let body = Stmt::If { cond, then: Box::new(full), otherwise: Some(Box::new(rest)) };
        let extent = match (constant(self.b.func(), whole), constant(self.b.func(), left)) {
            (Some(whole), Some(left)) => self.b.index(whole + left),
            _ => self.b.add(whole, left),
        };
        self.turns(&[Loop { var: vector, min, extent }], body)
    }

    /// A turn by its number among all.
    fn at_number(&mut self, number: ExprId, loops: &[Loop], body: Stmt) -> Stmt {
        let to = self.places(number, loops).into_iter().collect();
        substitute(self.b, body, &to)
    }

    /// How often a number fits, and what is left.
    fn divided(&mut self, n: ExprId, by: i64) -> (ExprId, ExprId) {
        match constant(self.b.func(), n) {
            Some(n) => (self.b.index(n / by), self.b.index(n % by)),
            None => {
                let by = self.b.index(by);
                (self.b.binary(BinaryOp::DivEuclid, n, by), self.b.binary(BinaryOp::RemEuclid, n, by))
            }
        }
    }

    /// The number of a vector's first element.
    fn first(&mut self, vector: VarId, lanes: i64) -> ExprId {
        let (number, lanes) = (self.b.read(vector), self.b.index(lanes));
        self.b.mul(number, lanes)
    }

    fn lanes(&mut self, lanes: i64, body: impl FnOnce(&mut Self, ExprId) -> Stmt) -> Stmt {
        let lane = self.b.index_var("lane");
        let (zero, count, at) = (self.b.index(0), self.b.index(lanes), self.b.read(lane));
        let body = body(self, at);
        Stmt::loop_(lane, zero, count, LoopKind::Vectorized, body)
    }
}
