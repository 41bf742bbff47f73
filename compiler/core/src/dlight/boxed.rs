//! Stages that write one thing inside of a box and another around it, as padding does: a stage for the box, and stages for
//! what is around it, none of which asks where it is.

use std::collections::BTreeMap;

use tenfold_ir::DType;
use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::{Builder, Expr, ExprId, PrimFunc, Stmt, VarId, Viewer};

use super::cut::{Range, part};
use crate::fuse::stage::Stage;

/// From which value of an iterator to which one.
type Bounds = (i64, i64);

/// The stage of the box, and those around it; nothing where a stage has no such box, or one whose sides are no numbers.
pub(super) fn boxed(b: &mut Builder, stage: &Stage) -> Option<(Stage, Vec<Stage>)> {
    let Stmt::Store { buf, index, value, access } = &stage.body else { return None };
    let Expr::If(cond, inside, outside) = *b.func().exprs.get(*value) else { return None };
    let (mut viewer, mut sides) = (Viewer::new(b.func()), BTreeMap::new());
    for iter in &stage.iters {
        sides.insert(iter.var, (0, viewer.int(iter.extent).as_const()?));
    }
    let whole = sides.clone();
    narrowed(&mut viewer, cond, &mut sides)?;
    if sides.values().any(|(begin, end)| begin >= end) {
        return None;
    }
    let of = |value: ExprId| {
        let body = Stmt::Store { buf: *buf, index: index.clone(), value, access: *access };
        Stage { body, ..stage.clone() }
    };
    let (inside, outside) = (of(inside), of(outside));
    let mut around = Vec::new();
    let mut ranges = whole;
    for (var, (begin, end)) in &sides {
        let (first, last) = ranges[var];
        for slab in [(first, *begin), (*end, last)].into_iter().filter(|(begin, end)| begin < end) {
            let name = b.fresh_name(&format!("{}_around", stage.name));
            let ranges = ranges.iter().map(|(v, all)| (*v, if v == var { slab } else { *all })).collect();
            around.push(over(b, &outside, &name, &ranges));
        }
        ranges.insert(*var, (*begin, *end));
    }
    Some((over(b, &inside, &stage.name, &ranges), around))
}

/// A stage over ranges of its iterators.
fn over(b: &mut Builder, stage: &Stage, name: &str, ranges: &BTreeMap<VarId, Bounds>) -> Stage {
    let range = |b: &mut Builder, (begin, end): Bounds| Range {
        begin: b.index(begin),
        extent: b.index(end - begin),
        size: IntExpr::from(end - begin),
    };
    let ranges = ranges.iter().map(|(var, bounds)| (*var, range(b, *bounds))).collect();
    part(b, stage, name, &ranges, &BTreeMap::new())
}

/// The values of iterators for which a condition holds; nothing where these are no box.
fn narrowed(viewer: &mut Viewer<'_>, cond: ExprId, sides: &mut BTreeMap<VarId, Bounds>) -> Option<()> {
    match *viewer.func().exprs.get(cond) {
        Expr::If(first, second, no) if is_false(viewer.func(), no) => {
            narrowed(viewer, first, sides)?;
            narrowed(viewer, second, sides)
        }
        Expr::Compare(op, x, y) => {
            let (x, y) = (viewer.int(x), viewer.int(y));
            // What is not below 0.
            let distance = match op {
                CmpOp::Ge => &x - &y,
                CmpOp::Gt => &(&x - &y) - &IntExpr::from(1),
                CmpOp::Le => &y - &x,
                CmpOp::Lt => &(&y - &x) - &IntExpr::from(1),
                CmpOp::Eq | CmpOp::Ne => return None,
            };
            let (var, sign, offset) = along(viewer, &distance, sides)?;
            let (begin, end) = sides.get_mut(&var)?;
            if sign > 0 {
                *begin = (*begin).max(-offset);
            } else {
                *end = (*end).min(offset + 1);
            }
            Some(())
        }
        _ => None,
    }
}

/// Whether it is what a conjunction gives where its first part does not hold.
fn is_false(func: &PrimFunc, id: ExprId) -> bool {
    matches!(func.exprs.get(id), Expr::Const(s) if s.dtype == DType::Bool && s.bits == 0)
}

/// The iterator that an expression goes along, in which direction, and from where.
fn along(viewer: &Viewer<'_>, e: &IntExpr, sides: &BTreeMap<VarId, Bounds>) -> Option<(VarId, i64, i64)> {
    let syms: Vec<Sym> = e.vars().into_iter().collect();
    let [sym] = &syms[..] else { return None };
    let var = sides.keys().copied().find(|var| viewer.sym(*var) == *sym)?;
    let at = |n: i64| e.substitute(&|s: &Sym| (s == sym).then(|| IntExpr::from(n))).as_const();
    let (first, second) = (at(0)?, at(1)?);
    let sign = second - first;
    let affine = e - &(&IntExpr::var(sym.clone()) * &IntExpr::from(sign));
    (sign.abs() == 1 && affine.as_const() == Some(first)).then_some((var, sign, first))
}
