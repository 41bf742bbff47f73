//! `LowerBlocks`: blocks become plain statements. (TVM: LowerInitBlock and ConvertBlocksToOpaque.)
//!
//! An iterator becomes what it is bound to, a predicate an `if`, an init an `if` on every reduce iterator being at 0.

use tenfold_ir::Module;
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::{Block, Builder, Expr, ExprId, ExprMap, IterKind, PrimFunc, Stmt, VarId};

use super::each_prim;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("LowerBlocks", &lower_blocks)
    .in_phase(PassPhase::Loops)
    .lowering()
    .about("turns blocks into plain loops");

/// Runs on every prim-func.
pub(crate) fn lower_blocks(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    each_prim(module, |mut func| {
        let body = std::mem::replace(&mut func.body, Stmt::Seq(Vec::new()));
        let mut b = Builder::resume(func);
        let mut bound = Vec::new();
        let mut body = lower(&mut b, body, &mut bound);
        // What an iterator is bound to may name iterators of blocks around it.
        while !bound.is_empty() && body_uses(&b, &body, &bound) {
            body = substitute(&mut b, body, &bound);
        }
        b.push(body);
        let func = b.finish();
        PrimFunc { phase: func.phase.max(tenfold_ir::tir::Phase::Scheduled), ..func }
    });
    Ok(())
}

/// Iterators and what they are bound to.
type Bound = Vec<(VarId, ExprId)>;

fn substitute(b: &mut Builder, body: Stmt, bound: &Bound) -> Stmt {
    let replace = |b: &mut Builder, id: ExprId| match b.func().exprs.get(id) {
        Expr::Var(v) => bound.iter().find(|(var, _)| var == v).map_or(id, |(_, value)| *value),
        _ => id,
    };
    ExprMap::new(replace).stmt(b, body)
}

/// Whether an iterator is still named.
fn body_uses(b: &Builder, body: &Stmt, bound: &Bound) -> bool {
    let mut found = false;
    let mut scratch = Builder::resume(b.func().clone());
    let look = |b: &mut Builder, id: ExprId| {
        if let Expr::Var(v) = b.func().exprs.get(id) {
            found |= bound.iter().any(|(var, _)| var == v);
        }
        id
    };
    ExprMap::new(look).stmt(&mut scratch, body.clone());
    found
}

fn lower(b: &mut Builder, stmt: Stmt, bound: &mut Bound) -> Stmt {
    match stmt {
        Stmt::Block(block) => lower_block(b, *block, bound),
        other => other.map_children(&mut |s| lower(b, s, bound)),
    }
}

fn lower_block(b: &mut Builder, block: Block, bound: &mut Bound) -> Stmt {
    let body = lower(b, block.body, bound);
    let body = match block.init {
        None => body,
        Some(init) => {
            let init = lower(b, init, bound);
            let reduce: Vec<ExprId> =
                block.iters.iter().filter(|i| i.kind == IterKind::Reduce).map(|i| b.read(i.var)).collect();
            Stmt::Seq(vec![at_start(b, &reduce, init), body])
        }
    };
    let body = match block.predicate {
        None => body,
        Some(cond) => Stmt::If { cond, then: Box::new(body), otherwise: None },
    };
    bound.extend(block.iters.iter().map(|i| (i.var, i.value)));
    block.allocs.into_iter().rev().fold(body, |body, buf| Stmt::Alloc { buf, body: Box::new(body) })
}

/// `init` where every one of `vars` is 0.
fn at_start(b: &mut Builder, vars: &[ExprId], init: Stmt) -> Stmt {
    let zero = b.index(0);
    let mut cond = None;
    for var in vars {
        let here = b.compare(CmpOp::Eq, *var, zero);
        cond = Some(match cond {
            None => here,
            Some(all) => b.and(all, here),
        });
    }
    match cond {
        None => init,
        Some(cond) => Stmt::If { cond, then: Box::new(init), otherwise: None },
    }
}
