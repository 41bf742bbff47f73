//! Rebuilding a function with other value numbers.

use std::collections::BTreeMap;

use super::{Function, SymKind, ValueId};

/// The function with values numbered in the order in which parameters and bindings define them; values that nothing
/// defines are gone.
pub fn renumbered(func: &Function) -> Function {
    let mut map = BTreeMap::new();
    let bindings = func.blocks.iter().flat_map(|block| &block.bindings);
    let defined = func.params.iter().map(|param| param.value).chain(bindings.map(|binding| binding.out));
    for value in defined {
        let next = ValueId(map.len() as u32);
        map.entry(value).or_insert(next);
    }
    let to = |value: ValueId| map.get(&value).copied().unwrap_or(value);
    let mut out = func.clone();
    out.values = vec![];
    let mut order: Vec<(&ValueId, &ValueId)> = map.iter().collect();
    order.sort_by_key(|(_, new)| **new);
    out.values.extend(order.iter().filter_map(|(old, _)| func.values.get(old.0 as usize).cloned()));
    for decl in &mut out.syms {
        if let SymKind::Bound(value) = &mut decl.kind {
            *value = to(*value);
        }
    }
    for param in &mut out.params {
        param.value = to(param.value);
    }
    for binding in out.blocks.iter_mut().flat_map(|block| &mut block.bindings) {
        binding.out = to(binding.out);
        binding.args.iter_mut().for_each(|arg| *arg = to(*arg));
    }
    out.results.iter_mut().for_each(|value| *value = to(*value));
    if let (Some(new), Some(old)) = (&mut out.plan, &func.plan) {
        new.places = order.iter().map(|(v, _)| old.places.get(v.0 as usize).cloned().flatten()).collect();
        new.tuples = old.tuples.iter().map(|(value, places)| (to(*value), places.clone())).collect();
    }
    out
}
