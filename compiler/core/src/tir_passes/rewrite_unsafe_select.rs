//! `RewriteUnsafeSelect`: a choice of which both values are evaluated must not read what only one may read.
//!
//! Runs on any phase. Where an access inside a `select` is not proven without the choice's condition, the `select`
//! becomes an `if`, of which only the branch taken is evaluated. Loads are all there is to fear: arithmetic is total.
//! A choice lane by lane has no such form; `VectorizeLoop` makes none that would need it, and one that reads what the
//! user vouched for is an error.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{Access, BufId, Builder, Expr, ExprId, Phase, PrimFunc, Stmt, Viewer, map_operands, operands};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("RewriteUnsafeSelect", &run)
    .in_phase(PassPhase::Flat)
    .about("evaluates only the value taken of a choice that reads what the other case may not");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    let unsafe_ones = find(&func);
    if unsafe_ones.iter().any(|id| func.exprs.ty(*id).lanes > 1) {
        let text = format!("`{}`: a choice of lanes reads what one lane may not read", func.name);
        return Err(CompileError::internal(func.loc, text));
    }
    if unsafe_ones.is_empty() {
        return Ok(func);
    }
    Ok(rewrite_body(func, |b, body| Work { unsafe_ones: &unsafe_ones, memo: BTreeMap::new() }.stmt(b, body)))
}

/// Every `select` with a load that its condition guards.
fn find(func: &PrimFunc) -> BTreeSet<ExprId> {
    let mut found = BTreeSet::new();
    let choices = func.exprs_in(&func.body).into_iter().any(|e| matches!(func.exprs.get(e), Expr::Select(..)));
    if choices {
        Viewer::new(func).walk(&func.body, &mut |viewer, stmt| {
            for id in stmt.exprs() {
                look(viewer, id, &mut found);
            }
        });
    }
    found
}

fn look(v: &mut Viewer<'_>, id: ExprId, found: &mut BTreeSet<ExprId>) {
    match v.func().exprs.get(id) {
        Expr::If(c, x, y) => {
            look(v, *c, found);
            v.scope(|v| {
                v.assume_holds(*c);
                look(v, *x, found);
            });
            v.scope(|v| {
                v.assume_fails(*c);
                look(v, *y, found);
            });
        }
        Expr::Select(c, x, y) => {
            [c, x, y].into_iter().for_each(|e| look(v, *e, found));
            let lanes = v.func().exprs.ty(id).lanes > 1;
            if !safe(v, *x, lanes) || !safe(v, *y, lanes) {
                found.insert(id);
            }
        }
        expr => operands(expr).into_iter().for_each(|e| look(v, e, found)),
    }
}

/// Whether evaluating an expression reads nothing out of bounds, for a choice of one value or lane by lane.
fn safe(v: &mut Viewer<'_>, id: ExprId, lanes: bool) -> bool {
    if !v.func().loads(id) {
        return true;
    }
    match v.func().exprs.get(id) {
        Expr::If(c, x, y) => {
            let taken = v.scope(|v| {
                v.assume_holds(*c);
                safe(v, *x, lanes)
            });
            let other = v.scope(|v| {
                v.assume_fails(*c);
                safe(v, *y, lanes)
            });
            safe(v, *c, lanes) && taken && other
        }
        Expr::Load { buf, index, access } => {
            // With one index per access a proof is no longer found by parts; with the axes it was, for every lane that
            // reads an element of its own or the same one.
            let known = lanes && v.func().phase >= Phase::Flat;
            let inside = *access == Access::Proven && (known || inside(v, *buf, index));
            inside && index.iter().all(|i| safe(v, *i, lanes))
        }
        expr => operands(expr).into_iter().all(|e| safe(v, e, lanes)),
    }
}

fn inside(v: &mut Viewer<'_>, buf: BufId, index: &[ExprId]) -> bool {
    let data = &v.func().buffers[buf.0 as usize];
    data.strides.is_none()
        && index.iter().zip(&data.shape).all(|(i, extent)| {
            let ends = ends(v, *i);
            ends.iter().all(|e| v.prover.prove_ge0(e) && v.prover.prove_lt(e, extent))
        })
}

/// The value of an index, or the first and last of a ramp's.
fn ends(v: &mut Viewer<'_>, i: ExprId) -> Vec<IntExpr> {
    match *v.func().exprs.get(i) {
        Expr::Ramp(base, stride, lanes) => {
            let (base, stride) = (v.int(base), v.int(stride));
            let last = &base + &(&stride * &IntExpr::from(i64::from(lanes) - 1));
            vec![base, last]
        }
        _ => vec![v.int(i)],
    }
}

struct Work<'a> {
    unsafe_ones: &'a BTreeSet<ExprId>,
    memo: BTreeMap<ExprId, ExprId>,
}

impl Work<'_> {
    fn stmt(&mut self, b: &mut Builder, stmt: Stmt) -> Stmt {
        stmt.map(&mut |s| s.map_exprs(&mut |id| self.expr(b, id)))
    }

    fn expr(&mut self, b: &mut Builder, id: ExprId) -> ExprId {
        if let Some(done) = self.memo.get(&id) {
            return *done;
        }
        let ty = b.ty(id);
        let expr = map_operands(b.func().exprs.get(id).clone(), &mut |e| self.expr(b, e));
        let expr = match expr {
            Expr::Select(c, x, y) if self.unsafe_ones.contains(&id) => Expr::If(c, x, y),
            other => other,
        };
        let new = b.raw(expr, ty);
        self.memo.insert(id, new);
        new
    }
}
