//! `VerifyMemory`: the host does not touch the memory of a device. (TVM: verify_memory.)
//!
//! Runs on plain loops, before `SplitHostDevice`. In a function that has kernels, buffers that are not local are read and
//! written by kernels, by calls and by nothing else; a function without kernels may do what it likes. Nothing changes.

use tenfold_ir::Module;
use tenfold_ir::tir::{FuncKind, PrimFunc, Scope, Stmt, own_accesses};

use super::kernel::{is_bound, refuse};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("VerifyMemory", &verify_memory)
    .in_phase(PassPhase::Flat)
    .about("refuses kernels beside which the host touches memory of the device");

fn verify_memory(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    let kernel = |s: &Stmt| matches!(s, Stmt::For { kind, .. } if is_bound(*kind));
    if func.kind == FuncKind::Device || !func.body.any(&mut |s| kernel(s)) {
        return Ok(func);
    }
    match outside(&func, &func.body) {
        Some((name, text)) => {
            let help = "bind a loop around it to a thread axis, or move it to a function of its own";
            Err(refuse(&func, format!("the host touches `{name}`, which is memory of the device: `{text}`"), help))
        }
        None => Ok(func),
    }
}

/// A buffer of the device that a statement outside of kernels touches, and the statement.
fn outside(func: &PrimFunc, stmt: &Stmt) -> Option<(String, String)> {
    match stmt {
        Stmt::For { kind, .. } if is_bound(*kind) => return None,
        Stmt::Call { .. } => return None,
        _ => {}
    }
    let device = |scope: Scope| match scope {
        Scope::Param | Scope::Global | Scope::Workspace | Scope::Const(_) => true,
        Scope::Shared | Scope::SharedDyn | Scope::Warp => true,
        Scope::Local | Scope::View => false,
    };
    let found = own_accesses(func, stmt).into_iter().find(|a| device(func.buffers[a.buf.0 as usize].scope));
    if let Some(access) = found {
        let name = func.buffers[access.buf.0 as usize].name.clone();
        return Some((name, tenfold_ir::tir::stmt_text(func, stmt)));
    }
    stmt.children().into_iter().find_map(|s| outside(func, s))
}
