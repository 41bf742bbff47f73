//! `Materialise`: copies are put where memory could otherwise not be shared as the later passes share it.
//!
//! After it every result and every stored state has a home of its own, every update may write its destination in
//! place: nothing reads an older value of that memory later; and what a turn of a loop hands on lives where it may be
//! copied into what the loop carries, one value after the other.

mod ends;
mod turns;
mod updates;

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{self, Binding, BlockKind, Op, ParamKind, SliceAxis, TensorType, Type, ValueId};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("Materialise", &materialise)
    .in_phase(PassPhase::Graph)
    .lowering()
    .about("copies where memory could not be shared, so that every update may write in place");

/// Runs on the entry.
pub(crate) fn materialise(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let entry = module.entry.clone();
    if let Some(Function::Relax(func)) = module.functions.get_mut(&entry) {
        strided(func);
        updates::updates(func);
        turns::turns(func);
        ends::ends(func);
        // The copies came last and stand before.
        *func = relax::renumbered(func);
        func.phase = func.phase.max(relax::Phase::Materialised);
    }
    Ok(())
}

/// A copy of `v`: a slice of all of it.
fn copy(func: &mut relax::Function, v: ValueId) -> Binding {
    let data = func.values[v.0 as usize].clone();
    let shape = match &data.ty {
        Type::Tensor(TensorType { shape, .. }) => shape.clone(),
        Type::Tuple(_) | Type::Shape(_) => Vec::new(),
    };
    func.values.push(data);
    let out = ValueId(func.values.len() as u32 - 1);
    let axes = shape.into_iter().map(|extent| SliceAxis { begin: IntExpr::from(0), extent, step: 1 }).collect();
    Binding::new(out, Op::Slice { axes, drop: Vec::new() }, vec![v])
}

/// Copies strided parameters once, so that every kernel but the copy reads dense memory.
fn strided(func: &mut relax::Function) {
    let mut copies = Vec::new();
    for index in 0..func.params.len() {
        if func.params[index].kind != ParamKind::Strided {
            continue;
        }
        let value = func.params[index].value;
        let made = copy(func, value);
        declare_strides(func, index);
        func.replace_uses(&BTreeMap::from([(value, made.out)]));
        copies.push(made);
    }
    if !copies.is_empty() {
        func.blocks.insert(0, relax::BindingBlock { kind: BlockKind::Dataflow, bindings: copies });
    }
}

fn declare_strides(func: &mut relax::Function, param: usize) {
    let data = &func.values[func.params[param].value.0 as usize];
    let rank = match &data.ty {
        Type::Tensor(t) => t.shape.len(),
        Type::Tuple(_) | Type::Shape(_) => 0,
    };
    let (name, loc) = (data.name.clone(), data.loc);
    for axis in 0..rank {
        // No name of a user holds a dot.
        let sym = tenfold_ir::arith::Sym::new(format!("{name}.stride{axis}"));
        func.syms.push(relax::SymDecl { sym, kind: relax::SymKind::Stride { param, axis }, loc });
    }
}
