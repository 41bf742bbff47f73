//! Which turns threads share: those of a loop, or those of the lines that each of its turns goes over.
//!
//! A tile of channels goes down all lines of an image before the next one does, so that what windows read of it stays in
//! the first cache. If threads shared tiles of channels, each would read what the others have written: the kernels before
//! and behind it go line by line. So they share lines, and each goes over its own for one tile after the other.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::tir::copy::Bound;
use tenfold_ir::tir::{
    Annotation, BufId, Builder, Expr, ExprId, LoopKind, PrimFunc, Stmt, VarId, Viewer, own_accesses,
};

use crate::tir_passes::vectorize_loop::dependence;

/// Lines that are enough for even shares: with as many, the longest of two, four or seven has a seventh more than a mean one
/// at most.
const LINES: i64 = 7;

/// Whether threads share the lines inside of a loop in the place of its turns: there are enough, no two touch the same
/// elements, and what each thread then reads for itself is less than what it would read of the others.
pub(super) fn shares_lines(func: &PrimFunc, stmt: &Stmt) -> bool {
    let Some(all) = lines(func, stmt) else { return false };
    let vars: BTreeSet<VarId> = all.iter().map(|(var, _)| *var).collect();
    let Stmt::For { var, .. } = stmt else { return false };
    all.iter().all(|(_, extent)| *extent == all[0].1 && *extent >= LINES)
        && further_out(func, stmt, (&vars, *var))
        && nearer(func, stmt, &vars)
        && independent(func, stmt)
}

/// Whether lines are further apart in all results than what the turns of the loop around write.
fn further_out(func: &PrimFunc, stmt: &Stmt, (lines, around): (&BTreeSet<VarId>, VarId)) -> bool {
    let mut inside = Bound::default();
    inside.collect(stmt);
    let mut all = true;
    stmt.walk(&mut |s| {
        let Stmt::Store { buf, index, .. } = s else { return };
        let axis = |of: &BTreeSet<VarId>| index.iter().position(|at| depends(func, [*at], of));
        let apart = axis(lines).zip(axis(&BTreeSet::from([around])));
        all &= inside.bufs.contains(buf) || apart.is_some_and(|(line, around)| line < around);
    });
    all
}

/// Whether expressions depend on one of some variables.
fn depends(func: &PrimFunc, on: impl IntoIterator<Item = ExprId>, vars: &BTreeSet<VarId>) -> bool {
    func.reachable(on).into_iter().any(|id| matches!(func.exprs.get(id), Expr::Var(var) if vars.contains(var)))
}

/// What a loop does, with its lines annotated.
pub(super) fn with_shared_lines(body: Stmt) -> Stmt {
    each_line(body, &mut |line| match line {
        Stmt::For { var, min, extent, kind, mut annotations, body } => {
            annotations.push(Annotation::Shared);
            Stmt::For { var, min, extent, kind, annotations, body }
        }
        other => other,
    })
}

/// What a loop does, with something else in the place of each loop of lines.
fn each_line(body: Stmt, f: &mut dyn FnMut(Stmt) -> Stmt) -> Stmt {
    match body {
        Stmt::At(loc, body) => Stmt::At(loc, Box::new(each_line(*body, f))),
        Stmt::Seq(all) => Stmt::Seq(all.into_iter().map(|s| each_line(s, f)).collect()),
        line => f(line),
    }
}

/// The loops that are all that a loop does, with how many turns they have.
fn lines(func: &PrimFunc, stmt: &Stmt) -> Option<Vec<(VarId, i64)>> {
    let Stmt::For { body, .. } = stmt else { return None };
    let all = match body.bare() {
        Stmt::Seq(all) => all.iter().map(Stmt::bare).collect(),
        one => vec![one],
    };
    let line = |it: &Stmt| match it {
        Stmt::For { var, min, extent, kind: LoopKind::Serial, annotations, .. } if annotations.is_empty() => {
            (func.literal(*min) == Some(0)).then_some((*var, func.literal(*extent)?))
        }
        _ => None,
    };
    all.into_iter().map(line).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
}

/// Whether what all lines read, which each thread would read, is at most half of what lines read and write, of which each
/// thread would read a part that others have written.
fn nearer(func: &PrimFunc, stmt: &Stmt, lines: &BTreeSet<VarId>) -> bool {
    let mut of_lines = lines.clone();
    let mut inside = Bound::default();
    inside.collect(stmt);
    let mut touched: BTreeMap<BufId, bool> = BTreeMap::new();
    stmt.walk(&mut |s| {
        if let Stmt::Let { var, value, .. } = s
            && depends(func, [*value], &of_lines)
        {
            of_lines.insert(*var);
        }
        for access in own_accesses(func, s).into_iter().filter(|it| !inside.bufs.contains(&it.buf)) {
            let along = depends(func, access.index.into_iter().flatten(), &of_lines);
            *touched.entry(access.buf).or_insert(false) |= along;
        }
    });
    let bytes = |along: bool| -> i64 {
        let of = touched.iter().filter(|(_, it)| **it == along);
        of.map(|(buf, _)| func.buffers[buf.0 as usize].bytes().unwrap_or(i64::MAX)).fold(0, i64::saturating_add)
    };
    bytes(false).saturating_mul(2) <= bytes(true)
}

/// Whether a line touches nothing that another one does, for whichever turns of the loop around.
fn independent(func: &PrimFunc, stmt: &Stmt) -> bool {
    let Stmt::For { var, min, extent, kind, annotations, body } = stmt.clone() else { return false };
    let Some(turns) = lines(func, stmt).map(|all| all[0].1) else { return false };
    let mut b = Builder::resume(PrimFunc { body: Stmt::nop(), ..func.clone() });
    let line = b.index_var("line");
    let body = Box::new(each_line(*body, &mut |s| match s {
        Stmt::For { var, body, .. } => Stmt::Let { var, value: b.read(line), body },
        other => other,
    }));
    let around = Stmt::For { var, min, extent, kind, annotations, body };
    let (first, turns) = (b.index(0), b.index(turns));
    let swapped = Stmt::For {
        var: line,
        min: first,
        extent: turns,
        kind: LoopKind::Serial,
        annotations: Vec::new(),
        body: Box::new(around),
    };
    let func = b.finish();
    dependence(&mut Viewer::new(&func), &swapped).is_none()
}
