//! The rule for kernels that go along an axis in order and carry scalars from element to element: running sums and
//! products, and the places of extremes along columns.
//!
//! Such a chain takes as long as its operation does, again for each element, and nothing about it can be reordered. But
//! chains are independent of each other. Where they lie side by side in memory a row of them is taken at a time, in
//! vectors, with what they carry in a buffer that stays in the first cache. Where each lies along a row, some rows are
//! gone along together, a few elements of each at a time, so that the core works on several chains at once. Each chain
//! keeps its order, so strict functions gain as others do.

mod carried;
mod columns;
mod rows;

use tenfold_ir::Module;
use tenfold_ir::tir::{PrimFunc, verify_bounds};

use super::fallback;
use super::machine::Machine;
use super::{Chosen, Taken};
use crate::fuse::stage::{Stage, Staged};
use crate::tune::Asked;
use carried::Carried;

/// The kernel with its chains side by side; nothing where it has none.
pub(super) fn apply(module: &Module, func: &PrimFunc, machine: &Machine, asked: &Asked) -> Option<Taken> {
    let mut staged = Staged::of(func)?;
    let mut chosen = Chosen::new();
    for stage in std::mem::take(&mut staged.stages) {
        let said = side_by_side(&mut staged, &stage, machine, asked);
        match said {
            Some(said) => chosen.extend(said),
            None => staged.stages.push(stage),
        }
    }
    if chosen.is_empty() {
        return None;
    }
    let (func, more) = fallback::in_shared_loops(module, staged, machine, asked);
    // Every index is proven once more: a symbolic extent may be in the way.
    verify_bounds(&func).is_empty().then(|| Taken { func, chosen: chosen.into_iter().chain(more).collect() })
}

/// Puts what a stage becomes in its place, if it is a chain that has others beside it.
fn side_by_side(staged: &mut Staged, stage: &Stage, machine: &Machine, asked: &Asked) -> Option<Chosen> {
    let carried = Carried::of(staged.b.func(), stage)?;
    if let Some(column) = columns::along(staged.b.func(), stage, &carried) {
        return Some(columns::taken(staged, stage, &carried, column, machine, asked));
    }
    let row = rows::along(staged.b.func(), stage, &carried, machine)?;
    Some(rows::taken(staged, stage, &carried, row, asked))
}
