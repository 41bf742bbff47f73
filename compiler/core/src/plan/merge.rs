//! Memory that may be one though values in it have different homes: a loop's first value and what it carries, what a
//! turn or a branch hands on and where it goes. A copy between two merged homes is none.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::relax::{self, Binding, Op, Region, ValueId};

use super::Life;
use crate::homes::{Home, Homes};
use crate::timeline::{Tick, Timeline};

/// For each home the one that stands for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Merged {
    into: BTreeMap<Home, Home>,
}

impl Merged {
    /// Decides what is merged.
    pub(super) fn new(func: &relax::Function, homes: &Homes, times: &Timeline, lives: &[Life]) -> Merged {
        let busy = lives.iter().map(|life| (life.home, vec![(life.first, life.last)])).collect();
        let lives = lives.iter().map(|life| (life.home, (life.first, life.last))).collect();
        let mut merger = Merger {
            homes,
            times,
            lives,
            busy,
            members: BTreeMap::new(),
            fixed: fixed(func),
            reads: reads(func, homes, times),
            out: Merged::default(),
        };
        func.bindings().filter(|b| matches!(b.op, Op::If)).for_each(|b| merger.branch(b));
        for binding in func.bindings() {
            match binding.op {
                Op::For { .. } | Op::While => {
                    merger.firsts(binding);
                    merger.nexts(binding);
                }
                Op::If => binding.regions.iter().enumerate().for_each(|(i, region)| merger.chosen(binding, i, region)),
                _ => {}
            }
        }
        merger.out
    }

    /// The home that stands for `home`.
    pub(super) fn root(&self, home: Home) -> Home {
        let mut at = home;
        while let Some(next) = self.into.get(&at) {
            at = *next;
        }
        at
    }

    /// One life for each merged home.
    pub(super) fn lives(&self, all: Vec<Life>) -> Vec<Life> {
        let mut of: BTreeMap<Home, Life> = BTreeMap::new();
        for life in all {
            let root = self.root(life.home);
            let one = of.entry(root).or_insert(Life { home: root, ..life.clone() });
            one.first = one.first.min(life.first);
            one.last = one.last.max(life.last);
        }
        let mut lives: Vec<Life> = of.into_values().collect();
        lives.sort_by_key(|life| (life.first, life.home));
        lives
    }

    fn merge(&mut self, a: Home, b: Home) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.into.insert(a, b);
        }
    }
}

/// When a home holds what is still to be read, both ends included.
type Busy = Vec<(Tick, Tick)>;

/// What holds of a branch's own memory: something only from where a region hands it on, whichever of them ran.
fn chosen_busy(ends: &[Tick], leave: Tick, last: Tick) -> Busy {
    let mut busy: Busy = ends.iter().map(|end| (*end, *end)).collect();
    busy.push((leave, last.max(leave)));
    busy
}

/// The times without those after `from` and before `to`.
fn with_hole(busy: &Busy, from: Tick, to: Tick) -> Busy {
    let cut = |(first, last): &(Tick, Tick)| {
        let before = (*first <= from).then(|| (*first, from.min(*last)));
        let after = (*last >= to).then(|| (to.max(*first), *last));
        [before, after].into_iter().flatten().collect::<Busy>()
    };
    busy.iter().flat_map(cut).collect()
}

/// Whether two homes hold something at once. Those that hand their value on may do it at `one` tick.
fn collide(a: &Busy, b: &Busy, one: bool) -> bool {
    a.iter().any(|(first, last)| {
        b.iter().any(|(other, end)| {
            let (from, to) = (first.max(other), last.min(end));
            if one { from < to } else { from <= to }
        })
    })
}

/// Parameters and constants, whose memory is given.
fn fixed(func: &relax::Function) -> BTreeSet<ValueId> {
    let constants = func.bindings().filter(|b| matches!(b.op, Op::Const(_))).map(|b| b.out);
    func.params.iter().map(|p| p.value).chain(constants).collect()
}

/// When the values in each home are read, in order.
fn reads(func: &relax::Function, homes: &Homes, times: &Timeline) -> BTreeMap<Home, Vec<Tick>> {
    let mut reads: BTreeMap<Home, Vec<Tick>> = BTreeMap::new();
    for (index, ticks) in times.reads.iter().enumerate() {
        let value = ValueId(index as u32);
        if func.values[index].ty.tensor().is_some() {
            reads.entry(homes.get(value)).or_default().extend(ticks);
        }
    }
    reads.values_mut().for_each(|ticks| ticks.sort_unstable());
    reads
}

struct Merger<'f> {
    homes: &'f Homes,
    times: &'f Timeline,
    lives: BTreeMap<Home, (Tick, Tick)>,
    busy: BTreeMap<Home, Busy>,
    /// The homes of which one stands for all, by that one; one that is alone is left out.
    members: BTreeMap<Home, Vec<Home>>,
    fixed: BTreeSet<ValueId>,
    reads: BTreeMap<Home, Vec<Tick>>,
    out: Merged,
}

