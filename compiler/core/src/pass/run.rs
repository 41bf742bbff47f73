//! The one runner: enable rule, required passes, instruments, the pass, the verifier, instruments.

use tenfold_ir::arith::remembering;
use tenfold_ir::tir::FuncKind;
use tenfold_ir::{Function, Module};

use super::instrument::broken;
use super::{Action, FunctionFn, Kind, Pass, PassContext, PrimFn, registry, verify};
use crate::CompileError;

/// Runs passes in order, each if the context enables it, behind those that it requires.
///
/// # Errors
/// Those of the first pass that fails, and of the verifier behind it.
pub fn run(passes: &[Pass], module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    // Passes and the verifiers between them ask much that another asked before.
    remembering(|| run_all(passes, module, context))
}

fn run_all(passes: &[Pass], module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    for pass in passes {
        if !context.enables(&pass.info) {
            continue;
        }
        for name in pass.info.required {
            run_pass(&registry::get(name)?, module, context)?;
        }
        run_pass(pass, module, context)?;
    }
    Ok(())
}

/// Runs one pass, whether it is enabled or not, unless an instrument keeps it from running.
pub fn run_pass(pass: &Pass, module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let info = &pass.info;
    let instruments = &context.instruments;
    if !context.required.contains(info.name) && !instruments.should_run(info, module)? {
        return Ok(());
    }
    instruments.before(info, module)?;
    act(pass, module, context)?;
    instruments.after(info, module)
}

fn act(pass: &Pass, module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let (known, _) = context.emitted(0);
    match &pass.kind {
        // What stands in it is verified one by one.
        Kind::Sequential(passes) => return run(passes, module, context),
        Kind::Module(action) => action(module, context)?,
        Kind::Function(action) => each_function(pass, action, module, context)?,
        Kind::PrimFunc(action) => each_prim_func(pass, action, module, context)?,
    }
    match context.emitted(known) {
        (_, Some(first)) => Err(first),
        _ if context.verify => verify(&pass.info, module),
        _ => Ok(()),
    }
}

fn each_function(
    pass: &Pass,
    action: &Action<FunctionFn>,
    module: &mut Module,
    context: &PassContext,
) -> Result<(), CompileError> {
    let mut made = Vec::new();
    for (name, function) in &module.functions {
        let Function::Relax(func) = function else { continue };
        if func.skip_optimization && !pass.lowering {
            continue;
        }
        let new = action(func.clone(), module, context)?;
        same_name(pass, name, &new.name)?;
        made.push((name.clone(), Function::Relax(new)));
    }
    module.functions.extend(made);
    Ok(())
}

fn each_prim_func(
    pass: &Pass,
    action: &Action<PrimFn>,
    module: &mut Module,
    context: &PassContext,
) -> Result<(), CompileError> {
    let mut made = Vec::new();
    for (name, function) in &module.functions {
        let Function::Prim(func) = function else { continue };
        // A declaration has nothing to rewrite.
        if func.kind == FuncKind::Extern || (func.skip_optimization && !pass.lowering) {
            continue;
        }
        let new = action(func.clone(), module, context)?;
        same_name(pass, name, &new.name)?;
        made.push((name.clone(), Function::Prim(new)));
    }
    module.functions.extend(made);
    Ok(())
}

/// A function that goes by another name would be one removed and one added.
fn same_name(pass: &Pass, old: &str, new: &str) -> Result<(), CompileError> {
    if old == new {
        return Ok(());
    }
    let kind = pass.kind.name();
    Err(broken(format!("`{}` is a {kind} pass and renamed `{old}` to `{new}`", pass.info.name)))
}
