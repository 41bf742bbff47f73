//! `LowerBlocks`: blocks become plain statements. (TVM: LowerInitBlock and ConvertBlocksToOpaque.)
//!
//! An iterator becomes a `let` of what it is bound to, a predicate an `if`, an init an `if` on every reduce iterator
//! being at 0.

use tenfold_ir::Module;
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::{Block, Builder, ExprId, IterKind, PrimFunc, Stmt};

use super::each_prim;
use crate::CompileError;
use crate::pass::PassContext;

/// Runs on every prim-func.
pub fn lower_blocks(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    each_prim(module, |mut func| {
        let body = std::mem::replace(&mut func.body, Stmt::Seq(Vec::new()));
        let mut b = Builder::resume(func);
        let body = lower(&mut b, body);
        b.push(body);
        let func = b.finish();
        PrimFunc { phase: func.phase.max(tenfold_ir::tir::Phase::Scheduled), ..func }
    });
    Ok(())
}

fn lower(b: &mut Builder, stmt: Stmt) -> Stmt {
    let mut boxed = |s: Box<Stmt>| Box::new(lower(b, *s));
    match stmt {
        Stmt::Seq(all) => Stmt::Seq(all.into_iter().map(|s| lower(b, s)).collect()),
        Stmt::For { var, min, extent, kind, body } => Stmt::For { var, min, extent, kind, body: boxed(body) },
        Stmt::While { cond, body } => Stmt::While { cond, body: boxed(body) },
        Stmt::If { cond, then, otherwise } => {
            let then = boxed(then);
            Stmt::If { cond, then, otherwise: otherwise.map(boxed) }
        }
        Stmt::Let { var, value, body } => Stmt::Let { var, value, body: boxed(body) },
        Stmt::Alloc { buf, body } => Stmt::Alloc { buf, body: boxed(body) },
        Stmt::At(loc, body) => Stmt::At(loc, boxed(body)),
        Stmt::Block(block) => lower_block(b, *block),
        Stmt::Store { .. } | Stmt::Evaluate(_) | Stmt::Call { .. } => stmt,
    }
}

fn lower_block(b: &mut Builder, block: Block) -> Stmt {
    let body = lower(b, block.body);
    let body = match block.init {
        None => body,
        Some(init) => {
            let init = lower(b, init);
            let reduce: Vec<ExprId> =
                block.iters.iter().filter(|i| i.kind == IterKind::Reduce).map(|i| b.read(i.var)).collect();
            Stmt::Seq(vec![at_start(b, &reduce, init), body])
        }
    };
    let body = match block.predicate {
        None => body,
        Some(cond) => Stmt::If { cond, then: Box::new(body), otherwise: None },
    };
    block.iters.into_iter().rev().fold(body, |body, iter| Stmt::Let {
        var: iter.var,
        value: iter.value,
        body: Box::new(body),
    })
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
