//! What a kernel over windows is made of: the axes along which windows move, what is made of the elements of one, and
//! what is stored of it.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{
    Access, BufId, Builder, Expr, ExprId, ExprMap, IterKind, LoopKind, PrimFunc, Stmt, Ty, VarId, Viewer, map_operands,
    operands, substitution,
};
use tenfold_ir::{DType, Scalar};

use crate::dlight::body::{flat, nest};
use crate::dlight::kernel::viewer;
use crate::fuse::access::{conjuncts, loads, names};
use crate::fuse::stage::Stage;

/// A stage each of whose instances makes one element of those of a window.
pub(super) struct Pool {
    /// What it makes of two: the greater or the lesser one, or the sum.
    pub op: BinaryOp,
    /// What a window has before its first element.
    pub start: Scalar,
    /// An element, as the operand gives it.
    pub term: ExprId,
    /// In the order of the loops over elements.
    pub axes: Vec<Axis>,
    /// Where results stand.
    pub buf: BufId,
    /// At which index.
    pub index: Vec<ExprId>,
    /// What is stored of a window.
    value: ExprId,
    /// The scalar that holds what a window has so far.
    acc: BufId,
    /// The scalar that counts elements.
    pub count: Option<BufId>,
    /// The expressions of the term that say where an axis is read.
    places: BTreeMap<ExprId, usize>,
}

/// An axis along which windows move: element `tap` of window `out` is at `stride * out + dilation * tap - pad`.
pub(super) struct Axis {
    /// Counts the elements of a window.
    pub tap: VarId,
    /// How many these are.
    pub taps: i64,
    /// Counts the windows; nothing where there is one.
    pub out: Option<VarId>,
    /// From a window to the next.
    pub stride: i64,
    /// From an element to the next.
    pub dilation: i64,
    /// What stands before the first window's first element.
    pub pad: i64,
    /// The operand's extent, where windows leave it.
    pub extent: Option<IntExpr>,
    /// Which elements count, where not all do.
    pub counted: Option<Counted>,
    /// The place of an element.
    at: IntExpr,
}

/// Which places along an axis count.
pub(super) struct Counted {
    /// Whether those before the first element do not.
    pub from_first: bool,
    /// Those before this one do.
    pub end: IntExpr,
}

impl Axis {
    /// Elements from the first to the last of a window.
    pub(super) fn reach(&self) -> i64 {
        (self.taps - 1) * self.dilation + 1
    }

    /// Where a window begins.
    pub(super) fn begin(&self, window: &IntExpr) -> IntExpr {
        &(window * self.stride) - self.pad
    }
}

/// What a turn of the loops over elements does.
struct Turn {
    op: BinaryOp,
    term: ExprId,
    acc: BufId,
    /// What holds where the element is there.
    inside: Option<ExprId>,
    /// The counter, and what holds where the element counts.
    count: Option<(BufId, ExprId)>,
}

/// Where along an axis something holds.
struct Bound {
    at: IntExpr,
    from_first: bool,
    end: Option<IntExpr>,
}

impl Pool {
    /// What a stage does, if it makes elements of windows.
    pub(super) fn of(func: &PrimFunc, stage: &Stage) -> Option<Pool> {
        let (mut locals, mut all) = (Vec::new(), Vec::new());
        flat(func, &stage.body, &mut locals, &mut all)?;
        let at = all.iter().position(|s| matches!(s, Stmt::For { .. }))?;
        let after = all.split_off(at + 1);
        let (loops, inner) = nest(func, LoopKind::Reduction, all.pop()?)?;
        let turn = Turn::of(func, &inner)?;
        let start = starts(func, &all, &turn)?;
        let [Stmt::Store { buf, index, value, .. }] = &after[..] else { return None };
        let known = locals.iter().all(|l| *l == turn.acc || turn.count.is_some_and(|(count, _)| count == *l));
        let spatial = stage.init.is_none() && stage.iters.iter().all(|i| i.kind == IterKind::Spatial);
        let axes = axes(func, stage, &loops, &turn)?;
        let places = places(func, stage, turn.term, &axes)?;
        (known && spatial && !axes.is_empty()).then_some(Pool {
            op: turn.op,
            start,
            term: turn.term,
            axes,
            buf: *buf,
            index: index.clone(),
            value: *value,
            acc: turn.acc,
            count: turn.count.map(|(count, _)| count),
            places,
        })
    }

