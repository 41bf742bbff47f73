//! The rule for every kernel that no other rule takes: its stages share loops, rows are reduced in lanes, and innermost
//! loops along neighbours run in vectors.
//!
//! It never gives up: what cannot run in vectors keeps its loops.

mod ahead;
mod lanes;
mod vectors;

use tenfold_ir::Module;
use tenfold_ir::tir::{PrimFunc, verify_bounds};

use super::machine::Machine;
use crate::fuse::fuse_loops::{Fused, Room, fused_stages};
use crate::fuse::stage::Staged;

/// Bytes that the buffers of a kernel may take on the stack of a machine with vectors.
const STACK: i64 = 8 << 10;

/// The kernel in vectors, as far as it can be.
pub(super) fn apply(module: &Module, func: &PrimFunc, machine: &Machine) -> Option<PrimFunc> {
    let shared = Staged::of(func).map(|staged| shared(staged, machine));
    Some(vectors::in_vectors(module, shared.unwrap_or_else(|| func.clone()), machine))
}

/// The stages in shared loops, rows reduced in lanes unless that takes memory.
fn shared(staged: Staged, machine: &Machine) -> PrimFunc {
    let room = Room { stack: STACK, past_caches: machine.past_caches };
    let mut in_lanes = staged.clone();
    let plain = fused_stages(staged, room);
    if !lanes::rows(&mut in_lanes, machine) {
        return plain.func;
    }
    let Fused { func, spilled, .. } = fused_stages(in_lanes, room);
    // Every index is proven once more: where a symbolic extent is in the way, the rows stay whole.
    if spilled <= plain.spilled && verify_bounds(&func).is_empty() { func } else { plain.func }
}
