//! `RemoveUnusedFunctions`: functions that the entry does not reach go.
//!
//! Phase: any. Never changes a function that stays.

use std::collections::BTreeSet;

use tenfold_ir::relax::{self, Op};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("RemoveUnusedFunctions", &remove_unused_functions)
    .in_phase(PassPhase::Graph)
    .about("drops functions that the entry does not reach");

/// Runs on the module.
pub(crate) fn remove_unused_functions(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let mut used = BTreeSet::new();
    let mut queue = vec![module.entry.clone()];
    while let Some(name) = queue.pop() {
        if !used.insert(name.clone()) {
            continue;
        }
        match module.functions.get(&name) {
            Some(Function::Relax(f)) => queue.extend(called(f)),
            Some(Function::Prim(f)) => tir_calls(&f.body, &mut queue),
            None => {}
        }
    }
    module.functions.retain(|name, _| used.contains(name));
    Ok(())
}

/// Names of functions that a graph calls, in regions too.
fn called(func: &relax::Function) -> impl Iterator<Item = String> {
    func.bindings().filter_map(|b| match &b.op {
        Op::CallTir { func, .. } | Op::CallFn { func, .. } => Some(func.clone()),
        _ => None,
    })
}

/// Names of prim-funcs that a statement calls.
fn tir_calls(stmt: &tenfold_ir::tir::Stmt, out: &mut Vec<String>) {
    stmt.walk(&mut |s| {
        if let tenfold_ir::tir::Stmt::Call { func, .. } = s {
            out.push(func.clone());
        }
    });
}