    /// The dtype in which elements are put together.
    pub(super) fn dtype(&self) -> DType {
        self.start.dtype
    }

    /// The element at a place along each axis.
    pub(super) fn element(&self, b: &mut Builder, at: &[IntExpr], to: &BTreeMap<VarId, ExprId>) -> ExprId {
        let at: Vec<ExprId> = at.iter().map(|e| b.int_expr(e)).collect();
        let mut memo: BTreeMap<ExprId, ExprId> = BTreeMap::new();
        for id in b.func().reachable([self.term]) {
            let new = match (self.places.get(&id), b.func().exprs.get(id).clone()) {
                (Some(axis), _) => at[*axis],
                (None, Expr::Var(v)) => to.get(&v).copied().unwrap_or(id),
                (None, expr) => {
                    let ty = b.ty(id);
                    let expr = map_operands(expr, &mut |o| memo.get(&o).copied().unwrap_or(o));
                    b.raw(expr, ty)
                }
            };
            memo.insert(id, new);
        }
        memo.get(&self.term).copied().unwrap_or(self.term)
    }

    /// Stores what is made of a window that has been put together.
    pub(super) fn store(
        &self,
        b: &mut Builder,
        made: ExprId,
        count: Option<ExprId>,
        to: &BTreeMap<VarId, ExprId>,
    ) -> Stmt {
        let ty = b.ty(made);
        let var = b.var("window", ty);
        let window = b.read(var);
        let scalars: BTreeMap<BufId, ExprId> = [(self.acc, window)].into_iter().chain(self.count.zip(count)).collect();
        let mut memo: BTreeMap<ExprId, ExprId> = BTreeMap::new();
        for id in b.func().reachable(self.index.iter().copied().chain([self.value])) {
            let new = match b.func().exprs.get(id).clone() {
                Expr::Load { buf, .. } if scalars.contains_key(&buf) => scalars[&buf],
                Expr::Var(v) => to.get(&v).copied().unwrap_or(id),
                expr => {
                    let ty = b.ty(id);
                    let expr = map_operands(expr, &mut |o| memo.get(&o).copied().unwrap_or(o));
                    b.raw(expr, ty)
                }
            };
            memo.insert(id, new);
        }
        let now = |id: &ExprId| memo.get(id).copied().unwrap_or(*id);
        let index = self.index.iter().map(now).collect();
        let access = Access::Proven;
        let body = Stmt::Store { buf: self.buf, index, value: now(&self.value), access };
        Stmt::Let { var, value: made, body: Box::new(body) }
    }

    /// Lets a stage that makes one element of each result work on these at once: what it stores is stored instead.
    pub(super) fn follow(
        &mut self,
        b: &mut Builder,
        value: ExprId,
        (buf, index): (BufId, Vec<ExprId>),
        of: &BTreeMap<VarId, ExprId>,
    ) {
        let (from, made) = (self.buf, self.value);
        let mut moved = substitution(of);
        let (value, index) = (moved.expr(b, value), index.iter().map(|i| moved.expr(b, *i)).collect());
        let mut read = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id) {
            Expr::Load { buf, .. } if *buf == from => made,
            _ => id,
        });
        (self.value, self.index, self.buf) = (read.expr(b, value), index, buf);
    }

    /// Whether what is written is read, too.
    pub(super) fn updates(&self, func: &PrimFunc) -> bool {
        loads(func, [self.term, self.value]).iter().any(|a| a.buf == self.buf)
    }
}

