//! Accesses that no order stands between: two of one element, a write among them, of different iterations of a loop
//! whose iterations run at once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use crate::Loc;
use crate::tir::{LoopKind, PrimFunc, Stmt, ThreadAxis};

/// An iteration of a loop that runs at once with the others of the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Step {
    /// One run of the loop; loops over thread axes inside of one another or beside one another are one.
    run: u64,
    /// Which axis of it.
    axis: Axis,
    /// The iteration.
    at: i64,
}

impl Step {
    /// The number of a thread along x.
    pub(super) fn along_x(&self) -> Option<i64> {
        (self.axis == Axis::Thread(ThreadAxis::Thread(0))).then_some(self.at)
    }
}

/// What makes iterations run at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Axis {
    /// A loop of its own.
    Loop,
    /// Virtual threads.
    Virtual,
    /// A thread axis.
    Thread(ThreadAxis),
}

impl Axis {
    /// Whether a barrier orders what different iterations do.
    fn has_barriers(self) -> bool {
        match self {
            Axis::Loop | Axis::Thread(ThreadAxis::Block(_)) => false,
            Axis::Virtual | Axis::Thread(ThreadAxis::Thread(_)) => true,
        }
    }
}

/// The iterations around, one for all accesses between their begin and their end.
pub(super) type Steps = Rc<Vec<Step>>;

impl Touch<'_> {
    /// Whether the one that came first surely came first.
    /// What is shared by the threads of a block is another one in another block.
    fn ordered(&self, other: &Touch<'_>, shared: bool) -> bool {
        if Rc::ptr_eq(&self.steps, &other.steps) {
            return true;
        }
        let parted = self.steps.iter().zip(&*other.steps).find(|(a, b)| a != b);
        match parted {
            Some((a, b)) if a.run != b.run => true,
            Some((a, _)) if shared && matches!(a.axis, Axis::Thread(ThreadAxis::Block(_))) => true,
            Some((a, b)) => a.axis.has_barriers() && b.axis.has_barriers() && self.epoch != other.epoch,
            // What stands outside of a loop over threads is done by each of them.
            None => {
                let longer = if self.steps.len() > other.steps.len() { self } else { other };
                let next = longer.steps.get(self.steps.len().min(other.steps.len()));
                next.is_none_or(|s| !matches!(s.axis, Axis::Thread(_)) || self.epoch != other.epoch)
            }
        }
    }
}

/// What a thread did before it arrived at an `mbarrier`: all that it touched up to some number of arrivals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Before {
    steps: Steps,
    arrivals: u64,
}

impl Before {
    /// Adds it to others, of which each thread has one.
    pub(super) fn add_to(&self, all: &mut Vec<Before>) {
        match all.iter_mut().find(|before| before.steps == self.steps) {
            Some(known) => known.arrivals = known.arrivals.max(self.arrivals),
            None => all.push(self.clone()),
        }
    }
}

/// What came before the ends of phases that a thread has waited for.
#[derive(Clone, Default)]
pub(super) struct Waited {
    /// The thread: those that need not wait for each other have one state after the other.
    steps: Steps,
    before: Vec<Before>,
}

/// A statement that touched an element.
#[derive(Clone)]
struct Touch<'m> {
    /// Where it stands among the iterations around it.
    steps: Steps,
    /// How many barriers were passed before.
    epoch: u64,
    /// Arrivals at any `mbarrier` before it.
    arrivals: u64,
    func: &'m PrimFunc,
    stmt: &'m Stmt,
    loc: Loc,
}

impl Touch<'_> {
    /// Whether it came before another one, of a thread that has waited for these.
    fn is_before(&self, other: &Touch<'_>, waited: &Waited) -> bool {
        let known = |before: &Before| self.arrivals <= before.arrivals && before.steps == self.steps;
        waited.steps == other.steps && waited.before.iter().any(known)
    }

    fn text(&self) -> String {
        let line = super::super::print::stmt_text(self.func, self.stmt);
        let steps: Vec<String> = self.steps.iter().map(step_text).collect();
        format!("`{line}` at {} ({})", self.loc, steps.join(", "))
    }
}

