//! `DeadCodeElimination`: pure bindings that nothing reads go, in regions too.
//!
//! Effects, run-time checks and what binds a symbol stay. Phase: any; of a planned function nothing goes. Never changes
//! a binding that stays.

use std::collections::BTreeSet;

use tenfold_ir::arith::Sym;
use tenfold_ir::relax::{self, Binding, BindingBlock, BlockKind, Op, SymKind, ValueId};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("DeadCodeElimination", &dead_code_elimination)
    .in_phase(PassPhase::Graph)
    .about("drops what no result and no effect needs");

/// Runs on every relax function.
pub(crate) fn dead_code_elimination(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    for function in module.functions.values_mut() {
        if let Function::Relax(f) = function
            && f.plan.is_none()
        {
            clean(f);
        }
    }
    Ok(())
}

/// Removes what nothing reads.
pub(crate) fn clean(func: &mut relax::Function) {
    let mut live = Live(vec![false; func.values.len()]);
    live.add(&func.results);
    for sym in &func.syms {
        if let SymKind::Bound(v) = sym.kind {
            live.add(&[v]);
        }
    }
    live.blocks(&mut func.blocks);
    drop_symbols(func);
}

/// Which values are read.
struct Live(Vec<bool>);

impl Live {
    fn add(&mut self, values: &[ValueId]) {
        values.iter().for_each(|v| self.0[v.0 as usize] = true);
    }

    /// From the last binding to the first: readers come before what they read.
    fn blocks(&mut self, blocks: &mut Vec<BindingBlock>) {
        for block in blocks.iter_mut().rev() {
            let mut kept = Vec::with_capacity(block.bindings.len());
            for mut binding in std::mem::take(&mut block.bindings).into_iter().rev() {
                if self.needs(block.kind, &binding) {
                    self.binding(&mut binding);
                    kept.push(binding);
                }
            }
            kept.reverse();
            block.bindings = kept;
        }
        blocks.retain(|b| !b.bindings.is_empty());
    }

    fn needs(&self, kind: BlockKind, binding: &Binding) -> bool {
        let binds = matches!(binding.op, Op::BindIndex(_) | Op::MatchShape { .. });
        kind == BlockKind::Effect || binds || self.0[binding.out.0 as usize]
    }

    fn binding(&mut self, binding: &mut Binding) {
        self.add(&binding.args);
        for region in &mut binding.regions {
            self.add(&region.results);
            self.blocks(&mut region.blocks);
        }
    }
}

/// Symbols that a binding bound which is gone go with it, and so do facts about them.
fn drop_symbols(func: &mut relax::Function) {
    let bound = |kind: &SymKind| match kind {
        SymKind::Bound(v) | SymKind::Loop(v) => Some(*v),
        SymKind::Dim { .. } | SymKind::IndexParam { .. } | SymKind::Stride { .. } => None,
    };
    if func.syms.iter().all(|s| bound(&s.kind).is_none()) {
        return;
    }
    let defined: BTreeSet<ValueId> = func.bindings().map(|b| b.out).collect();
    func.syms.retain(|s| bound(&s.kind).is_none_or(|v| defined.contains(&v)));
    let left: BTreeSet<Sym> = func.syms.iter().map(|s| s.sym.clone()).collect();
    func.facts.retain(|f| f.fact.vars().iter().all(|v| left.contains(v)));
}
