//! Which values of a relax function share memory, before any of it has a place.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::relax::{self, Binding, Op, ValueId};

/// Memory that values share: component `1` of what value `0` is bound to.
pub(crate) type Home = (ValueId, usize);

/// The home of every value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Homes {
    of: BTreeMap<ValueId, Home>,
    /// Of the components of calls with several results, where they update an operand.
    parts: BTreeMap<Home, Home>,
}

impl Homes {
    /// Computes them: a reshape lives where its operand lives, an in-place update where its destination lives.
    pub(crate) fn new(func: &relax::Function) -> Homes {
        let mut homes = Homes::default();
        bindings(func).for_each(|binding| homes.define(binding));
        homes
    }

    /// Adds what a binding makes; its operands are there.
    pub(crate) fn define(&mut self, binding: &Binding) {
        let home = match &binding.op {
            Op::Reshape { .. } | Op::SliceUpdate { .. } => self.get(binding.args[0]),
            Op::TupleGet(i) => self.part((binding.args[0], *i)),
            Op::CallTir { in_place, .. } => self.called(binding, in_place),
            _ => (binding.out, 0),
        };
        self.of.insert(binding.out, home);
    }

    fn called(&mut self, binding: &Binding, in_place: &[Option<usize>]) -> Home {
        if let [Some(operand)] = in_place {
            return self.get(binding.args[*operand]);
        }
        for (index, operand) in in_place.iter().enumerate() {
            if let Some(operand) = operand {
                self.parts.insert((binding.out, index), self.get(binding.args[*operand]));
            }
        }
        (binding.out, 0)
    }

    /// The home of a value; a parameter is its own.
    pub(crate) fn get(&self, v: ValueId) -> Home {
        self.of.get(&v).copied().unwrap_or((v, 0))
    }

    /// The home of a component.
    pub(crate) fn part(&self, part: Home) -> Home {
        self.parts.get(&part).copied().unwrap_or(part)
    }
}

/// The operands that a binding writes in place, as indices into its arguments.
pub(crate) fn updated(op: &Op) -> Vec<usize> {
    match op {
        Op::SliceUpdate { .. } => vec![0],
        Op::CallTir { in_place, .. } => in_place.iter().flatten().copied().collect(),
        _ => Vec::new(),
    }
}

/// Homes that are written while values in them may still be read: destinations of updates, and stored states.
pub(crate) fn mutable(func: &relax::Function, homes: &Homes) -> BTreeSet<Home> {
    let mut set = BTreeSet::new();
    for binding in func.blocks.iter().flat_map(|b| &b.bindings) {
        set.extend(updated(&binding.op).into_iter().map(|operand| homes.get(binding.args[operand])));
        if let Op::StoreState { param } = &binding.op {
            set.insert((func.params[*param].value, 0));
        }
    }
    set
}

/// All bindings in order.
pub(crate) fn bindings(func: &relax::Function) -> impl Iterator<Item = &Binding> {
    func.blocks.iter().flat_map(|b| &b.bindings)
}