fn step_text(step: &Step) -> String {
    let word = match step.axis {
        Axis::Loop => "iteration".into(),
        Axis::Virtual => "vthread".into(),
        Axis::Thread(axis) => super::super::print::loop_name(LoopKind::ThreadBound(axis)),
    };
    format!("{word} {}", step.at)
}

/// The last write of an element, and reads since.
#[derive(Default)]
struct Shadow<'m> {
    write: Option<Touch<'m>>,
    /// Two that are not ordered stand for all.
    reads: [Option<Touch<'m>>; 2],
}

impl<'m> Shadow<'m> {
    /// One more read.
    fn read(&mut self, touch: Touch<'m>, shared: bool) {
        if self.reads.iter().flatten().all(|read| read.ordered(&touch, shared)) {
            self.reads = [Some(touch), None];
            return;
        }
        let own = self.reads.iter().position(|read| read.as_ref().is_some_and(|read| read.steps == touch.steps));
        if let Some(place) = own.or_else(|| self.reads.iter().position(Option::is_none)) {
            self.reads[place] = Some(touch);
        }
    }
}

/// The shadows of a memory.
#[derive(Default)]
struct Shadows<'m> {
    /// Of each cell up to the last one that was ever touched, the number of its shadow, from 1 on.
    numbers: Vec<u32>,
    /// Shadows and their cells.
    known: Vec<(usize, Shadow<'m>)>,
}

impl<'m> Shadows<'m> {
    fn of(&mut self, cell: usize) -> &mut Shadow<'m> {
        if self.numbers.len() <= cell {
            self.numbers.resize(cell + 1, 0);
        }
        let number = &mut self.numbers[cell];
        if *number == 0 {
            self.known.push((cell, Shadow::default()));
            *number = self.known.len() as u32;
        }
        &mut self.known[*number as usize - 1].1
    }

    fn forget(&mut self, cell: usize) {
        if self.numbers.get(cell).is_some_and(|number| *number != 0) {
            *self.of(cell) = Shadow::default();
        }
    }

    /// Forgets all, in time that what was touched asks for: a vector of a large memory is a loop of its own.
    fn clear(&mut self) {
        for (cell, _) in self.known.drain(..) {
            self.numbers[cell] = 0;
        }
    }
}

/// Hashes the number of a memory or of a cell by a product: each access asks for one of each, and nobody chooses them so
/// that they meet.
#[derive(Default)]
pub(super) struct Numbers(u64);

impl Hasher for Numbers {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // Of an odd factor with bits everywhere, whose products differ in their last bits and in their first.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// By such numbers.
pub(super) type Table<K, V> = HashMap<K, V, BuildHasherDefault<Numbers>>;

/// What is known of accesses inside of loops whose iterations run at once.
#[derive(Default)]
pub(super) struct Races<'m> {
    steps: Steps,
    /// How many barriers were passed.
    epoch: u64,
    runs: u64,
    /// How often threads arrived at an `mbarrier`.
    arrivals: u64,
    suspect: Option<String>,
    /// By the numbers of memories.
    shadows: Vec<Shadows<'m>>,
    /// Memories that have shadows.
    touched: Vec<usize>,
    /// How many iterations were around where a memory was allocated that each of them has of its own; 0 of others.
    own: Vec<usize>,
}

impl<'m> Races<'m> {
    /// Enters a loop; `None` if its iterations run in order.
    pub(super) fn enter(&mut self, kind: LoopKind) -> Option<Step> {
        let axis = match kind {
            LoopKind::Serial | LoopKind::Reduction | LoopKind::Unrolled => return None,
            LoopKind::Parallel | LoopKind::Vectorized => Axis::Loop,
            LoopKind::ThreadBound(axis) => Axis::Thread(axis),
            LoopKind::VThread => Axis::Virtual,
        };
        if self.steps.is_empty() {
            self.touched.drain(..).for_each(|memory| self.shadows[memory].clear());
        }
        self.runs += 1;
        let around = self.steps.iter().find(|s| matches!(s.axis, Axis::Thread(_))).map(|s| s.run);
        let run = around.filter(|_| matches!(axis, Axis::Thread(_))).unwrap_or(self.runs);
        Some(Step { run, axis, at: 0 })
    }

    /// One iteration of it begins.
    pub(super) fn push(&mut self, step: &Option<Step>, at: i64) {
        if let Some(step) = step {
            Rc::make_mut(&mut self.steps).push(Step { at, ..step.clone() });
        }
    }

