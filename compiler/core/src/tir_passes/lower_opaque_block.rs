//! `LowerOpaqueBlock`: what stays of blocks becomes plain statements.
//!
//! Behind `ConvertBlocksToOpaque` and `LowerMatchBuffer`: a block has neither iterators nor views. Its buffers become
//! allocations, its predicate a branch; what it reads and writes and what it asks of passes is forgotten.

use tenfold_ir::Module;
use tenfold_ir::tir::{Block, Phase, PrimFunc, Stmt};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("LowerOpaqueBlock", &run)
    .in_phase(PassPhase::Loops)
    .lowering()
    .about("turns blocks into plain loops");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    if let Some(name) = early(&func.body) {
        let text = format!("`{}`: block `{name}` still has iterators, an init or views", func.name);
        return Err(CompileError::internal(func.loc, text));
    }
    let func = rewrite_body(func, |_, body| {
        body.map(&mut |stmt| match stmt {
            Stmt::Block(block) => lower(*block),
            other => other,
        })
    });
    let phase = func.phase.max(Phase::Scheduled);
    Ok(PrimFunc { phase, ..func })
}

/// A block that the passes before have not seen.
fn early(body: &Stmt) -> Option<String> {
    let mut found = None;
    body.walk(&mut |stmt| match stmt {
        Stmt::Block(b) if !b.iters.is_empty() || b.init.is_some() || !b.matches.is_empty() => {
            found = Some(b.name.clone())
        }
        _ => {}
    });
    found
}

fn lower(block: Block) -> Stmt {
    let body = match block.predicate {
        None => block.body,
        Some(cond) => Stmt::If { cond, then: Box::new(block.body), otherwise: None },
    };
    block.allocs.into_iter().rev().fold(body, |body, buf| Stmt::Alloc { buf, body: Box::new(body) })
}
