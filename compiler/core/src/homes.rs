//! Which values of a relax function share memory, before any of it has a place.
//!
//! A reshape lives where its operand lives, an update where its destination lives. What a loop carries lives in memory
//! of the loop's: parameters of its regions and its value are that memory, initial and next values are copied into it
//! unless the plan makes them there. What an `if` gives lives in memory of its own unless both branches give what
//! already lives in one place.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::relax::{self, Binding, Event, Op, Region, Type, ValueId};

/// Memory that values share: component `1` of what value `0` is bound to.
pub(crate) type Home = (ValueId, usize);

/// The home of every value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Homes {
    of: BTreeMap<ValueId, Home>,
    /// Of the components of bindings with several results, where they share an operand's.
    parts: BTreeMap<Home, Home>,
}

impl Homes {
    /// Computes them.
    pub(crate) fn new(func: &relax::Function) -> Homes {
        let mut homes = Homes::default();
        func.walk(|event| homes.see(event));
        homes
    }

    /// The next step of a walk.
    pub(crate) fn see(&mut self, event: Event<'_>) {
        match event {
            Event::Begin(binding, _, region) => self.begin(binding, region),
            Event::Leave(binding) => {
                let home = self.made(binding);
                self.of.insert(binding.out, home);
            }
            Event::Enter(_) | Event::End(..) => {}
        }
    }

    fn begin(&mut self, binding: &Binding, region: &Region) {
        for (index, param) in region.params.iter().enumerate() {
            self.of.insert(*param, (binding.out, index));
        }
    }

    fn made(&mut self, binding: &Binding) -> Home {
        match &binding.op {
            Op::Reshape { .. } | Op::BindIndex(_) => self.get(binding.args[0]),
            Op::TupleGet(i) => self.part((binding.args[0], *i)),
            Op::SliceUpdate { .. } | Op::CallTir { .. } | Op::CallPacked { .. } => self.updating(binding),
            Op::If => self.chosen(binding),
            _ => (binding.out, 0),
        }
    }

    /// Results that update operands live where those live.
    fn updating(&mut self, binding: &Binding) -> Home {
        let count = results(&binding.op);
        for (result, operand) in updates(&binding.op) {
            let home = self.get(binding.args[operand]);
            self.share((binding.out, result), home);
        }
        if count == 1 { self.part((binding.out, 0)) } else { (binding.out, 0) }
    }

    fn chosen(&mut self, binding: &Binding) -> Home {
        let [then, otherwise] = binding.regions.as_slice() else { return (binding.out, 0) };
        for (index, (a, b)) in then.results.iter().zip(&otherwise.results).enumerate() {
            if self.get(*a) == self.get(*b) {
                self.parts.insert((binding.out, index), self.get(*a));
            }
        }
        if then.results.len() == 1 { self.part((binding.out, 0)) } else { (binding.out, 0) }
    }

    /// Lets a component live in memory that another has.
    pub(crate) fn share(&mut self, part: Home, home: Home) {
        self.parts.entry(part).or_insert(home);
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

/// How many results an operator that may update operands has.
fn results(op: &Op) -> usize {
    match op {
        Op::CallTir { results, .. } => results.len(),
        Op::CallPacked { updates, .. } => updates.len(),
        _ => 1,
    }
}

/// What a binding writes in place: each result with the index of the operand it updates.
pub(crate) fn updates(op: &Op) -> Vec<(usize, usize)> {
    match op {
        Op::SliceUpdate { .. } => vec![(0, 0)],
        Op::CallTir { in_place, .. } => {
            in_place.iter().enumerate().filter_map(|(result, operand)| operand.map(|o| (result, o))).collect()
        }
        Op::CallPacked { updates, .. } => updates.iter().copied().enumerate().collect(),
        _ => Vec::new(),
    }
}

/// Homes that are written while values in them may still be read: destinations of updates, and stored states.
pub(crate) fn mutable(func: &relax::Function, homes: &Homes) -> BTreeSet<Home> {
    let mut set = BTreeSet::new();
    for binding in func.bindings() {
        set.extend(updates(&binding.op).into_iter().map(|(_, operand)| homes.get(binding.args[operand])));
        if let Op::StoreState { param } = &binding.op {
            set.insert((func.params[*param].value, 0));
        }
    }
    set
}

/// Every piece of memory in which a binding's value lives: one for a tensor, several for a tuple.
pub(crate) fn parts_of(func: &relax::Function, homes: &Homes, value: ValueId) -> Vec<Home> {
    match &func.values[value.0 as usize].ty {
        Type::Tensor(_) => vec![homes.get(value)],
        Type::Tuple(items) => (0..items.len()).map(|i| homes.part((value, i))).collect(),
        Type::Shape(_) => Vec::new(),
    }
}