impl Turn {
    fn of(func: &PrimFunc, inner: &Stmt) -> Option<Turn> {
        let (mut locals, mut all) = (Vec::new(), Vec::new());
        flat(func, inner, &mut locals, &mut all)?;
        let (first, rest) = all.split_first()?;
        let (inside, taken) = match first {
            Stmt::If { cond, then, otherwise: None } => (Some(*cond), then.as_ref()),
            other => (None, other),
        };
        let (acc, op, term) = accumulated(func, taken)?;
        let count = match rest {
            [] => None,
            [Stmt::If { cond, then, otherwise: None }] => {
                let (count, op, one) = accumulated(func, then)?;
                let is_one = matches!(func.exprs.get(one), Expr::Const(s) if *s == Scalar::one(s.dtype));
                (op == BinaryOp::Add && is_one).then_some(Some((count, *cond)))?
            }
            _ => return None,
        };
        let whole = locals.is_empty() && (count.is_none() || inside.is_some());
        whole.then_some(Turn { op, term, acc, inside, count })
    }
}

/// `acc = acc op term`.
fn accumulated(func: &PrimFunc, stmt: &Stmt) -> Option<(BufId, BinaryOp, ExprId)> {
    let (mut locals, mut all) = (Vec::new(), Vec::new());
    flat(func, stmt, &mut locals, &mut all)?;
    let [Stmt::Store { buf, index, value, .. }] = &all[..] else { return None };
    let Expr::Binary(op @ (BinaryOp::Max | BinaryOp::Min | BinaryOp::Add), old, term) = func.exprs.get(*value) else {
        return None;
    };
    let own = |e: ExprId| matches!(func.exprs.get(e), Expr::Load { buf: from, .. } if from == buf);
    let again = func.reachable([*term]).into_iter().any(own);
    (locals.is_empty() && index.is_empty() && own(*old) && !again).then_some((*buf, *op, *term))
}

/// What a window starts with; elements are counted from 0.
fn starts(func: &PrimFunc, before: &[Stmt], turn: &Turn) -> Option<Scalar> {
    let mut start = None;
    for stmt in before {
        let Stmt::Store { buf, value, .. } = stmt else { return None };
        let Expr::Const(scalar) = func.exprs.get(*value) else { return None };
        if *buf == turn.acc {
            start = Some(*scalar);
        } else if turn.count.is_none_or(|(count, _)| count != *buf) || *scalar != Scalar::zero(scalar.dtype) {
            return None;
        }
    }
    start
}

/// The axis of each loop over elements.
fn axes(func: &PrimFunc, stage: &Stage, loops: &[(VarId, ExprId)], turn: &Turn) -> Option<Vec<Axis>> {
    let mut viewer = viewer(func, stage);
    let mut taps = Vec::new();
    for (var, extent) in loops {
        let (sym, extent) = (viewer.sym(*var), viewer.int(*extent));
        viewer.prover.assume_range(&sym, &IntExpr::from(0), &extent);
        taps.push((*var, sym, extent.as_const().filter(|n| *n > 0)?));
    }
    let inside = turn.inside.map_or(Some(Vec::new()), |cond| bounds(&mut viewer, cond))?;
    let counted = turn.count.map_or(Some(Vec::new()), |(_, cond)| bounds(&mut viewer, cond))?;
    let mut all: Vec<Axis> = Vec::new();
    for (tap, sym, taps) in taps {
        let of = |bounds: &[Bound]| bounds.iter().position(|it| it.at.vars().contains(&sym));
        let at = match of(&inside) {
            Some(n) => inside[n].at.clone(),
            None => read_at(&mut viewer, turn.term, tap)?,
        };
        let (out, stride, dilation, pad) = affine(&viewer, stage, &at, &sym, taps)?;
        let extent = match of(&inside).map(|n| &inside[n]) {
            Some(Bound { from_first: true, end: Some(end), .. }) => Some(end.clone()),
            Some(_) => return None,
            None => None,
        };
        let counts = match of(&counted).map(|n| &counted[n]) {
            Some(Bound { at: own, from_first, end: Some(end) }) if *own == at => {
                Some(Counted { from_first: *from_first, end: end.clone() })
            }
            Some(_) => return None,
            None => None,
        };
        let starts = viewer.prover.prove_ge0(&at);
        let all_of = |end: &IntExpr, from_first: bool| (starts || !from_first) && viewer.prover.prove_lt(&at, end);
        let extent = extent.filter(|end| !all_of(end, true));
        let counted = counts.filter(|c| !all_of(&c.end, c.from_first));
        all.push(Axis { tap, taps, out, stride, dilation, pad, extent, counted, at });
    }
    // Every condition belongs to an axis.
    let known = |it: &Bound| all.iter().any(|axis| axis.at == it.at);
    inside.iter().chain(&counted).all(known).then_some(all)
}

