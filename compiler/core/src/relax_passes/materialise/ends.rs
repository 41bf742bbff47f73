//! Results and stored states get homes of their own.

use std::collections::BTreeSet;

use tenfold_ir::relax::{self, Binding, BindingBlock, BlockKind, Definition, Op, ValueId};

use super::copy;
use crate::homes::{Home, Homes};

/// Copies values that would share a result's or state's memory with something else.
pub(super) fn ends(func: &mut relax::Function) {
    let homes = Homes::new(func);
    let mut taken: BTreeSet<Home> = BTreeSet::new();
    let fixed = fixed(func);
    let mut copies = Vec::new();
    for (param, value) in stores(func) {
        let home = homes.get(value);
        let own = (func.params[param].value, 0);
        let given = fixed.contains(&home.0) && func.params.iter().any(|p| p.value == home.0);
        if home != own && (given || !taken.insert(home)) {
            let made = copy(func, value);
            replace_store(func, param, made.out);
            copies.push(made);
        }
        taken.insert(own);
    }
    for index in 0..func.results.len() {
        let value = func.results[index];
        let home = homes.get(value);
        if fixed.contains(&home.0) || !taken.insert(home) {
            let made = copy(func, value);
            func.results[index] = made.out;
            copies.push(made);
        }
    }
    insert_before_stores(func, copies);
}

/// What is stored into state, in order.
fn stores(func: &relax::Function) -> Vec<(usize, ValueId)> {
    let store = |binding: &Binding| match binding.op {
        Op::StoreState { param } => Some((param, binding.args[0])),
        _ => None,
    };
    func.bindings().filter_map(store).collect()
}

/// Parameters and constants: memory that holds something before the call.
fn fixed(func: &relax::Function) -> BTreeSet<ValueId> {
    let constants = func.bindings().filter(|b| matches!(b.op, Op::Const(_))).map(|b| b.out);
    func.params.iter().map(|p| p.value).chain(constants).collect()
}

fn replace_store(func: &mut relax::Function, param: usize, value: ValueId) {
    func.bindings_mut(|binding| {
        if binding.op == (Op::StoreState { param }) {
            binding.args[0] = value;
        }
    });
}

/// Old values of states are copied before anything is stored; what is made later, at the end.
fn insert_before_stores(func: &mut relax::Function, copies: Vec<Binding>) {
    let Some((block, index)) = first_store(func) else { return append(func, copies) };
    let before = made_before(func, block, index);
    let (early, late): (Vec<_>, Vec<_>) = copies.into_iter().partition(|made| before.contains(&made.args[0]));
    append(func, late);
    if early.is_empty() {
        return;
    }
    let rest = func.blocks[block].bindings.split_off(index);
    let rest = BindingBlock { kind: BlockKind::Effect, bindings: rest };
    let early = BindingBlock { kind: BlockKind::Dataflow, bindings: early };
    func.blocks.splice(block + 1..block + 1, [early, rest]);
    func.blocks.retain(|block| !block.bindings.is_empty());
}

fn append(func: &mut relax::Function, copies: Vec<Binding>) {
    if !copies.is_empty() {
        func.blocks.push(BindingBlock { kind: BlockKind::Dataflow, bindings: copies });
    }
}

/// Block and binding of the first store.
fn first_store(func: &relax::Function) -> Option<(usize, usize)> {
    func.blocks.iter().enumerate().find_map(|(b, block)| {
        let at = block.bindings.iter().position(|binding| matches!(binding.op, Op::StoreState { .. }))?;
        Some((b, at))
    })
}

/// Values that are there before a binding of the function's own blocks.
fn made_before(func: &relax::Function, block: usize, index: usize) -> BTreeSet<ValueId> {
    let definitions = func.definitions();
    let given = func.params.iter().map(|p| p.value);
    let given = given.filter(|value| matches!(definitions.get(*value), Some(Definition::Param(_))));
    let whole = func.blocks[..block].iter().flat_map(|block| &block.bindings);
    let made = whole.chain(&func.blocks[block].bindings[..index]).map(|binding| binding.out);
    given.chain(made).collect()
}
