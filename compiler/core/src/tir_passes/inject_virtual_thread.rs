//! `InjectVirtualThread`: virtual threads become one, their statements interleaved. (TVM: the pass of that name.)
//!
//! Runs on plain loops. Each statement is copied out for every virtual thread in turn before the next one, so that a
//! barrier stands once for all of them; loops and branches that are alike for all stay one. What is allocated inside is
//! each one's own. A loop over virtual threads needs a constant extent. What each computes never changes.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::tir::copy::{Replace, apply, copy};
use tenfold_ir::tir::{Builder, Expr, ExprId, LoopKind, PrimFunc, Stmt, VarId};

use super::kernel::{Made, constant, refuse, try_body, try_children, with_alloc};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("InjectVirtualThread", &inject_virtual_thread)
    .in_phase(PassPhase::Flat)
    .lowering()
    .about("interleaves the statements of virtual threads");

fn inject_virtual_thread(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    try_body(func, stmt)
}

fn stmt(b: &mut Builder, it: Stmt) -> Made {
    let Stmt::For { var, min, extent, kind: LoopKind::VThread, body, .. } = it else {
        return try_children(it, &mut |s| stmt(b, s));
    };
    let body = stmt(b, *body)?;
    let help = "split the loop by a constant, and bind its outer part";
    let count = constant(b.func(), extent);
    let count = count.ok_or_else(|| refuse(b.func(), "the number of virtual threads is no constant", help))?;
    let mut threads = Vec::new();
    for i in 0..count {
        let step = b.index(i);
        let value = if constant(b.func(), min) == Some(0) { step } else { b.add(min, step) };
        threads.push(Replace { vars: BTreeMap::from([(var, value)]), bufs: BTreeMap::new() });
    }
    if threads.is_empty() {
        return Ok(Stmt::nop());
    }
    Interleave { b, threads }.stmt(body)
}

struct Interleave<'b> {
    b: &'b mut Builder,
    /// What stands for what in each of them.
    threads: Vec<Replace>,
}

impl Interleave<'_> {
    fn stmt(&mut self, stmt: Stmt) -> Made {
        match stmt {
            Stmt::Seq(_) => try_children(stmt, &mut |s| self.stmt(s)),
            Stmt::Barrier(_) => Ok(stmt),
            Stmt::For { .. } | Stmt::If { .. } | Stmt::While { .. }
                if stmt.exprs().into_iter().all(|e| self.alike(e)) && !matches!(stmt, Stmt::While { .. }) =>
            {
                try_children(stmt, &mut |s| self.stmt(s))
            }
            Stmt::At(..) => try_children(stmt, &mut |s| self.stmt(s)),
            Stmt::Let { var, value, body } => self.let_(var, value, *body),
            Stmt::Alloc { buf, body } => {
                let mut own = vec![buf];
                for i in 1..self.threads.len() {
                    let data = self.b.buf(buf).clone();
                    let new = self.b.buffer(&data.name, data.dtype, data.shape.clone(), data.scope);
                    let name = self.b.buf(new).name.clone();
                    *self.b.buf_mut(new) = tenfold_ir::tir::BufferData { name, ..data };
                    self.threads[i].bufs.insert(buf, new);
                    own.push(new);
                }
                let body = self.stmt(*body)?;
                Ok(own.into_iter().rev().fold(body, |body, buf| with_alloc(buf, body)))
            }
            Stmt::For { .. }
            | Stmt::If { .. }
            | Stmt::While { .. }
            | Stmt::Store { .. }
            | Stmt::Block(_)
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. } => self.each(stmt),
        }
    }

    /// Whether an expression is the same in all of them.
    fn alike(&self, e: ExprId) -> bool {
        let func = self.b.func();
        let (vars, bufs): (BTreeSet<VarId>, BTreeSet<_>) = (
            self.threads.iter().flat_map(|t| t.vars.keys().copied()).collect(),
            self.threads.iter().flat_map(|t| t.bufs.keys().copied()).collect(),
        );
        func.reachable([e]).into_iter().all(|e| match func.exprs.get(e) {
            Expr::Var(v) => !vars.contains(v),
            Expr::Load { buf, .. } => !bufs.contains(buf),
            _ => true,
        })
    }

    fn let_(&mut self, var: VarId, value: ExprId, body: Stmt) -> Made {
        let mut bound = Vec::new();
        for i in 0..self.threads.len() {
            let own = match i {
                0 => var,
                _ => {
                    let data = self.b.func().vars[var.0 as usize].clone();
                    self.b.var(data.sym.as_str(), data.ty)
                }
            };
            let replace = self.threads[i].clone();
            let value = match apply(self.b, Stmt::Evaluate(value), &replace) {
                Stmt::Evaluate(e) => e,
                _ => value,
            };
            let read = self.b.read(own);
            self.threads[i].vars.insert(var, read);
            bound.push((own, value));
        }
        let body = self.stmt(body)?;
        let wrap = |body, (var, value)| Stmt::Let { var, value, body: Box::new(body) };
        Ok(bound.into_iter().rev().fold(body, wrap))
    }

    /// A statement for one after the other.
    fn each(&mut self, stmt: Stmt) -> Made {
        if stmt.any(&mut |s| matches!(s, Stmt::Barrier(_))) {
            let help = "let all virtual threads take the branch or loop alike";
            return Err(refuse(self.b.func(), "virtual threads come to a barrier differently", help));
        }
        let mut all = Vec::new();
        for (i, replace) in self.threads.clone().into_iter().enumerate() {
            let bufs = Replace { vars: BTreeMap::new(), bufs: replace.bufs.clone() };
            let own = apply(self.b, stmt.clone(), &bufs);
            all.push(match i {
                0 => apply(self.b, own, &replace),
                _ => copy(self.b, &own, &replace.vars),
            });
        }
        Ok(Stmt::seq(all))
    }
}
