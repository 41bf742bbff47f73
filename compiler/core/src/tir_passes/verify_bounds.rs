//! `VerifyBounds`: the proof of every access is redone, in every build.
//!
//! The functions that users call are safe because each index is inside its axis. The front end and the kernels' makers
//! have proven it; this pass depends on neither.

use tenfold_ir::tir::verify_bounds as unproven;
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::pass::PassContext;

/// Runs on every prim-func.
pub(crate) fn verify_bounds(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    for function in module.functions.values() {
        if let Function::Prim(func) = function
            && let Some(first) = unproven(func).into_iter().next()
        {
            return Err(CompileError::internal(func.loc, format!("an access is not proven: {first}")));
        }
    }
    Ok(())
}
