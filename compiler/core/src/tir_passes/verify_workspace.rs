//! `VerifyWorkspace`: what kernels read is still there when they read it.
//!
//! `PlanMemory` may let the result of a call lie over an operand. This pass looks at the calls and at nothing that the
//! plan has said: wherever a call reads and writes buffers of the workspace that share bytes, it asks the kernel anew.

use tenfold_ir::tir::{BufId, BufUse, BufferData, CallArg, Param, PrimFunc, Scope, Stmt};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};
use crate::plan::distance::distance;
use crate::plan::overlaps::in_turn;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("VerifyWorkspace", &verify_workspace)
    .in_phase(PassPhase::Blocks)
    .lowering()
    .about("redoes the proof that kernels read what results lie over before they write there; changes nothing");

fn verify_workspace(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let in_turn = in_turn(&context.target);
    for function in module.functions.values() {
        let Function::Prim(caller) = function else { continue };
        let mut found = None;
        caller.body.walk(&mut |stmt| {
            if let Stmt::Call { func, args, .. } = stmt
                && let Some(kernel) = module.prim(func)
                && found.is_none()
            {
                found = overwritten(caller, kernel, args, in_turn);
            }
        });
        if let Some(text) = found {
            return Err(CompileError::internal(caller.loc, text));
        }
    }
    Ok(())
}

/// What a call may overwrite before it reads it.
fn overwritten(caller: &PrimFunc, kernel: &PrimFunc, args: &[CallArg], in_turn: bool) -> Option<String> {
    let used = |wanted: BufUse| {
        kernel.params.iter().zip(args).filter_map(move |pair| match pair {
            (Param::Buffer(own, usage), CallArg::Buffer(given)) if *usage == wanted => Some((*own, *given)),
            _ => None,
        })
    };
    used(BufUse::In).find_map(|(from, given)| {
        let (_, over) = used(BufUse::Out).find(|(to, over)| {
            let [operand, result] = [given, *over].map(|buf| &caller.buffers[buf.0 as usize]);
            let apart = || in_turn && far_enough(kernel, (from, operand), (*to, result));
            share(operand, result) && !apart()
        })?;
        let name = |buf: BufId| &caller.buffers[buf.0 as usize].name;
        Some(format!(
            "`{}` may write its result `{}` over `{}` before it reads that",
            kernel.name,
            name(over),
            name(given)
        ))
    })
}

/// Whether two pieces of the workspace whose places are numbers share bytes.
fn share(a: &BufferData, b: &BufferData) -> bool {
    match (piece(a), piece(b)) {
        (Some((p, n)), Some((q, m))) => p < q + m && q < p + n,
        _ => false,
    }
}

/// Where it begins, and its bytes.
fn piece(data: &BufferData) -> Option<(i64, i64)> {
    let offset = data.offset.as_ref().filter(|_| data.scope == Scope::Workspace)?;
    Some((offset.as_const()?, data.bytes()?))
}

fn far_enough(kernel: &PrimFunc, (from, operand): (BufId, &BufferData), (to, result): (BufId, &BufferData)) -> bool {
    let (Some((read, _)), Some((written, _))) = (piece(operand), piece(result)) else { return false };
    distance(kernel, from, to).is_some_and(|apart| read - written >= apart.ahead || written - read >= apart.back)
}
