//! `ConvertBlocksToOpaque`: a block's iterators are written out as what they are bound to.
//!
//! Behind `LowerInitBlock`, which asks for them. What stays of a block is its body, where it runs, what it touches, and
//! the buffers and views that live in it.

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::tir::{Builder, ExprId, Phase, PrimFunc, Stmt, VarId, copy, substitution};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("ConvertBlocksToOpaque", &run)
    .in_phase(PassPhase::Loops)
    .lowering()
    .about("writes iterators of blocks out as what they are bound to");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    if func.body.any(&mut |s| matches!(s, Stmt::Block(block) if block.init.is_some())) {
        return Err(CompileError::internal(func.loc, format!("`{}`: a block still has an init", func.name)));
    }
    let func = rewrite_body(func, |b, body| {
        let mut bound = BTreeMap::new();
        values(b, &body, &mut bound);
        let body = body.map(&mut |stmt| match stmt {
            Stmt::Block(mut block) => {
                block.iters.clear();
                Stmt::Block(block)
            }
            other => other,
        });
        if bound.is_empty() { body } else { copy::substitute(b, body, &bound) }
    });
    let phase = func.phase.max(Phase::Scheduled);
    // Others stand for buffers whose extents or ranges named an iterator, which is no variable any more.
    Ok(copy::keep_buffers(PrimFunc { phase, ..func }))
}

/// What each iterator is in terms of loops. Outer blocks first: a value may name their iterators.
fn values(b: &mut Builder, stmt: &Stmt, bound: &mut BTreeMap<VarId, ExprId>) {
    if let Stmt::Block(block) = stmt {
        let own: Vec<ExprId> = block.iters.iter().map(|i| i.value).collect();
        let own = substitution(bound).exprs(b, &own);
        bound.extend(block.iters.iter().map(|i| i.var).zip(own));
    }
    stmt.children().into_iter().for_each(|s| values(b, s, bound));
}
