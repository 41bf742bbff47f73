//! `FuseLoops`: the stages of a kernel share loops, so that what lies between them shrinks.
//!
//! From phase `blocks` to `scheduled`, for every prim-func that is nothing but stages and that no schedule was applied
//! to. Reductions start outside of their loop; an innermost loop walks along rows of what it reads; stages that work
//! on the same rows run in one loop over the rows. A buffer between two stages becomes a scalar, takes the place of
//! the result where that is written later at the same element, or becomes a few elements on the stack; what cannot is
//! left to `AllocateWorkspace`.
//!
//! It never changes what is computed, nor in which order the terms of a sum are added.
//!
//! It knows loops and buffers, and neither relax nor why the stages are in one kernel.

use tenfold_ir::Module;
use tenfold_ir::tir::PrimFunc;

use super::loops::Fusion;
use super::stage::Staged;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass =
    Pass::on_prim_func("FuseLoops", &fuse_loops).in_phase(PassPhase::Schedule).lowering().about(
        "lets the stages of a kernel share loops, so that what lies between them shrinks or takes the result's place",
    );

/// Runs on every prim-func.
fn fuse_loops(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    Ok(fused(&func).map_or(func, |fused| fused.func))
}

/// A kernel with shared loops.
pub(crate) struct Fused {
    /// The kernel.
    pub func: PrimFunc,
    /// How many buffers are left that need memory of their own.
    pub spilled: usize,
    /// Bytes of these; as many as there can be where nobody knows.
    pub memory: i64,
    /// Whether a stage's innermost loop leaves the rows of what it writes, since others share its loops.
    pub strided: bool,
}

/// Where buffers between stages may lie.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    /// Bytes that the buffers of a kernel may take on the stack.
    pub stack: i64,
    /// Bytes from which on a result is written past the caches, where the target can, and what they may take on the stack then.
    pub past_caches: Option<(i64, i64)>,
}

/// The room of every kernel on any target.
const ANYWHERE: Room = Room { stack: 1024, past_caches: None };

/// A kernel with shared loops; `None` where it is not made of stages.
pub(crate) fn fused(func: &PrimFunc) -> Option<Fused> {
    Some(fused_stages(Staged::of(func)?, ANYWHERE))
}

/// Stages with shared loops.
pub(crate) fn fused_stages(staged: Staged, room: Room) -> Fused {
    let by_rows = Fusion::new(staged.clone(), true).run(room);
    if by_rows.spilled == 0 {
        return by_rows;
    }
    let by_elements = by_elements(staged, room);
    if by_elements.spilled == 0 { by_elements } else { by_rows }
}

/// Stages with shared loops, all of which but those of columns walk along rows.
pub(crate) fn along_rows(staged: Staged, room: Room) -> Fused {
    Fusion::along_rows(staged).run(room)
}

/// Stages in as few loops as can be, whichever way these walk.
pub(crate) fn by_elements(staged: Staged, room: Room) -> Fused {
    Fusion::new(staged, false).run(room)
}
