//! `Normalize`: the normal form that later passes rely on.
//!
//! One op per binding is how relax is built; what is left to do: tuples that are only taken apart again go, a tuple in
//! a tuple becomes its components, neighbouring blocks of one kind become one, and values are numbered in the order of
//! their definitions. A function that then keeps the laws of the phase `normalised` (no calls of relax functions, no
//! tuple in a tuple) enters it. No result changes.

use tenfold_ir::relax::{self, Binding, BindingBlock, Op, Phase, Type, ValueId};
use tenfold_ir::{Function, Module};

use super::rewrite::{Rewriter, rewrite_one};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("Normalize", &normalize)
    .in_phase(PassPhase::Graph)
    .about("takes tuples apart and puts values in order");

/// Runs on every relax function.
pub(crate) fn normalize(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let names: Vec<String> = module.functions.keys().cloned().collect();
    for name in names {
        rewrite_one(module, &name, &mut component);
        if let Some(Function::Relax(func)) = module.functions.get_mut(&name)
            && func.phase < Phase::Legalised
        {
            relax::bodies_mut(&mut func.blocks, &mut joined);
            *func = relax::renumbered(func);
            if func.phase == Phase::Imported && is_normal(func) {
                func.phase = Phase::Normalised;
            }
        }
    }
    Ok(())
}

/// A component of a tuple that was just made is what it was made of.
fn component(cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
    let Op::TupleGet(index) = binding.op else { return None };
    let tuple = cx.def(binding.args[0])?;
    if tuple.op == Op::Tuple { tuple.args.get(index).copied() } else { None }
}

/// Neighbouring blocks of one kind become one, empty ones none.
fn joined(blocks: &mut Vec<BindingBlock>) {
    let mut out: Vec<BindingBlock> = Vec::with_capacity(blocks.len());
    for block in blocks.drain(..).filter(|b| !b.bindings.is_empty()) {
        match out.last_mut() {
            Some(last) if last.kind == block.kind => last.bindings.extend(block.bindings),
            Some(_) | None => out.push(block),
        }
    }
    *blocks = out;
}

fn is_normal(func: &relax::Function) -> bool {
    let nested = |ty: &Type| matches!(ty, Type::Tuple(items) if items.iter().any(|t| matches!(t, Type::Tuple(_))));
    // Calls and shapes are taken apart by `InlineCalls`, which may come later.
    let later = |op: &Op| {
        matches!(
            op,
            Op::CallFn { .. }
                | Op::MatchShape { .. }
                | Op::ShapeOf
                | Op::Shape { .. }
                | Op::ShapeToTensor
                | Op::TensorToShape
        )
    };
    func.values.iter().all(|data| !nested(&data.ty)) && func.bindings().all(|b| !later(&b.op))
}
