//! `HoistIfThenElse`: a condition that a loop does not change is asked once, outside.
//!
//! Runs on any phase. It moves the condition of a branch that is all of a loop's body, and through every loop around
//! that allows it. The condition must not name the loop's variable nor read memory: a load that is in bounds inside of
//! a loop need not be where the loop has no turns. Loops bound to threads keep their bodies.

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::tir::copy::{stem, substitute};
use tenfold_ir::tir::{Builder, Expr, ExprId, LoopKind, PrimFunc, Stmt, VarId};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("HoistIfThenElse", &run)
    .at_level(2)
    .in_phase(PassPhase::Flat)
    .about("asks conditions that a loop does not change outside of it");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    Ok(rewrite_body(func, hoist))
}

fn hoist(b: &mut Builder, stmt: Stmt) -> Stmt {
    let stmt = stmt.map_children(&mut |s| hoist(b, s));
    let Stmt::For { var, min, extent, kind, annotations, body } = stmt else { return stmt };
    match only_branch(*body) {
        Ok((cond, then, otherwise)) if free(b, cond, var) && !matches!(kind, LoopKind::ThreadBound(_)) => {
            let otherwise = otherwise.map(|other| {
                let name = stem(b.sym(var).as_str()).to_string();
                let var2 = b.var(&name, b.func().vars[var.0 as usize].ty);
                let value = b.read(var2);
                let body = Box::new(substitute(b, other, &BTreeMap::from([(var, value)])));
                Box::new(Stmt::For { var: var2, min, extent, kind, annotations: annotations.clone(), body })
            });
            let then = Box::new(Stmt::For { var, min, extent, kind, annotations, body: Box::new(then) });
            Stmt::If { cond, then, otherwise }
        }
        Ok((cond, then, otherwise)) => {
            let body = Box::new(Stmt::If { cond, then: Box::new(then), otherwise: otherwise.map(Box::new) });
            Stmt::For { var, min, extent, kind, annotations, body }
        }
        Err(body) => Stmt::For { var, min, extent, kind, annotations, body: Box::new(body) },
    }
}

/// The branch that a body is, or the body.
fn only_branch(body: Stmt) -> Result<(ExprId, Stmt, Option<Stmt>), Stmt> {
    match body {
        Stmt::If { cond, then, otherwise } => Ok((cond, *then, otherwise.map(|s| *s))),
        Stmt::Seq(mut all) if all.len() == 1 => only_branch(all.remove(0)),
        other => Err(other),
    }
}

fn free(b: &Builder, cond: ExprId, var: VarId) -> bool {
    b.func().reachable([cond]).into_iter().all(|e| match b.func().exprs.get(e) {
        Expr::Var(v) => *v != var,
        Expr::Load { .. } => false,
        _ => true,
    })
}
