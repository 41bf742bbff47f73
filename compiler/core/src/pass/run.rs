//! The one runner: enable rule, instruments, the pass, instruments, the verifier.

use tenfold_ir::{Function, Loc, Module};

use super::{Pass, PassContext, PassInfo};
use crate::CompileError;

/// Runs the passes of a table in order. In debug builds the verifier runs after each.
pub fn run(table: &[Pass], module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    for pass in table {
        run_one(pass, module, context)?;
    }
    Ok(())
}

fn run_one(pass: &Pass, module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let info = &pass.info;
    if !context.enables(info) || !wanted(info, module, context) {
        return Ok(());
    }
    for instrument in context.instruments.borrow_mut().iter_mut() {
        instrument.before(info, module)?;
    }
    (pass.run)(module, context)?;
    for instrument in context.instruments.borrow_mut().iter_mut() {
        instrument.after(info, module)?;
    }
    if cfg!(debug_assertions) { verify(info, module) } else { Ok(()) }
}

/// Required passes skip the instruments' say.
fn wanted(info: &PassInfo, module: &Module, context: &PassContext) -> bool {
    context.required.contains(info.name)
        || context.instruments.borrow_mut().iter_mut().all(|i| i.should_run(info, module))
}

/// A law that a pass broke is a bug of that pass.
fn verify(info: &PassInfo, module: &Module) -> Result<(), CompileError> {
    for (name, function) in &module.functions {
        let errors = match function {
            Function::Relax(f) => tenfold_ir::relax::verify(module, f),
            Function::Prim(f) => tenfold_ir::tir::verify(module, f),
        };
        if let Some(first) = errors.first() {
            return Err(CompileError::internal(
                Loc::default(),
                format!("after pass `{}`, function `{name}` breaks a law: {first}", info.name),
            ));
        }
    }
    Ok(())
}
