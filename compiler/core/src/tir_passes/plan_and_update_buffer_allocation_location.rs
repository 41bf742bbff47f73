//! `PlanAndUpdateBufferAllocationLocation`: a buffer is allocated as near to its uses as it can be.
//!
//! Runs on any phase. An allocation moves inward to the lowest place around all statements that touch the buffer: past
//! statements that do not, into a branch, and into a loop each of whose iterations writes all that it reads before it
//! reads it (what one iteration leaves is then of no use to the next). What a loop carries stays outside of it.

use tenfold_ir::Module;
use tenfold_ir::arith::{Domain, IntExpr, Range, Rectangle, touched};
use tenfold_ir::tir::{Annotation, BufId, Builder, PrimFunc, Stmt, Viewer, own_accesses};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("PlanAndUpdateBufferAllocationLocation", &run)
    .in_phase(PassPhase::Loops)
    .lowering()
    .about("moves allocations inward to the lowest place around all uses");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    if !func.body.any(&mut |s| matches!(s, Stmt::Alloc { .. })) {
        return Ok(func);
    }
    let before = func.clone();
    Ok(rewrite_body(func, |b, body| {
        body.map(&mut |stmt| match stmt {
            Stmt::Alloc { buf, body } => sink(b, &before, buf, *body),
            other => other,
        })
    }))
}

/// The body with the allocation as deep as it can be.
fn sink(b: &mut Builder, func: &PrimFunc, buf: BufId, body: Stmt) -> Stmt {
    let here = |body: Stmt| Stmt::Alloc { buf, body: Box::new(body) };
    let fixed = func.buffers[buf.0 as usize].shape.iter().all(|d| d.as_const().is_some());
    match body {
        Stmt::Seq(mut all) => {
            let uses = |s: &Stmt| touches(b, s, buf);
            let (Some(first), Some(last)) = (all.iter().position(uses), all.iter().rposition(uses)) else {
                return Stmt::Seq(all);
            };
            let rest = all.split_off(last + 1);
            let inner = all.split_off(first);
            let inner = if inner.len() == 1 {
                inner.into_iter().map(|s| sink(b, func, buf, s)).collect()
            } else {
                vec![here(Stmt::Seq(inner))]
            };
            Stmt::seq(all.into_iter().chain(inner).chain(rest))
        }
        Stmt::For { var, min, extent, kind, annotations, body } if fixed && plain(&annotations) => {
            let own = !reads(b, &[min, extent], buf) && starts_anew(b.func(), &body, buf);
            let body = Box::new(if own { sink(b, func, buf, *body) } else { *body });
            let stmt = Stmt::For { var, min, extent, kind, annotations, body };
            if own { stmt } else { here(stmt) }
        }
        Stmt::If { cond, then, otherwise: None } if !reads(b, &[cond], buf) => {
            Stmt::If { cond, then: Box::new(sink(b, func, buf, *then)), otherwise: None }
        }
        Stmt::Let { var, value, body } if !reads(b, &[value], buf) => {
            Stmt::Let { var, value, body: Box::new(sink(b, func, buf, *body)) }
        }
        Stmt::At(loc, body) => Stmt::At(loc, Box::new(sink(b, func, buf, *body))),
        Stmt::Alloc { buf: other, body } => Stmt::Alloc { buf: other, body: Box::new(sink(b, func, buf, *body)) },
        other if touches(b, &other, buf) => here(other),
        other => other,
    }
}

/// Whether nothing is asked of a loop that memory inside of it would be in the way of.
fn plain(annotations: &[Annotation]) -> bool {
    annotations.iter().all(|a| matches!(a, Annotation::AutoParallel | Annotation::PrefetchNext { .. }))
}

fn touches(b: &Builder, stmt: &Stmt, buf: BufId) -> bool {
    stmt.any(&mut |s| {
        let named = match s {
            Stmt::Prefetch { buf: other, .. } => *other == buf,
            Stmt::Block(block) => {
                let regions = block.reads.iter().chain(&block.writes).any(|r| r.buf == buf);
                regions || block.matches.iter().any(|m| m.region.buf == buf)
            }
            _ => false,
        };
        named || own_accesses(b.func(), s).iter().any(|a| a.buf == buf)
    })
}

