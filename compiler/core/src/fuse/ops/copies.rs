//! Kernels that only move elements, once per reader, so that each reader may take up its own.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::relax::{self, Binding, BindingBlock, Op, ValueId};

use crate::fuse::pattern::Kind;

/// Copies, by the value that each is a copy of.
pub(crate) type Copies = BTreeMap<ValueId, ValueId>;

/// Gives every reader of a moving kernel a copy of it, within the number of bindings that are there.
pub(crate) fn copy_movers(
    func: &mut relax::Function,
    blocks: &mut [BindingBlock],
    outside: &BTreeSet<ValueId>,
    kinds: &BTreeMap<String, Kind>,
) -> Copies {
    let mut copies = Copies::new();
    let mut budget: usize = blocks.iter().map(|b| b.bindings.len()).sum();
    let mut readers = Readers::of(blocks);
    // From the end, so that what a copy reads is copied after it.
    for at in readers.places().into_iter().rev() {
        let binding = &blocks[at.0].bindings[at.1];
        let users = readers.calls(binding.out, blocks, kinds);
        let all = readers.count(binding.out) == users.len() && !outside.contains(&binding.out);
        let keep = usize::from(all);
        if !moves(binding, kinds) || users.len() <= keep || users.len() - keep > budget {
            continue;
        }
        let binding = binding.clone();
        for user in users.into_iter().skip(keep) {
            budget -= 1;
            let data = func.values[binding.out.0 as usize].clone();
            func.values.push(data);
            let new = ValueId(func.values.len() as u32 - 1);
            copies.insert(new, binding.out);
            readers.copy(&binding, new, user, at);
            let reader = readers.binding(blocks, user);
            reader.args.iter_mut().filter(|a| **a == binding.out).for_each(|a| *a = new);
        }
    }
    readers.insert(blocks);
    copies
}

fn moves(binding: &Binding, kinds: &BTreeMap<String, Kind>) -> bool {
    matches!(&binding.op, Op::CallTir { func, .. } if kinds.get(func).is_some_and(|k| k.movement))
}

/// Block and index of a binding; [`COPY`] and index of a copy that is not in a block yet.
type At = (usize, usize);
const COPY: usize = usize::MAX;

/// Who reads each value, and copies that are still to be put into the blocks.
struct Readers {
    of: BTreeMap<ValueId, BTreeSet<At>>,
    /// Reads by anything but bindings of the body itself.
    inner: BTreeSet<ValueId>,
    new: Vec<(At, Binding)>,
    places: Vec<At>,
}

impl Readers {
    fn of(blocks: &[BindingBlock]) -> Readers {
        let mut readers = Readers { of: BTreeMap::new(), inner: BTreeSet::new(), new: Vec::new(), places: Vec::new() };
        for (b, block) in blocks.iter().enumerate() {
            for (n, binding) in block.bindings.iter().enumerate() {
                readers.places.push((b, n));
                for arg in &binding.args {
                    readers.of.entry(*arg).or_default().insert((b, n));
                }
                for region in &binding.regions {
                    let inner = relax::bindings_of(&region.blocks);
                    readers.inner.extend(inner.flat_map(|b| b.args.iter().copied()));
                    readers.inner.extend(
                        relax::bindings_of(&region.blocks)
                            .flat_map(|b| b.regions.iter().flat_map(|r| r.results.iter().copied())),
                    );
                    readers.inner.extend(region.results.iter().copied());
                }
            }
        }
        readers
    }

    fn places(&self) -> Vec<At> {
        self.places.clone()
    }

    fn count(&self, v: ValueId) -> usize {
        self.of.get(&v).map_or(0, BTreeSet::len) + usize::from(self.inner.contains(&v))
    }

    /// The calls of kernels among the readers.
    fn calls(&self, v: ValueId, blocks: &[BindingBlock], kinds: &BTreeMap<String, Kind>) -> Vec<At> {
        let call = |at: &&At| {
            let op = if at.0 == COPY { &self.new[at.1].1.op } else { &blocks[at.0].bindings[at.1].op };
            matches!(op, Op::CallTir { func, .. } if kinds.contains_key(func))
        };
        self.of.get(&v).into_iter().flatten().filter(call).copied().collect()
    }

    fn copy(&mut self, binding: &Binding, new: ValueId, user: At, at: At) {
        let place = (COPY, self.new.len());
        for arg in &binding.args {
            self.of.entry(*arg).or_default().insert(place);
        }
        self.new.push((at, Binding { out: new, ..binding.clone() }));
        self.of.entry(binding.out).or_default().remove(&user);
        self.of.entry(new).or_default().insert(user);
    }

    fn binding<'b>(&'b mut self, blocks: &'b mut [BindingBlock], at: At) -> &'b mut Binding {
        if at.0 == COPY { &mut self.new[at.1].1 } else { &mut blocks[at.0].bindings[at.1] }
    }

    /// Puts each copy behind what it is a copy of.
    fn insert(self, blocks: &mut [BindingBlock]) {
        let mut by_place: BTreeMap<At, Vec<Binding>> = BTreeMap::new();
        for (at, binding) in self.new {
            by_place.entry(at).or_default().push(binding);
        }
        for (b, block) in blocks.iter_mut().enumerate() {
            let old = std::mem::take(&mut block.bindings);
            for (n, binding) in old.into_iter().enumerate() {
                block.bindings.push(binding);
                block.bindings.extend(by_place.remove(&(b, n)).unwrap_or_default());
            }
        }
    }
}
