//! Which variables of different stages run over the same axis of a buffer between them.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::tir::{BufId, ExprId, PrimFunc, VarId};

use crate::fuse::access::{Access, Axis, axes};
use crate::fuse::stage::Staged;

/// Variables in classes, and which pairs of stages depend on each other.
pub(crate) struct Classes {
    parent: BTreeMap<VarId, VarId>,
    extents: BTreeMap<VarId, ExprId>,
    /// Per pair of stages that touch the same memory.
    conflicts: BTreeMap<(usize, usize), Vec<Conflict>>,
}

/// A buffer that two stages touch and one of them writes.
struct Conflict {
    /// The variables that index it alike.
    links: Vec<(VarId, VarId)>,
    /// Whether one of them reads it.
    flow: bool,
}

impl Classes {
    pub(crate) fn of(staged: &Staged, accesses: &[Vec<Access>]) -> Classes {
        let iters = || staged.stages.iter().flat_map(|s| &s.iters);
        let parent = iters().map(|i| (i.var, i.var)).collect();
        let extents = iters().map(|i| (i.var, i.extent)).collect();
        let mut classes = Classes { parent, extents, conflicts: BTreeMap::new() };
        let func = staged.b.func();
        let used: Vec<BTreeMap<BufId, Vec<&Access>>> = accesses.iter().map(|all| by_buffer(all)).collect();
        for t in 0..used.len() {
            for s in 0..t {
                classes.pair(func, (s, t), &used[s], &used[t]);
            }
        }
        classes
    }

    fn pair(
        &mut self,
        func: &PrimFunc,
        at: (usize, usize),
        a: &BTreeMap<BufId, Vec<&Access>>,
        b: &BTreeMap<BufId, Vec<&Access>>,
    ) {
        for (buf, first) in a {
            let Some(second) = b.get(buf) else { continue };
            if !first.iter().chain(second).any(|a| a.write) {
                continue;
            }
            let links = links(func, first, second);
            for (p, q) in &links {
                let (p, q) = (self.find(*p), self.find(*q));
                self.parent.insert(p.max(q), p.min(q));
            }
            let flow = first.iter().chain(second).any(|a| !a.write);
            self.conflicts.entry(at).or_default().push(Conflict { links, flow });
        }
    }

    /// The class of a variable.
    pub(crate) fn find(&self, mut var: VarId) -> VarId {
        while let Some(up) = self.parent.get(&var)
            && *up != var
        {
            var = *up;
        }
        var
    }

    /// Whether variables run equally far.
    pub(crate) fn same_extent(&self, a: VarId, b: VarId) -> bool {
        self.extents.get(&a) == self.extents.get(&b)
    }

    /// Whether two stages may run in one loop of a class: each turn touches what the same turn of the other does.
    pub(super) fn legal(&self, pair: (usize, usize), class: VarId) -> bool {
        self.conflicts.get(&pair).is_none_or(|all| all.iter().all(|c| self.alike(c, class)))
    }

    /// Whether one of two stages hands values to the other within a turn of a loop of a class.
    pub(super) fn flows(&self, pair: (usize, usize), class: VarId) -> bool {
        self.conflicts.get(&pair).is_some_and(|all| all.iter().any(|c| c.flow && self.alike(c, class)))
    }

    fn alike(&self, conflict: &Conflict, class: VarId) -> bool {
        conflict.links.iter().any(|(p, _)| self.find(*p) == class)
    }
}

fn by_buffer(all: &[Access]) -> BTreeMap<BufId, Vec<&Access>> {
    let mut map: BTreeMap<BufId, Vec<&Access>> = BTreeMap::new();
    for access in all {
        map.entry(access.buf).or_default().push(access);
    }
    map
}

/// The variables that index the axes of a buffer alike in both stages.
pub(super) fn links(func: &PrimFunc, first: &[&Access], second: &[&Access]) -> Vec<(VarId, VarId)> {
    let rank = first[0].index.len();
    let of = |axis| Some((only(func, first, axis)?, only(func, second, axis)?));
    let same = |(a, b)| match (a, b) {
        (Axis::Iter(p, k), Axis::Iter(q, l)) if k == l => Some((p, q)),
        _ => None,
    };
    (0..rank).filter_map(of).filter_map(same).collect()
}

/// How all of the accesses index an axis, if they do it alike.
pub(super) fn only(func: &PrimFunc, all: &[&Access], axis: usize) -> Option<Axis> {
    let forms: Vec<Axis> = all.iter().map(|a| axes(func, &a.index)[axis]).collect();
    let mut forms = forms.into_iter();
    let first = forms.next()?;
    (forms.all(|f| f == first) && first != Axis::Other).then_some(first)
}

/// Classes that are loops around a place.
pub(super) type Open = BTreeSet<VarId>;
