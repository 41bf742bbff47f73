//! Rebuilding a function with other value numbers.

use super::{Binding, BindingBlock, Function, SymKind, ValueId};

/// The function with values numbered in the order of their definitions (parameters, then bindings, each after what
/// its regions hold); values that nothing defines are gone.
pub fn renumbered(func: &Function) -> Function {
    let order = order(func);
    let mut map = vec![None; func.values.len()];
    for (new, old) in order.iter().enumerate() {
        map[old.0 as usize] = Some(ValueId(new as u32));
    }
    let to = |value: &mut ValueId| *value = map.get(value.0 as usize).copied().flatten().unwrap_or(*value);
    let mut out =
        Function { values: order.iter().map(|old| func.values[old.0 as usize].clone()).collect(), ..func.clone() };
    for decl in &mut out.syms {
        match &mut decl.kind {
            SymKind::Bound(value) | SymKind::Loop(value) => to(value),
            SymKind::Dim { .. } | SymKind::IndexParam { .. } | SymKind::Stride { .. } => {}
        }
    }
    out.params.iter_mut().for_each(|param| to(&mut param.value));
    out.bindings_mut(|binding| {
        to(&mut binding.out);
        binding.args.iter_mut().for_each(to);
        for region in &mut binding.regions {
            region.params.iter_mut().chain(&mut region.results).for_each(to);
        }
    });
    out.results.iter_mut().for_each(to);
    if let (Some(new), Some(old)) = (&mut out.plan, &func.plan) {
        new.places = order.iter().map(|v| old.places.get(v.0 as usize).cloned().flatten()).collect();
        new.tuples = old.tuples.iter().map(|(value, places)| (renamed(*value, &to), places.clone())).collect();
    }
    out
}

fn renamed(mut value: ValueId, to: &impl Fn(&mut ValueId)) -> ValueId {
    to(&mut value);
    value
}

/// Every value that is defined, in the order of the definitions; one that is defined twice stands at the first.
fn order(func: &Function) -> Vec<ValueId> {
    let mut order = Order { seen: vec![false; func.values.len()], values: Vec::new() };
    func.params.iter().for_each(|param| order.define(param.value));
    order.blocks(&func.blocks);
    order.values
}

struct Order {
    seen: Vec<bool>,
    values: Vec<ValueId>,
}

impl Order {
    fn define(&mut self, value: ValueId) {
        match self.seen.get_mut(value.0 as usize) {
            Some(seen) if !*seen => {
                *seen = true;
                self.values.push(value);
            }
            Some(_) | None => {}
        }
    }

    fn blocks(&mut self, blocks: &[BindingBlock]) {
        blocks.iter().flat_map(|block| &block.bindings).for_each(|binding| self.binding(binding));
    }

    fn binding(&mut self, binding: &Binding) {
        for region in &binding.regions {
            region.params.iter().for_each(|param| self.define(*param));
            self.blocks(&region.blocks);
        }
        self.define(binding.out);
    }
}
