//! A kernel around one contraction: which stage it is, what it reads, and who works on its result.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Dot, Expr, ExprId, Intrinsic, IterKind, PrimFunc, Scope, Stmt, VarId, Viewer};

use super::walk::moved;
use crate::fuse::access::{Access, Axis, accesses, axes, names};
use crate::fuse::stage::{Stage, Staged};

/// A sum of products among a kernel's stages.
pub(super) struct Contraction {
    /// Which stage it is.
    pub stage: usize,
    /// What it accumulates into.
    pub acc: BufId,
    /// How each operand is walked: elements from one value of an iterator to the next.
    pub operands: Vec<Operand>,
    /// How the result is.
    pub result: Operand,
    /// Which products it adds at once, if it does so.
    pub dot: Option<Dot>,
}

/// How a buffer is walked, and by which index.
#[derive(Clone)]
pub(super) struct Operand {
    /// The buffer.
    pub buf: BufId,
    /// The expression that loads an element; of the result, the first index.
    pub load: ExprId,
    /// The iterator along which it lies in panels, and how wide these are; a tile reads one panel.
    pub panel: Option<(VarId, i64)>,
    steps: BTreeMap<VarId, IntExpr>,
}

impl Operand {
    /// Whether all values of an iterator read the same element.
    pub(super) fn ignores(&self, var: VarId) -> bool {
        self.steps.get(&var).is_none_or(|s| s.as_const() == Some(0))
    }

    /// Elements from one value of an iterator to the next, if that is a number.
    pub(super) fn step(&self, var: VarId) -> Option<i64> {
        self.steps.get(&var)?.as_const()
    }

    /// Whether an iterator walks from neighbour to neighbour.
    pub(super) fn along(&self, var: VarId) -> bool {
        self.steps.get(&var).is_some_and(|s| s.as_const() == Some(1))
    }
}

impl Operand {
    /// Walked in vectors of so many elements instead of elements. Neighbours in panels are vectors already.
    fn in_vectors(mut self, elements: i64) -> Operand {
        let inside = self.panel.map(|(v, _)| v);
        let elements = IntExpr::from(elements);
        let steps = self.steps.iter_mut().filter(|(v, _)| Some(**v) != inside);
        steps.for_each(|(_, step)| *step = step.floor_div(&elements));
        self
    }

    /// Whether every iterator but one walks in vectors of so many elements.
    pub(super) fn in_whole(&self, elements: i64, but: VarId) -> bool {
        self.steps.iter().all(|(v, step)| *v == but || step.as_const().is_some_and(|n| n % elements == 0))
    }

    /// By how much an iterator moves along the rows of the operand, if along nothing else, and in steps.
    pub(super) fn rows_by_steps(&self, func: &PrimFunc, var: VarId) -> Option<i64> {
        const MOST: i64 = 4;
        let Expr::Load { buf, index, .. } = func.exprs.get(self.load) else { return None };
        let data = &func.buffers[buf.0 as usize];
        let (_, outer) = index.split_last()?;
        data.shape.last()?.as_const()?;
        let elsewhere = outer.iter().any(|i| names(func, *i, var));
        let step = self.steps.get(&var)?.as_const()?;
        (data.strides.is_none() && !elsewhere && (2..=MOST).contains(&step)).then_some(step)
    }

    /// After how many terms a row reads what the one before has read: windows overlap.
    pub(super) fn overlaps_after(&self, row: VarId, term: VarId) -> Option<i64> {
        let (row, term) = (self.step(row)?.abs(), self.step(term)?.abs());
        (row > 0 && term > 0 && row % term == 0).then(|| row / term)
    }
}

/// The only contraction of a kernel.
pub(super) fn contraction(staged: &Staged) -> Option<Contraction> {
    let func = staged.b.func();
    let mut found = (0..staged.stages.len()).filter_map(|n| of_stage(func, &staged.stages[n], n));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The contraction that a stage is, which is said to be the `n`th one.
pub(super) fn of_stage(func: &PrimFunc, stage: &Stage, n: usize) -> Option<Contraction> {
    stage.init.as_ref()?;
    let reduces = stage.iters.iter().any(|i| i.kind == IterKind::Reduce);
    let plain = stage.iters.iter().all(|i| i.kind != IterKind::Ordered);
    let Stmt::Store { buf: acc, index, value, .. } = &stage.body else { return None };
    let Expr::Binary(BinaryOp::Add, old, new) = func.exprs.get(*value) else { return None };
    let own = matches!(func.exprs.get(*old), Expr::Load { buf, index: at, .. } if buf == acc && at == index);
    if !reduces || !plain || !own || !product(func, *new) || branches(func, *new) {
        return None;
    }
    let mut viewer = viewer(func, stage);
    let result = walked(&mut viewer, stage, (*acc, index), false)?;
    let reads: Vec<Access> = accesses(func, stage).into_iter().filter(|a| !a.write && a.buf != *acc).collect();
    let inner: Vec<ExprId> = func.reachable([*new]);
    let dot = match func.exprs.get(*new) {
        Expr::Call(Intrinsic::Dot(dot), ..) => Some(*dot),
        _ => None,
    };
    let wide = dot.filter(|dot| dot.is_wide());
    let mut operands: Vec<Operand> = Vec::new();
    for id in inner {
        if let Expr::Load { buf, index, .. } = func.exprs.get(id) {
            let operand = Operand { load: id, ..walked(&mut viewer, stage, (*buf, index), wide.is_some())? };
            let operand = match wide {
                Some(dot) => operand.in_vectors(dot.terms()),
                None => operand,
            };
            // Neighbours that are one number are one operand.
            let known = |o: &Operand| dot.is_some() && o.buf == *buf && o.steps == operand.steps;
            if !operands.iter().any(known) {
                operands.push(operand);
            }
        }
    }
    (operands.len() >= 2 && reads.iter().all(|r| r.buf != *acc)).then_some(Contraction {
        stage: n,
        acc: *acc,
        operands,
        result,
        dot,
    })
}

/// What reads integer expressions that know the ranges of a stage's iterators: products of them are no surprise.
pub(super) fn viewer<'f>(func: &'f PrimFunc, stage: &Stage) -> Viewer<'f> {
    let mut viewer = Viewer::new(func);
    for iter in &stage.iters {
        let (sym, extent) = (viewer.sym(iter.var), viewer.int(iter.extent));
        viewer.prover.assume_range(&sym, &IntExpr::from(0), &extent);
    }
    viewer
}

