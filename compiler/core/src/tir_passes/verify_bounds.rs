//! `VerifyBounds`: the proof of every access is redone, in every build.
//!
//! The functions that users call are safe because each index is inside its axis. The front end and the kernels' makers
//! have proven it; this pass depends on neither.

use tenfold_ir::tir::{PrimFunc, Unproven, unproven};
use tenfold_ir::{Function, Module};

use crate::pass::{Pass, PassContext, PassPhase};
use crate::{CompileError, ErrorKind};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("VerifyBounds", &verify_bounds)
    .in_phase(PassPhase::Blocks)
    .lowering()
    .about("redoes the proof of every access; changes nothing");

/// Runs on every prim-func.
pub(crate) fn verify_bounds(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    for function in module.functions.values() {
        if let Function::Prim(func) = function
            && let Some(first) = unproven(func).into_iter().next()
        {
            return Err(error(func, &first));
        }
    }
    Ok(())
}

/// Of an index that may wrap the user has to say more; of any other one we have.
fn error(func: &PrimFunc, first: &Unproven) -> CompileError {
    let text = &first.text;
    if !first.may_wrap {
        return CompileError::internal(func.loc, format!("an access is not proven: {text}"));
    }
    CompileError {
        kind: ErrorKind::Limit,
        loc: func.loc,
        message: format!(
            "an index or a condition around it is made of a value that may be anything, and arithmetic on it may wrap: {text}"
        ),
        help: Some("bound the value before it is computed with: `assert!(n < N)`, or `if k < 8 { … }`".into()),
    }
}