fn reads(b: &Builder, exprs: &[tenfold_ir::tir::ExprId], buf: BufId) -> bool {
    let loads = |e| matches!(b.func().exprs.get(e), tenfold_ir::tir::Expr::Load { buf: from, .. } if *from == buf);
    b.func().reachable(exprs.iter().copied()).into_iter().any(loads)
}

/// Whether every run of a body writes all that it reads of a buffer before it reads it, as far as can be seen: its first
/// statement that touches the buffer is a nest of loops that writes it everywhere later ones read it.
fn starts_anew(func: &PrimFunc, body: &Stmt, buf: BufId) -> bool {
    let body = inner(body);
    let items: Vec<&Stmt> = match body {
        Stmt::Seq(all) => all.iter().collect(),
        other => vec![other],
    };
    let uses = |s: &&&Stmt| s.any(&mut |s| own_accesses(func, s).iter().any(|a| a.buf == buf));
    let mut users = items.iter().filter(uses);
    let Some(first) = users.next() else { return true };
    let mut v = Viewer::new(func);
    let Some(written) = filled(&mut v, first, buf, &Domain::new()) else { return false };
    users.all(|stmt| {
        let mut covered = true;
        within(&mut v, stmt, buf, &Domain::new(), &mut |v, index, write, domain| {
            covered &= write || index.is_some_and(|i| written.covers(&touched(&i, domain, &v.prover), &v.prover));
        });
        covered
    })
}

/// What a block without a condition of its own, or a place of the source, holds.
fn inner(stmt: &Stmt) -> &Stmt {
    match stmt {
        Stmt::At(_, body) => inner(body),
        Stmt::Block(block) if block.iters.is_empty() && block.predicate.is_none() && block.init.is_none() => {
            inner(&block.body)
        }
        other => other,
    }
}

/// What a nest of loops around one store writes, if that is a whole rectangle.
fn filled(v: &mut Viewer<'_>, stmt: &Stmt, buf: BufId, domain: &Domain) -> Option<Rectangle> {
    match inner(stmt) {
        Stmt::For { var, min, extent, body, .. } => {
            let mut domain = domain.clone();
            domain.push(v.sym(*var), Range::new(v.int(*min), v.int(*extent)));
            filled(v, body, buf, &domain)
        }
        Stmt::Store { buf: to, index, value, .. } if *to == buf => {
            let loads =
                |e| matches!(v.func().exprs.get(e), tenfold_ir::tir::Expr::Load { buf: from, .. } if *from == buf);
            if v.func().reachable(index.iter().copied().chain([*value])).into_iter().any(loads) {
                return None;
            }
            let index: Vec<IntExpr> = index.iter().map(|i| v.int(*i)).collect();
            whole(&index, domain).then(|| touched(&index, domain, &v.prover))
        }
        _ => None,
    }
}

/// Whether each index is a loop's variable of its own, or one value: the points touched are a rectangle without holes.
fn whole(index: &[IntExpr], domain: &Domain) -> bool {
    let mut used = Vec::new();
    let apart = index.iter().all(|i| match i.as_var() {
        Some(sym) if domain.binds(sym) => {
            let new = !used.contains(sym);
            used.push(sym.clone());
            new
        }
        _ => !domain.binds_any_of(i),
    });
    // A range that follows another loop's variable is no rectangle's side.
    apart && domain.loops().iter().all(|(_, r)| !domain.binds_any_of(&r.min) && !domain.binds_any_of(&r.extent))
}

type Seen<'a> = dyn FnMut(&Viewer<'_>, Option<Vec<IntExpr>>, bool, &Domain) + 'a;

/// Calls `f` with every access of a buffer inside of a statement.
fn within(v: &mut Viewer<'_>, stmt: &Stmt, buf: BufId, domain: &Domain, f: &mut Seen<'_>) {
    for access in own_accesses(v.func(), stmt).into_iter().filter(|a| a.buf == buf) {
        let index = access.index.map(|all| all.into_iter().map(|i| v.int(i)).collect());
        f(v, index, access.write, domain);
    }
    let mut inner = domain.clone();
    if let Stmt::For { var, min, extent, .. } = stmt {
        inner.push(v.sym(*var), Range::new(v.int(*min), v.int(*extent)));
    }
    stmt.children().into_iter().for_each(|s| within(v, s, buf, &inner, f));
}