impl Merger<'_> {
    /// What the value of an `if` has of its own holds nothing while a branch runs.
    fn branch(&mut self, binding: &Binding) {
        let Some(leave) = self.times.leaves.get(&binding.out).copied() else { return };
        let count = binding.regions.len();
        let ends: Vec<Tick> = (0..count).filter_map(|i| Some(self.times.regions.get(&(binding.out, i))?.1)).collect();
        let results = binding.regions.first().map_or(0, |region| region.results.len());
        for home in (0..results).map(|index| (binding.out, index)) {
            if let Some((_, last)) = self.lives.get(&home) {
                self.busy.insert(home, chosen_busy(&ends, leave, *last));
            }
        }
    }

    /// Merges `from` with `to`, where its value is handed on, unless homes merged with them before would collide.
    fn merge(&mut self, from: Home, to: Home) {
        let group = |home: Home| {
            let root = self.out.root(home);
            self.members.get(&root).cloned().unwrap_or_else(|| vec![root])
        };
        let (left, right) = (group(from), group(to));
        if left.contains(&to) {
            return;
        }
        let none = Busy::new();
        let busy = |home: &Home| self.busy.get(home).unwrap_or(&none);
        let collides = left.iter().any(|a| right.iter().any(|b| collide(busy(a), busy(b), *a == from && *b == to)));
        if !collides {
            self.members.remove(&self.out.root(from));
            self.out.merge(from, to);
            self.members.insert(self.out.root(to), [left, right].concat());
        }
    }

    /// A first value that nothing else reads is made where the loop carries it.
    fn firsts(&mut self, binding: &Binding) {
        let begin = self.times.made[binding.out.0 as usize];
        for (index, arg) in binding.args.iter().enumerate() {
            let (home, carried) = (self.homes.get(*arg), self.homes.part((binding.out, index)));
            let once = binding.args.iter().filter(|other| self.homes.get(**other) == home).count() == 1;
            let dies = self.lives.get(&home).is_some_and(|(_, last)| *last == begin);
            if once && dies && !self.fixed.contains(&home.0) {
                self.merge(home, carried);
            }
        }
    }

    /// What a turn hands on is made where the loop carries it, if no old value is read after it is made.
    fn nexts(&mut self, binding: &Binding) {
        let Some(body) = binding.regions.len().checked_sub(1) else { return };
        let Some((begin, end)) = self.times.regions.get(&(binding.out, body)).copied() else { return };
        let region = &binding.regions[body];
        for (index, next) in region.results.iter().enumerate() {
            let (home, carried) = (self.homes.get(*next), self.homes.part((binding.out, index)));
            if !self.made_for(region, home, (begin, end)) {
                continue;
            }
            let made = self.lives.get(&home).map_or(0, |(first, _)| *first);
            let old = self.reads.get(&carried).map_or(0, |ticks| last_before(ticks, end));
            let first_value = || self.first_of(region, home, carried);
            if old < made || (old == made && first_value()) {
                // From its last read on what is carried holds nothing, until the turn hands on.
                let whole = self.busy.get(&carried).cloned().unwrap_or_default();
                self.busy.insert(carried, with_hole(&whole, old, end));
                self.merge(home, carried);
                if self.out.root(home) != self.out.root(carried) {
                    self.busy.insert(carried, whole);
                }
            }
        }
    }

    /// What a branch gives is made where its value is.
    fn chosen(&mut self, binding: &Binding, index: usize, region: &Region) {
        let Some(span) = self.times.regions.get(&(binding.out, index)).copied() else { return };
        for (index, result) in region.results.iter().enumerate() {
            let (home, given) = (self.homes.get(*result), self.homes.part((binding.out, index)));
            if given.0 == binding.out && self.made_for(region, home, span) {
                self.merge(home, given);
            }
        }
    }

    /// Whether memory is made in a region, holds one of its results, and is not used after it.
    fn made_for(&self, region: &Region, home: Home, (begin, end): (Tick, Tick)) -> bool {
        let once = region.results.iter().filter(|other| self.homes.get(**other) == home).count() == 1;
        let inside = self.lives.get(&home).is_some_and(|(first, last)| begin < *first && *last <= end);
        once && inside && !self.fixed.contains(&home.0)
    }

    /// Whether a loop in the region carries `home`, and what `carried` holds is its first value there and no other.
    fn first_of(&self, region: &Region, home: Home, carried: Home) -> bool {
        let mut inner = region.blocks.iter().flat_map(|block| &block.bindings);
        let Some(inner) = inner.find(|b| b.out == home.0 && matches!(b.op, Op::For { .. } | Op::While)) else {
            return false;
        };
        let mut firsts = inner.args.iter().enumerate().filter(|(_, arg)| self.homes.get(**arg) == carried);
        matches!((firsts.next(), firsts.next()), (Some((index, _)), None) if index == home.1)
    }
}

/// The last tick up to `end`.
fn last_before(ticks: &[Tick], end: Tick) -> Tick {
    let count = ticks.partition_point(|tick| *tick <= end);
    count.checked_sub(1).map_or(0, |index| ticks[index])
}
