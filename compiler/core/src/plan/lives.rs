//! How long the memory of a function holds something.

use std::collections::BTreeMap;

use tenfold_ir::relax::{self, Op, TensorType, Type, ValueId};

use crate::homes::{Home, Homes, parts_of};
use crate::timeline::{Tick, Timeline};

/// When a home is first written and last used.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// The memory.
    pub home: Home,
    /// Its type when it was made.
    pub ty: TensorType,
    /// When it is made.
    pub first: Tick,
    /// When it is last used.
    pub last: Tick,
}

/// Lifetimes of all homes, in the order in which they are made.
pub(crate) fn lives(func: &relax::Function, homes: &Homes) -> Vec<Life> {
    let times = Timeline::new(func);
    let mut lives = Lives { func, homes, times: &times, of: BTreeMap::new() };
    func.params.iter().for_each(|param| lives.value(param.value));
    for binding in func.bindings() {
        let idle = matches!(binding.op, Op::StoreState { .. } | Op::Assert { .. } | Op::Tuple);
        if !idle {
            lives.value(binding.out);
        }
        let params = binding.regions.iter().flat_map(|region| &region.params);
        params.for_each(|param| lives.value(*param));
        // What is carried lives from turn to turn.
        if let Some(leave) = times.leaves.get(&binding.out) {
            for home in parts_of(func, homes, binding.out).into_iter().filter(|home| home.0 == binding.out) {
                lives.until(home, *leave);
            }
        }
    }
    let mut all: Vec<Life> = lives.of.into_values().collect();
    all.sort_by_key(|life| (life.first, life.home));
    all
}

struct Lives<'f> {
    func: &'f relax::Function,
    homes: &'f Homes,
    times: &'f Timeline,
    of: BTreeMap<Home, Life>,
}

impl Lives<'_> {
    fn value(&mut self, value: ValueId) {
        let made = self.times.made[value.0 as usize];
        let types = match &self.func.values[value.0 as usize].ty {
            Type::Tensor(tensor) => vec![(tensor, self.times.last(value))],
            // A component is used where it is taken out; by itself it is only made.
            Type::Tuple(items) => items.iter().filter_map(Type::tensor).map(|tensor| (tensor, made)).collect(),
            Type::Shape(_) => Vec::new(),
        };
        let parts = parts_of(self.func, self.homes, value);
        for (home, (ty, last)) in parts.into_iter().zip(types) {
            let life = self.of.entry(home).or_insert(Life { home, ty: ty.clone(), first: made, last: made });
            life.last = life.last.max(last);
        }
    }

    fn until(&mut self, home: Home, tick: Tick) {
        if let Some(life) = self.of.get_mut(&home) {
            life.last = life.last.max(tick);
        }
    }
}
