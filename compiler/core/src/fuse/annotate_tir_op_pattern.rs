//! `AnnotateTIROpPattern`: every prim-func is told what kind of operator it is, by analysis of its loops.
//!
//! Runs on any phase that still has blocks; functions without them are opaque. Nothing but the annotation changes.

use tenfold_ir::Module;
use tenfold_ir::tir::PrimFunc;

use super::pattern::kind_of;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("AnnotateTIROpPattern", &annotate).in_phase(PassPhase::Fusion).about(
    "says of every prim-func whether it is elementwise, a reduction, a contraction, …, by what it reads and writes",
);

/// Runs on every prim-func that has no annotation yet.
fn annotate(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    let pattern = func.pattern.unwrap_or_else(|| kind_of(&func).pattern);
    Ok(PrimFunc { pattern: Some(pattern), ..func })
}