    /// It ends.
    pub(super) fn pop(&mut self, step: &Option<Step>) {
        if step.is_some() {
            Rc::make_mut(&mut self.steps).pop();
        }
    }

    /// The iterations around, to be taken up again by [`Races::resume`].
    pub(super) fn steps(&self) -> Steps {
        self.steps.clone()
    }

    /// Goes on in these iterations.
    pub(super) fn resume(&mut self, steps: &Steps) {
        self.steps.clone_from(steps);
    }

    /// All threads have come to one place.
    pub(super) fn barrier(&mut self) {
        self.epoch += 1;
    }

    /// The thread that runs arrives at an `mbarrier`.
    pub(super) fn arrive(&mut self) -> Before {
        self.arrivals += 1;
        Before { steps: self.steps.clone(), arrivals: self.arrivals - 1 }
    }

    /// The thread that runs has waited for what came before these arrivals.
    pub(super) fn wait(&self, waited: &mut Waited, before: &[Before]) {
        if waited.steps != self.steps {
            *waited = Waited { steps: self.steps.clone(), before: Vec::new() };
        }
        before.iter().for_each(|before| before.add_to(&mut waited.before));
    }

    /// Whether an axis of threads is around.
    pub(super) fn in_threads(&self) -> bool {
        self.steps.iter().any(|s| matches!(s.axis, Axis::Thread(_)))
    }

    /// An error that a race explains, if one is found before the loops end.
    pub(super) fn suspect(&mut self, error: String) -> Result<(), String> {
        if self.steps.is_empty() {
            return Err(error);
        }
        self.suspect.get_or_insert(error);
        Ok(())
    }

    /// What was suspected, once no loop is around whose iterations run at once.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        if !self.steps.is_empty() {
            return Ok(());
        }
        self.suspect.take().map_or(Ok(()), Err)
    }

    /// What stands between accesses of a cell so far and those to come is known otherwise.
    pub(super) fn order(&mut self, memory: usize, cell: i64) {
        if let Some(shadows) = self.shadows.get_mut(memory) {
            shadows.forget(cell as usize);
        }
    }

    /// A memory is another one from now on.
    pub(super) fn forget(&mut self, memory: usize) {
        if let Some(shadows) = self.shadows.get_mut(memory) {
            shadows.clear();
        }
        if let Some(own) = self.own.get_mut(memory) {
            *own = 0;
        }
    }

    /// A memory is made that the iterations around share with no others.
    pub(super) fn allocated(&mut self, memory: usize) {
        if self.own.len() <= memory {
            self.own.resize(memory + 1, 0);
        }
        self.own[memory] = self.steps.len();
    }

    /// A statement of a thread that has waited for some others reads or writes a cell; both statements, if no order stands
    /// between them.
    pub(super) fn touch(
        &mut self,
        (memory, cell): (usize, i64),
        (write, shared): (bool, bool),
        (func, stmt, loc): (&'m PrimFunc, &'m Stmt, Loc),
        waited: &Waited,
    ) -> Result<(), String> {
        // What was made here is touched by others in loops inside of this one, which come in order with what is done here.
        if self.steps.is_empty() || self.own.get(memory) == Some(&self.steps.len()) {
            return Ok(());
        }
        let (steps, epoch, arrivals) = (self.steps.clone(), self.epoch, self.arrivals);
        let touch = Touch { steps, epoch, arrivals, func, stmt, loc };
        if self.shadows.len() <= memory {
            self.shadows.resize_with(memory + 1, Shadows::default);
        }
        let shadows = &mut self.shadows[memory];
        if shadows.known.is_empty() {
            self.touched.push(memory);
        }
        let shadow = shadows.of(cell as usize);
        let others = shadow.write.iter().chain(shadow.reads.iter().flatten().filter(|_| write));
        let mut others = others.into_iter().filter(|other| !other.ordered(&touch, shared));
        if let Some(other) = others.find(|other| !other.is_before(&touch, waited)) {
            return Err(format!("{} and {}", other.text(), touch.text()));
        }
        if write {
            *shadow = Shadow { write: Some(touch), reads: [None, None] };
        } else {
            shadow.read(touch, shared);
        }
        Ok(())
    }
}