/// Whether a value is a product of two factors, of whatever dtypes, or the sum of some; a sum of squares is none.
fn product(func: &PrimFunc, id: ExprId) -> bool {
    match func.exprs.get(id) {
        Expr::Binary(BinaryOp::Mul, a, b) => a != b,
        Expr::Cast(_, inner) => product(func, *inner),
        Expr::Call(Intrinsic::Dot(_), ..) => true,
        _ => false,
    }
}

/// Whether what is read depends on a condition.
fn branches(func: &PrimFunc, id: ExprId) -> bool {
    func.reachable([id]).into_iter().any(|e| matches!(func.exprs.get(e), Expr::If(..) | Expr::Select(..)))
}

/// How the iterators of a stage walk through a buffer that is laid out in rows.
fn walked(
    viewer: &mut Viewer<'_>,
    stage: &Stage,
    (buf, index): (BufId, &[ExprId]),
    in_vectors: bool,
) -> Option<Operand> {
    let panel = panel(viewer.func(), index, in_vectors);
    let mut steps = BTreeMap::new();
    for iter in &stage.iters {
        if panel.is_some_and(|(v, _)| v == iter.var) {
            steps.insert(iter.var, IntExpr::from(1));
            continue;
        }
        let sym = viewer.sym(iter.var);
        // Steps that differ are no number.
        steps.insert(iter.var, moved(viewer, buf, index, &sym)?);
    }
    Some(Operand { buf, load: index.first().copied().unwrap_or(ExprId(0)), panel, steps })
}

/// The iterator whose quotient and remainder an index has, the remainder last but for the place in a vector, and the
/// divisor.
fn panel(func: &PrimFunc, index: &[ExprId], in_vectors: bool) -> Option<(VarId, i64)> {
    let cut = |id: &ExprId, op: BinaryOp| match func.exprs.get(*id) {
        Expr::Binary(found, v, w) if *found == op => match (func.exprs.get(*v), func.exprs.get(*w)) {
            (Expr::Var(v), Expr::Index(w)) => Some((*v, *w)),
            _ => None,
        },
        _ => None,
    };
    let (last, rest) = match index.split_last()? {
        (_, rest) if in_vectors => rest.split_last()?,
        both => both,
    };
    let inside = cut(last, BinaryOp::RemEuclid)?;
    rest.iter().any(|id| cut(id, BinaryOp::DivEuclid) == Some(inside)).then_some(inside)
}

/// The stage that alone reads the contraction's result, and makes one element of each element.
pub(super) fn epilogue(staged: &Staged, found: &Contraction) -> Option<(usize, BTreeMap<VarId, VarId>)> {
    let func = staged.b.func();
    if func.buffers[found.acc.0 as usize].scope == Scope::Param {
        return None;
    }
    let touches = |s: &Stage| accesses(func, s).iter().any(|a| a.buf == found.acc);
    let mut users = (0..staged.stages.len()).filter(|n| *n != found.stage && touches(&staged.stages[*n]));
    let (n, more) = (users.next()?, users.next());
    let stage = &staged.stages[n];
    let plain = stage.init.is_none() && stage.iters.iter().all(|i| i.kind == IterKind::Spatial);
    if more.is_some() || n < found.stage || !plain || !matches!(stage.body, Stmt::Store { .. }) {
        return None;
    }
    Some((n, linked(staged, found, stage)?))
}

/// The iterator of `stage` for each spatial iterator of the contraction, where it reads the result by one of each.
fn linked(staged: &Staged, found: &Contraction, stage: &Stage) -> Option<BTreeMap<VarId, VarId>> {
    let func = staged.b.func();
    let source = &staged.stages[found.stage];
    let Stmt::Store { index, .. } = &source.body else { return None };
    let made = axes(func, index);
    let mut links = BTreeMap::new();
    for access in accesses(func, stage).into_iter().filter(|a| a.buf == found.acc) {
        for (made, read) in made.iter().zip(axes(func, &access.index)) {
            match (made, read) {
                (Axis::Iter(p, 0), Axis::Iter(q, 0)) => {
                    let whole = |s: &Stage, v| s.iters.iter().find(|i| i.var == v).map(|i| i.extent);
                    if links.insert(*p, q).is_some_and(|old| old != q) || whole(source, *p) != whole(stage, q) {
                        return None;
                    }
                }
                (Axis::Fixed(a), Axis::Fixed(b)) if *a == b => {}
                _ => return None,
            }
        }
    }
    let spatial = source.iters.iter().filter(|i| i.kind == IterKind::Spatial);
    (links.len() == stage.iters.len() && spatial.count() == links.len()).then_some(links)
}
