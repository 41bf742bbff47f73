//! A stage that pads what another one computes becomes the part inside of the padding and the padding.
//!
//! `out[i] = if 0 <= i - b < n { f(t[i - b]) } else { fill }` is `out[i + b] = f(t[i])` over the inside: its loops lose
//! the condition and agree with those of the stage that computes `t`, which then may work in the result's memory.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, IterKind, LoopKind, PrimFunc, Stmt, VarId, Viewer};

use crate::fuse::access::{Axis, axes, axis, conjuncts, loads};
use crate::fuse::stage::{Iter, Stage, Staged};

/// The inside along a variable: how many elements stand before it, and its extent.
type Inside = BTreeMap<VarId, (i64, ExprId)>;

/// Splits every padding stage that reads a buffer between stages.
pub(super) fn split_pads(staged: &mut Staged) {
    let mut n = 0;
    while n < staged.stages.len() {
        if let Some(pad) = Pad::of(staged, n) {
            let parts = pad.parts(&mut staged.b);
            let added = parts.len();
            staged.stages.splice(n..=n, parts);
            n += added;
        } else {
            n += 1;
        }
    }
}

struct Pad {
    stage: Stage,
    buf: BufId,
    index: Vec<ExprId>,
    value: ExprId,
    fill: ExprId,
    inside: Inside,
    /// Extents of the stage's variables, and of the insides.
    extents: BTreeMap<VarId, (IntExpr, IntExpr)>,
}

impl Pad {
    fn of(staged: &Staged, n: usize) -> Option<Pad> {
        let (func, stage) = (staged.b.func(), &staged.stages[n]);
        let Stmt::Store { buf, index, value, .. } = &stage.body else { return None };
        let Expr::If(cond, value, fill) = func.exprs.get(*value) else { return None };
        let spatial = stage.iters.iter().all(|i| i.kind == IterKind::Spatial) && stage.init.is_none();
        let between = loads(func, [*value]).iter().any(|a| staged.allocs.contains(&a.buf));
        let flat = loads(func, [*fill]).iter().all(|a| a.index.is_empty());
        if !spatial || !between || !flat {
            return None;
        }
        let stored = axes(func, index);
        let own = |a: &Axis| matches!(a, Axis::Iter(_, 0) | Axis::Fixed(0));
        let inside = inside(func, *cond)?;
        let known = inside.keys().all(|v| stored.contains(&Axis::Iter(*v, 0)));
        if !stored.iter().all(own) || !known {
            return None;
        }
        let mut viewer = Viewer::new(func);
        let extent = |v: &VarId| stage.iters.iter().find(|i| i.var == *v).map(|i| i.extent);
        let mut extents = BTreeMap::new();
        for (v, (_, part)) in &inside {
            extents.insert(*v, (viewer.int(extent(v)?), viewer.int(*part)));
        }
        let (stage, index, value, fill) = (stage.clone(), index.clone(), *value, *fill);
        Some(Pad { stage, buf: *buf, index, value, fill, inside, extents })
    }

    fn parts(self, b: &mut Builder) -> Vec<Stage> {
        let mut all = vec![self.middle(b)];
        let padded: Vec<VarId> =
            self.stage.iters.iter().map(|i| i.var).filter(|v| self.inside.contains_key(v)).collect();
        for (n, var) in padded.iter().enumerate() {
            let (before, _) = self.inside[var];
            let (whole, part) = &self.extents[var];
            let end = &IntExpr::from(before) + part;
            let after = whole - &end;
            for (start, extent) in [(IntExpr::from(0), IntExpr::from(before)), (end, after)] {
                if extent.as_const() != Some(0) {
                    all.push(self.border(b, &padded[..n], *var, &start, &extent));
                }
            }
        }
        all
    }

    /// The part inside: variables count from its corner.
    fn middle(&self, b: &mut Builder) -> Stage {
        let mut to: BTreeMap<VarId, (ExprId, ExprId)> = BTreeMap::new();
        let mut iters = Vec::new();
        for iter in &self.stage.iters {
            let name = b.sym(iter.var).to_string();
            let (var, extent) = (b.index_var(&name), self.inside.get(&iter.var).map_or(iter.extent, |(_, e)| *e));
            let (before, _) = self.inside.get(&iter.var).copied().unwrap_or((0, extent));
            let (new, by) = (b.read(var), b.index(before));
            let shifted = if before == 0 { new } else { b.add(new, by) };
            to.insert(iter.var, (new, shifted));
            iters.push(Iter { var, extent, ..iter.clone() });
        }
        let old = b.func().exprs.clone();
        // What is counted from the corner already is the variable itself.
        let corner = move |id: ExprId| match old.get(id) {
            Expr::Binary(BinaryOp::Sub, a, _) => match (old.get(*a), axis_of(&old, id)) {
                (Expr::Var(v), Some(k)) => Some((*v, k)),
                _ => None,
            },
            _ => None,
        };
        let value = substitute(b, self.value, &to, &self.inside, &corner);
        let index = self.index.iter().map(|i| substitute(b, *i, &to, &BTreeMap::new(), &|_| None)).collect();
        let access = tenfold_ir::tir::Access::Proven;
        let body = Stmt::Store { buf: self.buf, index, value, access };
        Stage { iters, body, ..self.stage.clone() }
    }

