//! `RemoveNoOp`: what has no effect goes.
//!
//! Runs on any phase. Loops without turns, branches, blocks and variables around nothing, values that nothing uses,
//! allocations that nothing reads together with the stores into them, a store of what is there already, and a store
//! that the next statement overwrites. Every expression is free of effects, so none has to be kept. A `while` stays,
//! for it may not end.

use std::collections::BTreeSet;

use tenfold_ir::Module;
use tenfold_ir::op::UnaryOp;
use tenfold_ir::tir::{Annotation, BufId, Builder, CallArg, Expr, ExprId, PrimFunc, Scope, Stmt, VarId};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("RemoveNoOp", &run)
    .at_level(2)
    .in_phase(PassPhase::Flat)
    .about("drops what has no effect: empty loops and branches, values and stores that nothing reads");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    Ok(rewrite_body(func, |b, mut body| {
        // What goes may have been the last use of something else.
        for _ in 0..ROUNDS {
            let uses = Uses::of(b.func(), &body);
            let before = body.clone();
            body = clean(b, body, &uses);
            if body == before {
                break;
            }
        }
        body
    }))
}

/// Chains of uses longer than this leave a little behind.
const ROUNDS: usize = 4;

/// What a body reads.
struct Uses {
    vars: BTreeSet<VarId>,
    bufs: BTreeSet<BufId>,
}

impl Uses {
    fn of(func: &PrimFunc, body: &Stmt) -> Uses {
        let mut uses = Uses { vars: BTreeSet::new(), bufs: BTreeSet::new() };
        for id in func.exprs_in(body) {
            match func.exprs.get(id) {
                Expr::Var(v) => {
                    uses.vars.insert(*v);
                }
                Expr::Load { buf, .. } => {
                    uses.bufs.insert(*buf);
                }
                _ => {}
            }
        }
        body.walk(&mut |s| uses.buffers(s));
        uses.extents(func);
        uses
    }

    /// What a statement names beside its loads and stores: arguments, regions, views, what passes are asked for.
    fn buffers(&mut self, stmt: &Stmt) {
        let mut named = BTreeSet::new();
        match stmt {
            Stmt::Store { .. } | Stmt::Alloc { .. } => {}
            Stmt::Block(block) => {
                let regions = block.reads.iter().chain(&block.writes).map(|r| r.buf);
                named.extend(regions.chain(block.matches.iter().flat_map(|m| [m.view, m.region.buf])));
                named.extend(block.annotations.iter().filter_map(Annotation::buffer));
            }
            Stmt::For { annotations, .. } => named.extend(annotations.iter().filter_map(Annotation::buffer)),
            Stmt::Prefetch { buf, .. } => {
                named.insert(*buf);
            }
            Stmt::Call { args, .. } => named.extend(args.iter().filter_map(|a| match a {
                CallArg::Buffer(buf) => Some(*buf),
                CallArg::Value(_) => None,
            })),
            Stmt::Seq(_)
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Let { .. }
            | Stmt::Evaluate(_)
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::At(..) => {}
        }
        self.bufs.extend(named);
    }

    /// Extents are made of variables too.
    fn extents(&mut self, func: &PrimFunc) {
        let exprs = func.buffers.iter().flat_map(|b| b.shape.iter().chain(b.strides.iter().flatten()).chain(&b.offset));
        let ranges = func.buffers.iter().flat_map(|b| b.range.iter().flat_map(|(lo, hi)| [lo, hi]));
        let syms: BTreeSet<_> = exprs.chain(ranges).flat_map(|e| e.vars()).collect();
        let named = func.vars.iter().enumerate().filter(|(_, data)| syms.contains(&data.sym));
        self.vars.extend(named.map(|(n, _)| VarId(n as u32)));
    }

    /// Whether a store can be seen by nobody.
    fn dead(&self, func: &PrimFunc, buf: BufId) -> bool {
        let own = matches!(func.buffers[buf.0 as usize].scope, Scope::Global | Scope::Local | Scope::Shared);
        own && !self.bufs.contains(&buf)
    }
}

fn clean(b: &mut Builder, stmt: Stmt, uses: &Uses) -> Stmt {
    let stmt = stmt.map_children(&mut |s| clean(b, s, uses));
    match stmt {
        Stmt::Seq(all) => Stmt::seq(overwritten(b.func(), all)),
        Stmt::For { ref body, extent, .. } => {
            let none = matches!(b.func().exprs.get(extent), Expr::Index(n) if *n <= 0);
            if none || body.is_nop() { Stmt::nop() } else { stmt }
        }
        Stmt::If { cond, then, otherwise } => branch(b, cond, *then, otherwise.map(|s| *s)),
        Stmt::Let { var, value, body } => {
            if body.is_nop() || !uses.vars.contains(&var) {
                *body
            } else {
                Stmt::Let { var, value, body }
            }
        }
        Stmt::Alloc { buf, body } => {
            if body.is_nop() || uses.dead(b.func(), buf) {
                *body
            } else {
                Stmt::Alloc { buf, body }
            }
        }
        Stmt::Store { buf, ref index, value, .. } => {
            let same = matches!(b.func().exprs.get(value), Expr::Load { buf: from, index: at, .. } if *from == buf && at == index);
            if same || uses.dead(b.func(), buf) { Stmt::nop() } else { stmt }
        }
        Stmt::Block(ref block) => {
            let nothing = block.body.is_nop() && block.init.as_ref().is_none_or(Stmt::is_nop);
            if nothing { Stmt::nop() } else { stmt }
        }
        Stmt::Evaluate(_) => Stmt::nop(),
        Stmt::At(loc, body) => {
            if body.is_nop() {
                *body
            } else {
                Stmt::At(loc, body)
            }
        }
        Stmt::While { .. } | Stmt::Call { .. } | Stmt::Barrier(_) | Stmt::Assert { .. } | Stmt::Prefetch { .. } => stmt,
    }
}

fn branch(b: &mut Builder, cond: ExprId, then: Stmt, otherwise: Option<Stmt>) -> Stmt {
    match (then, otherwise.filter(|s| !s.is_nop())) {
        (then, None) if then.is_nop() => then,
        (then, Some(other)) if then.is_nop() => {
            let cond = match *b.func().exprs.get(cond) {
                Expr::Unary(UnaryOp::Not, inner) => inner,
                _ => b.unary(UnaryOp::Not, cond),
            };
            Stmt::If { cond, then: Box::new(other), otherwise: None }
        }
        (then, other) => Stmt::If { cond, then: Box::new(then), otherwise: other.map(Box::new) },
    }
}

/// Without stores that the statement behind them overwrites unread.
fn overwritten(func: &PrimFunc, all: Vec<Stmt>) -> Vec<Stmt> {
    let mut kept: Vec<Stmt> = Vec::new();
    for stmt in all {
        if let (Some(Stmt::Store { buf: old, index: at, .. }), Stmt::Store { buf, index, .. }) = (kept.last(), &stmt)
            && (old, at) == (buf, index)
            && !reads(func, &stmt, *buf)
        {
            kept.pop();
        }
        kept.push(stmt);
    }
    kept
}

fn reads(func: &PrimFunc, stmt: &Stmt, buf: BufId) -> bool {
    let loads = |id: ExprId| matches!(func.exprs.get(id), Expr::Load { buf: from, .. } if *from == buf);
    func.exprs_in(stmt).into_iter().any(loads)
}
