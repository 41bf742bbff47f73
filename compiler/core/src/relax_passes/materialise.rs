//! `Materialise`: copies are put where memory could otherwise not be shared as the later passes share it.
//!
//! After it every result and every stored state has a home of its own, and every update may write its
//! destination in place: nothing reads an older value of that memory later.

use std::collections::BTreeSet;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{self, Binding, BlockKind, Op, ParamKind, SliceAxis, TensorType, Type, ValueId};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::homes::{Home, Homes, bindings, updated};
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
        updates(func);
        ends(func);
        // The copies came last and stand before.
        *func = relax::renumbered(func);
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
        for binding in func.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
            binding.args.iter_mut().filter(|a| **a == value).for_each(|a| *a = made.out);
        }
        func.results.iter_mut().filter(|r| **r == value).for_each(|r| *r = made.out);
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

/// Gives updates whose destination must survive a copy to write to.
fn updates(func: &mut relax::Function) {
    loop {
        let homes = Homes::new(func);
        let Some((block, index, operand)) = first_unsafe_update(func, &homes) else { return };
        let dst = func.blocks[block].bindings[index].args[operand];
        let made = copy(func, dst);
        func.blocks[block].bindings[index].args[operand] = made.out;
        func.blocks[block].bindings.insert(index, made);
    }
}

/// Block, binding and operand.
fn first_unsafe_update(func: &relax::Function, homes: &Homes) -> Option<(usize, usize, usize)> {
    for (b, block) in func.blocks.iter().enumerate() {
        for (i, binding) in block.bindings.iter().enumerate() {
            let operands = updated(&binding.op);
            if let Some(operand) = operands.into_iter().find(|operand| !may_update(func, homes, binding, *operand)) {
                return Some((b, i, operand));
            }
        }
    }
    None
}

fn may_update(func: &relax::Function, homes: &Homes, update: &Binding, operand: usize) -> bool {
    let home = homes.get(update.args[operand]);
    writable(func, homes, home) && !read_later(func, homes, home, (update, operand))
}

/// Whether the memory is ours to write: an intermediate, or a state that ends as a value in this very memory.
fn writable(func: &relax::Function, homes: &Homes, home: Home) -> bool {
    if let Some(index) = func.params.iter().position(|p| p.value == home.0) {
        return func.params[index].kind == ParamKind::State
            && bindings(func).any(|b| b.op == Op::StoreState { param: index } && homes.get(b.args[0]) == home);
    }
    let def = bindings(func).find(|b| b.out == home.0);
    def.is_some_and(|d| !matches!(d.op, Op::Const(_)))
}

/// Whether a value that lived there before the update is read after it (or by the update itself as another operand).
fn read_later(func: &relax::Function, homes: &Homes, home: Home, (update, operand): (&Binding, usize)) -> bool {
    let mut older: BTreeSet<ValueId> = BTreeSet::from([home.0]);
    let mut after = false;
    for binding in bindings(func) {
        if binding.out == update.out {
            let others = binding.args.iter().enumerate().filter(|(at, _)| *at != operand);
            if others.into_iter().any(|(_, arg)| homes.get(*arg) == home) {
                return true;
            }
            after = true;
        } else if after {
            if binding.args.iter().any(|a| older.contains(a)) {
                // The parts of a call are taken out of it behind it.
                if !matches!(binding.op, Op::TupleGet(_)) || homes.get(binding.out) == home {
                    return true;
                }
            }
        } else if homes.get(binding.out) == home {
            older.insert(binding.out);
        }
    }
    func.results.iter().any(|r| older.contains(r))
}

/// Gives results and stored states homes of their own.
fn ends(func: &mut relax::Function) {
    let homes = Homes::new(func);
    let mut taken: BTreeSet<Home> = BTreeSet::new();
    let mut copies = Vec::new();
    let stores: Vec<(usize, ValueId)> = bindings(func)
        .filter_map(|b| match b.op {
            Op::StoreState { param } => Some((param, b.args[0])),
            _ => None,
        })
        .collect();
    for (param, value) in stores {
        let home = homes.get(value);
        let own = (func.params[param].value, 0);
        if home != own && (is_param(func, home) || !taken.insert(home)) {
            let made = copy(func, value);
            replace_store(func, param, made.out);
            copies.push(made);
        }
        taken.insert(own);
    }
    for index in 0..func.results.len() {
        let value = func.results[index];
        let home = homes.get(value);
        if is_param(func, home) || is_const(func, home) || !taken.insert(home) {
            let made = copy(func, value);
            func.results[index] = made.out;
            copies.push(made);
        }
    }
    insert_before_effects(func, copies);
}

fn is_param(func: &relax::Function, home: Home) -> bool {
    func.params.iter().any(|p| p.value == home.0)
}

fn is_const(func: &relax::Function, home: Home) -> bool {
    bindings(func).any(|b| b.out == home.0 && matches!(b.op, Op::Const(_)))
}

fn replace_store(func: &mut relax::Function, param: usize, value: ValueId) {
    for binding in func.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
        if binding.op == (Op::StoreState { param }) {
            binding.args[0] = value;
        }
    }
}

/// Old values of states are copied before anything is stored.
fn insert_before_effects(func: &mut relax::Function, copies: Vec<Binding>) {
    if copies.is_empty() {
        return;
    }
    match func.blocks.iter().position(|b| b.kind == BlockKind::Effect) {
        Some(at) => {
            func.blocks.insert(at, relax::BindingBlock { kind: BlockKind::Dataflow, bindings: copies });
        }
        None => func.blocks.push(relax::BindingBlock { kind: BlockKind::Dataflow, bindings: copies }),
    }
}