    /// What stands before or after the inside along `var`; along `inner` inside only, along others everywhere.
    fn border(&self, b: &mut Builder, inner: &[VarId], var: VarId, start: &IntExpr, extent: &IntExpr) -> Stage {
        let mut to = BTreeMap::new();
        let mut iters = Vec::new();
        for iter in &self.stage.iters {
            let (from, count) = if iter.var == var {
                (start.clone(), b.int_expr(extent))
            } else if inner.contains(&iter.var) {
                let (before, part) = self.inside[&iter.var];
                (IntExpr::from(before), part)
            } else {
                (IntExpr::from(0), iter.extent)
            };
            let name = b.sym(iter.var).to_string();
            let new = b.index_var(&name);
            let (at, from) = (b.read(new), (from.as_const() != Some(0)).then(|| b.int_expr(&from)));
            let at = from.map_or(at, |from| b.add(at, from));
            to.insert(iter.var, (at, at));
            iters.push(Iter { var: new, extent: count, kind: IterKind::Spatial, order: LoopKind::Serial });
        }
        let index = self.index.iter().map(|i| substitute(b, *i, &to, &BTreeMap::new(), &|_| None)).collect();
        let access = tenfold_ir::tir::Access::Proven;
        let body = Stmt::Store { buf: self.buf, index, value: self.fill, access };
        let name = b.fresh_name("border");
        Stage { name, iters, init: None, body, loc: self.stage.loc }
    }
}

/// `v - k` as `k`.
fn axis_of(exprs: &tenfold_ir::tir::ExprArena, id: ExprId) -> Option<i64> {
    let Expr::Binary(BinaryOp::Sub, _, k) = exprs.get(id) else { return None };
    match exprs.get(*k) {
        Expr::Index(k) => Some(*k),
        _ => None,
    }
}

/// `root` with variables replaced: by the first where it is counted from the corner, else by the second.
fn substitute(
    b: &mut Builder,
    root: ExprId,
    to: &BTreeMap<VarId, (ExprId, ExprId)>,
    inside: &Inside,
    corner: &dyn Fn(ExprId) -> Option<(VarId, i64)>,
) -> ExprId {
    // Bottom-up, `v - k` would be seen after `v` was replaced; so these are replaced first, by what no pass writes.
    let at_corner = |id: ExprId| corner(id).filter(|(v, k)| inside.get(v).is_some_and(|(before, _)| before == k));
    let mut memo: BTreeMap<ExprId, ExprId> = BTreeMap::new();
    for id in b.func().reachable([root]) {
        let new = match (at_corner(id), b.func().exprs.get(id).clone()) {
            (Some((v, _)), _) => to[&v].0,
            (None, Expr::Var(v)) => to.get(&v).map_or(id, |(_, shifted)| *shifted),
            (None, expr) => {
                let ty = b.ty(id);
                let expr = tenfold_ir::tir::map_operands(expr, &mut |o| memo.get(&o).copied().unwrap_or(o));
                b.raw(expr, ty)
            }
        };
        memo.insert(id, new);
    }
    memo.get(&root).copied().unwrap_or(root)
}

/// The inside that a condition describes: `v - k >= 0` and `v - k < n` for each of its variables.
fn inside(func: &PrimFunc, cond: ExprId) -> Option<Inside> {
    let (mut low, mut high): (BTreeMap<VarId, i64>, Inside) = (BTreeMap::new(), BTreeMap::new());
    for part in conjuncts(func, cond) {
        let Expr::Compare(op, a, b) = func.exprs.get(part) else { return None };
        let Axis::Iter(v, k) = axis(func, *a) else { return None };
        match (op, func.exprs.get(*b)) {
            (CmpOp::Ge, Expr::Index(0)) => {
                low.insert(v, -k);
            }
            (CmpOp::Lt, _) if loads(func, [*b]).is_empty() => {
                high.insert(v, (-k, *b));
            }
            _ => return None,
        }
    }
    let agree = low.len() == high.len() && high.iter().all(|(v, (k, _))| low.get(v) == Some(k) && *k >= 0);
    (agree && !high.is_empty()).then_some(high)
}
