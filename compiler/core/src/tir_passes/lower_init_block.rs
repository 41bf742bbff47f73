//! `LowerInitBlock`: what a reduction starts with becomes a branch of the block's body.
//!
//! Runs while blocks still have iterators. The branch asks whether every reduce iterator is at 0; a block without any
//! starts with its init.

use tenfold_ir::Module;
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::{Block, Builder, ExprId, IterKind, PrimFunc, Stmt};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("LowerInitBlock", &run)
    .in_phase(PassPhase::Loops)
    .lowering()
    .about("makes a branch of what a reduction starts with");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    Ok(rewrite_body(func, |b, body| {
        body.map(&mut |stmt| match stmt {
            Stmt::Block(block) => Stmt::Block(Box::new(lower(b, *block))),
            other => other,
        })
    }))
}

fn lower(b: &mut Builder, block: Block) -> Block {
    let Some(init) = block.init else { return block };
    let reduce = block.iters.iter().filter(|i| i.kind == IterKind::Reduce).map(|i| i.var).collect::<Vec<_>>();
    let reduce: Vec<ExprId> = reduce.into_iter().map(|var| b.read(var)).collect();
    let body = Stmt::seq([at_start(b, &reduce, init), block.body]);
    Block { init: None, body, ..block }
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
