//! The verifier behind every pass.

use tenfold_ir::{Function, Module, relax, tir};

use super::instrument::broken;
use super::{PassInfo, PassInstrument};
use crate::CompileError;

/// Verifies the module after every pass, where the context does not do it by itself.
#[derive(Debug, Default)]
pub struct Verify;

impl PassInstrument for Verify {
    fn run_after_pass(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        verify(pass, module)
    }
}

/// A law that a pass broke is a bug of that pass.
pub fn verify(pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
    for (name, function) in &module.functions {
        let errors = match function {
            Function::Relax(f) => relax::verify(module, f),
            Function::Prim(f) => tir::verify(module, f),
        };
        if let Some(first) = errors.first() {
            return Err(broken(format!("after pass `{}`, function `{name}` breaks a law: {first}", pass.name)));
        }
    }
    Ok(())
}
