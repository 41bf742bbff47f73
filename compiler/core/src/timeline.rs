//! When values are made and read, as ticks of a walk over the function: a later tick runs later, but for what loops
//! repeat. A value that a loop reads and does not make is read until the loop ends.

use std::collections::BTreeMap;

use tenfold_ir::relax::{self, Binding, Event, Op, ValueId};

/// A point of the walk.
pub(crate) type Tick = usize;

/// The ticks of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    /// By value: when it is made. A loop's or branch's value is made where the binding begins.
    pub made: Vec<Tick>,
    /// By value: when it is read, in order.
    pub reads: Vec<Vec<Tick>>,
    /// Begin and end of each region, by its binding's value and its index.
    pub regions: BTreeMap<(ValueId, usize), (Tick, Tick)>,
    /// When bindings with regions are done.
    pub leaves: BTreeMap<ValueId, Tick>,
}

impl Timeline {
    /// Walks over the function.
    pub(crate) fn new(func: &relax::Function) -> Timeline {
        let count = func.values.len();
        let times = Timeline { made: vec![0; count], reads: vec![Vec::new(); count], ..Timeline::default() };
        let mut clock = Clock { times, now: 0, loops: Vec::new(), depth: vec![0; count] };
        func.walk(|event| clock.see(event));
        let end = clock.now + 1;
        func.results.iter().for_each(|result| clock.times.reads[result.0 as usize].push(end));
        clock.times
    }

    /// When a value is last read, or made if nothing reads it.
    pub(crate) fn last(&self, value: ValueId) -> Tick {
        let made = self.made[value.0 as usize];
        self.reads[value.0 as usize].last().map_or(made, |last| made.max(*last))
    }
}

struct Clock {
    times: Timeline,
    now: Tick,
    /// Values that the open loops read and do not make.
    loops: Vec<Vec<ValueId>>,
    /// By value: in how many loops it is made.
    depth: Vec<usize>,
}

impl Clock {
    fn see(&mut self, event: Event<'_>) {
        match event {
            Event::Enter(binding) => {
                self.now += 1;
                binding.args.iter().for_each(|arg| self.read(*arg));
                self.make(binding.out);
                if is_loop(binding) {
                    self.loops.push(Vec::new());
                }
            }
            Event::Begin(binding, index, region) => {
                self.now += 1;
                self.times.regions.insert((binding.out, index), (self.now, self.now));
                region.params.iter().for_each(|param| self.make(*param));
            }
            Event::End(binding, index, region) => {
                self.now += 1;
                region.results.iter().for_each(|result| self.read(*result));
                if let Some((_, end)) = self.times.regions.get_mut(&(binding.out, index)) {
                    *end = self.now;
                }
            }
            Event::Leave(binding) if !binding.regions.is_empty() => self.leave(binding),
            Event::Leave(_) => {}
        }
    }

    fn leave(&mut self, binding: &Binding) {
        self.now += 1;
        self.times.leaves.insert(binding.out, self.now);
        if is_loop(binding) {
            let repeated = self.loops.pop().unwrap_or_default();
            repeated.into_iter().for_each(|value| self.read(value));
        }
    }

    fn make(&mut self, value: ValueId) {
        self.times.made[value.0 as usize] = self.now;
        self.depth[value.0 as usize] = self.loops.len();
    }

    fn read(&mut self, value: ValueId) {
        let reads = &mut self.times.reads[value.0 as usize];
        let again = reads.last() == Some(&self.now);
        if !again {
            reads.push(self.now);
        }
        if let Some(open) = self.loops.get_mut(self.depth[value.0 as usize])
            && open.last() != Some(&value)
        {
            open.push(value);
        }
    }
}

fn is_loop(binding: &Binding) -> bool {
    matches!(binding.op, Op::For { .. } | Op::While)
}