/// What a conjunction of bounds says of each place.
fn bounds(viewer: &mut Viewer<'_>, cond: ExprId) -> Option<Vec<Bound>> {
    let func = viewer.func();
    let mut all: Vec<Bound> = Vec::new();
    for part in conjuncts(func, cond) {
        let Expr::Compare(op, a, b) = *func.exprs.get(part) else { return None };
        if func.loads(a) || func.loads(b) {
            return None;
        }
        let (at, end) = (viewer.int(a), viewer.int(b));
        let n = all.iter().position(|it| it.at == at).unwrap_or_else(|| {
            all.push(Bound { at, from_first: false, end: None });
            all.len() - 1
        });
        match op {
            CmpOp::Ge if end.as_const() == Some(0) => all[n].from_first = true,
            CmpOp::Lt if all[n].end.is_none() => all[n].end = Some(end),
            _ => return None,
        }
    }
    Some(all)
}

/// Where all that is read along a loop over elements is read.
fn read_at(viewer: &mut Viewer<'_>, term: ExprId, tap: VarId) -> Option<IntExpr> {
    let func = viewer.func();
    let named = |id: &ExprId| names(func, *id, tap);
    let mut all = loads(func, [term]).into_iter().flat_map(|a| a.index).filter(named).map(|i| viewer.int(i));
    let first = all.next()?;
    all.all(|at| at == first).then_some(first)
}

/// What counts windows, from one to the next, from an element to the next, and how far before 0 the first one is.
fn affine(
    viewer: &Viewer<'_>,
    stage: &Stage,
    at: &IntExpr,
    tap: &Sym,
    taps: i64,
) -> Option<(Option<VarId>, i64, i64, i64)> {
    let others: Vec<Sym> = at.vars().into_iter().filter(|s| s != tap).collect();
    let out = match &others[..] {
        [] => None,
        [one] => Some(stage.iters.iter().map(|i| i.var).find(|v| viewer.sym(*v) == *one)?),
        _ => return None,
    };
    let value = |o: i64, r: i64| at.substitute(&|s| Some(IntExpr::from(if s == tap { r } else { o }))).as_const();
    let first = value(0, 0)?;
    let (stride, step) = (value(1, 0)? - first, value(0, 1)? - first);
    let sum = |sym: &Sym, by: i64| &IntExpr::var(sym.clone()) * by;
    let again = others.first().map_or(IntExpr::from(0), |sym| sum(sym, stride));
    let again = &(&again + &sum(tap, step)) + first;
    // One element alone is no further from itself.
    let dilation = if taps == 1 { 1 } else { step };
    (again == *at && dilation > 0 && stride >= 0).then_some((out, stride, dilation, -first))
}

/// The expressions of a term that are the place along an axis; nothing where it depends on windows in other ways.
fn places(func: &PrimFunc, stage: &Stage, term: ExprId, axes: &[Axis]) -> Option<BTreeMap<ExprId, usize>> {
    let mut viewer = viewer(func, stage);
    let mut found = BTreeMap::new();
    for id in func.reachable([term]).into_iter().filter(|id| func.exprs.ty(*id) == Ty::index()) {
        let at = viewer.int(id);
        if let Some(n) = axes.iter().position(|axis| axis.at == at && !at.vars().is_empty()) {
            found.insert(id, n);
        }
    }
    let moving = |v: VarId| axes.iter().any(|axis| axis.tap == v || axis.out == Some(v));
    let mut open = vec![term];
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if found.contains_key(&id) || !seen.insert(id) {
            continue;
        }
        if matches!(func.exprs.get(id), Expr::Var(v) if moving(*v)) {
            return None;
        }
        open.extend(operands(func.exprs.get(id)));
    }
    Some(found)
}
