//! Which values of a relax function share memory, before any of it has a place.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::relax::{self, Binding, Op, ValueId};

/// Memory that values share: component `1` of what value `0` is bound to.
pub(crate) type Home = (ValueId, usize);

/// The home of every value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Homes {
    of: BTreeMap<ValueId, Home>,
}

impl Homes {
    /// Computes them: a reshape lives where its operand lives, an in-place update where its destination lives.
    pub(crate) fn new(func: &relax::Function) -> Homes {
        let mut homes = Homes::default();
        for binding in func.blocks.iter().flat_map(|b| &b.bindings) {
            let home = match &binding.op {
                Op::Reshape { .. } | Op::SliceUpdate { .. } => homes.get(binding.args[0]),
                Op::TupleGet(i) => (binding.args[0], *i),
                Op::CallTir { in_place, .. } => match in_place.first() {
                    Some(Some(j)) if in_place.len() == 1 => homes.get(binding.args[*j]),
                    _ => (binding.out, 0),
                },
                _ => (binding.out, 0),
            };
            homes.of.insert(binding.out, home);
        }
        homes
    }

    /// The home of a value; a parameter is its own.
    pub(crate) fn get(&self, v: ValueId) -> Home {
        self.of.get(&v).copied().unwrap_or((v, 0))
    }
}

/// Homes that are written while values in them may still be read: destinations of updates, and stored states.
pub(crate) fn mutable(func: &relax::Function, homes: &Homes) -> BTreeSet<Home> {
    let mut set = BTreeSet::new();
    for binding in func.blocks.iter().flat_map(|b| &b.bindings) {
        match &binding.op {
            Op::SliceUpdate { .. } => {
                set.insert(homes.get(binding.args[0]));
            }
            Op::StoreState { param } => {
                set.insert((func.params[*param].value, 0));
            }
            _ => {}
        }
    }
    set
}

/// All bindings in order.
pub(crate) fn bindings(func: &relax::Function) -> impl Iterator<Item = &Binding> {
    func.blocks.iter().flat_map(|b| &b.bindings)
}
