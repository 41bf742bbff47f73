//! `DeadCodeElimination`: pure bindings that nothing reads go; so do functions that nothing calls.

use std::collections::BTreeSet;

use tenfold_ir::relax::{self, BlockKind, Op, SymKind, ValueId};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("DeadCodeElimination", &dead_code_elimination)
    .in_phase(PassPhase::Graph)
    .about("drops what no result and no effect needs, and functions that nothing calls");

/// Runs on every relax function, then drops unused functions.
pub(crate) fn dead_code_elimination(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    for function in module.functions.values_mut() {
        if let Function::Relax(f) = function {
            clean(f);
        }
    }
    drop_unused(module);
    Ok(())
}

fn clean(func: &mut relax::Function) {
    let mut live: BTreeSet<ValueId> = func.results.iter().copied().collect();
    for sym in &func.syms {
        if let SymKind::Bound(v) = sym.kind {
            live.insert(v);
        }
    }
    for block in func.blocks.iter_mut().rev() {
        let mut kept = Vec::with_capacity(block.bindings.len());
        for binding in std::mem::take(&mut block.bindings).into_iter().rev() {
            let effect =
                block.kind == BlockKind::Effect || matches!(binding.op, Op::BindIndex(_) | Op::MatchShape { .. });
            if effect || live.contains(&binding.out) {
                live.extend(binding.args.iter().copied());
                kept.push(binding);
            }
        }
        kept.reverse();
        block.bindings = kept;
    }
    func.blocks.retain(|b| !b.bindings.is_empty());
}

fn drop_unused(module: &mut Module) {
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
}

fn called(func: &relax::Function) -> Vec<String> {
    let bindings = func.blocks.iter().flat_map(|b| &b.bindings);
    bindings
        .filter_map(|b| match &b.op {
            Op::CallTir { func, .. } | Op::CallFn { func, .. } => Some(func.clone()),
            _ => None,
        })
        .collect()
}

/// Names of prim-funcs that a statement calls.
pub(super) fn tir_calls(stmt: &tenfold_ir::tir::Stmt, out: &mut Vec<String>) {
    stmt.walk(&mut |s| {
        if let tenfold_ir::tir::Stmt::Call { func, .. } = s {
            out.push(func.clone());
        }
    });
}
