//! The parts of `FuseLoops`, in the order in which they run.

mod classes;
mod place;
mod prepare;
mod tree;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::tir::{BufId, VarId};

use super::access::{Access, accesses};
use super::fuse_loops::{Fused, Room};
use super::stage::Staged;
use place::Place;
use tree::Node;

pub(crate) use classes::Classes;
pub(crate) use write::{redirected, redirected_loads};

/// A kernel whose stages are to share loops.
pub(crate) struct Fusion {
    staged: Staged,
    /// Of each stage, the variable that runs innermost, if it is a spatial one of a reduction.
    columns: BTreeMap<usize, VarId>,
    /// Whether stages that compute element by element keep their innermost loop along a row.
    along_rows: bool,
    /// Of each stage.
    accesses: Vec<Vec<Access>>,
    classes: Classes,
    places: BTreeMap<BufId, Place>,
}

impl Fusion {
    /// `by_rows` lets reductions walk along rows of their result, where that is how they walk along their operands.
    pub(crate) fn new(mut staged: Staged, by_rows: bool) -> Fusion {
        prepare::split_starts(&mut staged);
        let columns = if by_rows { prepare::columns(&staged) } else { BTreeMap::new() };
        let columns = prepare::own_accumulators(&mut staged, columns);
        let accesses: Vec<_> = staged.stages.iter().map(|s| accesses(staged.b.func(), s)).collect();
        let classes = Classes::of(&staged, &accesses);
        Fusion { staged, columns, along_rows: false, accesses, classes, places: BTreeMap::new() }
    }

    /// The same, but stages that compute element by element share no loop along a row unless it is their innermost one.
    pub(crate) fn along_rows(staged: Staged) -> Fusion {
        Fusion { along_rows: true, ..Fusion::new(staged, true) }
    }

    /// Shares loops, places buffers, and puts the function together.
    pub(crate) fn run(mut self, room: Room) -> Fused {
        let all: Vec<usize> = (0..self.staged.stages.len()).collect();
        let tree: Vec<Node> = self.tree(&all, &BTreeSet::new());
        let paths = tree::paths(&tree, all.len());
        self.place(&paths, room);
        let spilled: Vec<BufId> = self.places.iter().filter(|(_, p)| **p == Place::Memory).map(|(b, _)| *b).collect();
        let bytes = |buf: &BufId| self.staged.b.buf(*buf).bytes().unwrap_or(i64::MAX);
        let memory = spilled.iter().map(bytes).fold(0, i64::saturating_add);
        let strided = self.strided(&paths);
        Fused { func: self.write(&tree), spilled: spilled.len(), memory, strided }
    }
}
