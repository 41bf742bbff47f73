//! Updates whose destination must survive get a copy to write to.
//!
//! One walk in order: homes are as the copies decided so far make them, reads are by time.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::relax::{self, Binding, Event, Op, ParamKind, Type, ValueId};

use super::copy;
use crate::homes::{Home, Homes, updates as updated};
use crate::timeline::{Tick, Timeline};

/// Puts copies before the updates that need them.
pub(super) fn updates(func: &mut relax::Function) {
    let unsafe_ones = Decider::new(func).decide();
    if unsafe_ones.is_empty() {
        return;
    }
    func.rewrite(|func, mut binding| {
        let mut all = Vec::new();
        for operand in unsafe_ones.get(&binding.out).into_iter().flatten() {
            let made = copy(func, binding.args[*operand]);
            binding.args[*operand] = made.out;
            all.push(made);
        }
        all.push(binding);
        all
    });
}

/// What lives in a home, as far as the walk has come.
#[derive(Default)]
struct Members {
    values: Vec<ValueId>,
    last: Tick,
}

struct Decider<'f> {
    func: &'f relax::Function,
    times: Timeline,
    homes: Homes,
    members: BTreeMap<Home, Members>,
    /// Memory that may not be written: inputs, constants, state that nothing is stored into.
    fixed: BTreeSet<ValueId>,
    /// When a component is last taken out of a tuple.
    taken: BTreeMap<Home, Tick>,
    /// The other branch of each `if` in whose first branch the walk is: what is read there is not read after.
    elsewhere: Vec<(Tick, Tick)>,
    now: Tick,
    unsafe_ones: BTreeMap<ValueId, Vec<usize>>,
}

impl<'f> Decider<'f> {
    fn new(func: &'f relax::Function) -> Self {
        let times = Timeline::new(func);
        let mut taken: BTreeMap<Home, Tick> = BTreeMap::new();
        for binding in func.bindings() {
            if let Op::TupleGet(index) = binding.op {
                let last = taken.entry((binding.args[0], index)).or_default();
                *last = (*last).max(times.last(binding.out));
            }
        }
        Decider {
            func,
            times,
            homes: Homes::default(),
            members: BTreeMap::new(),
            fixed: fixed(func),
            taken,
            elsewhere: Vec::new(),
            now: 0,
            unsafe_ones: BTreeMap::new(),
        }
    }

    fn decide(mut self) -> BTreeMap<ValueId, Vec<usize>> {
        let func = self.func;
        func.params.iter().for_each(|param| self.add(param.value));
        func.walk(|event| self.see(event));
        self.unsafe_ones
    }

    fn see(&mut self, event: Event<'_>) {
        match event {
            Event::Enter(binding) => {
                self.now = self.times.made[binding.out.0 as usize];
                self.update(binding);
            }
            Event::Begin(binding, index, region) => {
                self.homes.see(event);
                region.params.iter().for_each(|param| self.add(*param));
                if let (Op::If, 0, Some(other)) = (&binding.op, index, self.times.regions.get(&(binding.out, 1))) {
                    self.elsewhere.push(*other);
                }
            }
            Event::End(binding, index, _) => {
                if binding.op == Op::If && index == 0 {
                    self.elsewhere.pop();
                }
            }
            Event::Leave(binding) => {
                self.homes.see(event);
                self.add(binding.out);
            }
        }
    }

    /// Records where a value lives; of a tuple, where its components live.
    fn add(&mut self, value: ValueId) {
        match &self.func.values[value.0 as usize].ty {
            Type::Tensor(_) => {
                let (home, last) = (self.homes.get(value), self.times.last(value));
                self.live_in(home, Some(value), last);
            }
            Type::Tuple(items) => {
                for index in 0..items.len() {
                    let last = self.taken.get(&(value, index)).copied().unwrap_or(0);
                    self.live_in(self.homes.part((value, index)), None, last);
                }
            }
            Type::Shape(_) => {}
        }
    }

    fn live_in(&mut self, home: Home, value: Option<ValueId>, last: Tick) {
        let members = self.members.entry(home).or_default();
        members.values.extend(value);
        members.last = members.last.max(last);
    }

    /// Decides for each operand that the binding updates.
    fn update(&mut self, binding: &Binding) {
        for (result, operand) in updated(&binding.op) {
            let home = self.homes.get(binding.args[operand]);
            let others = binding.args.iter().enumerate().filter(|(at, _)| *at != operand);
            let shared = others.into_iter().any(|(_, arg)| self.homes.get(*arg) == home);
            if shared || self.fixed.contains(&home.0) || self.read_later(home) {
                self.unsafe_ones.entry(binding.out).or_default().push(operand);
                // The result lives in the copy, whose number comes later.
                self.homes.share((binding.out, result), (binding.out, result));
            }
        }
    }

    /// Whether a value that lives there now is read after this.
    fn read_later(&self, home: Home) -> bool {
        let Some(members) = self.members.get(&home) else { return false };
        if members.last <= self.now {
            return false;
        }
        if self.elsewhere.is_empty() {
            return true;
        }
        let after =
            |tick: &Tick| *tick > self.now && !self.elsewhere.iter().any(|(begin, end)| begin <= tick && tick <= end);
        members.values.iter().any(|value| self.times.reads[value.0 as usize].iter().any(after))
    }
}

fn fixed(func: &relax::Function) -> BTreeSet<ValueId> {
    let stored: BTreeSet<usize> = func
        .bindings()
        .filter_map(|binding| match binding.op {
            Op::StoreState { param } => Some(param),
            _ => None,
        })
        .collect();
    let params = func.params.iter().enumerate();
    let given = params.filter(|(i, p)| p.kind != ParamKind::State || !stored.contains(i)).map(|(_, p)| p.value);
    let constants = func.bindings().filter(|b| matches!(b.op, Op::Const(_))).map(|b| b.out);
    given.chain(constants).collect()
}
