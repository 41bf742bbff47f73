//! The rule for every kernel that no other rule takes: its stages share loops, rows are reduced in lanes, and innermost
//! loops along neighbours run in vectors.
//!
//! It never gives up: what cannot run in vectors keeps its loops.

mod ahead;
mod columns;
mod interchange;
mod lanes;
mod partial;
mod vectors;

use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufUse, Expr, ExprId, IterKind, Param, PrimFunc, Stmt, Ty, verify_bounds};
use tenfold_ir::{DType, Module};

use super::machine::Machine;
use super::{Chosen, Taken};
use crate::fuse::fuse_loops::{Fused, Room, along_rows, by_elements, fused_stages};
use crate::fuse::stage::{Stage, Staged};
use crate::tune::Asked;
pub(super) use vectors::with_tables;

/// Bytes that the buffers of a kernel may take on the stack of a machine with vectors.
const STACK: i64 = 8 << 10;

/// The part of the second cache that they may take besides where the result is written past the caches, and the most bytes of
/// it: a row that is as long need not go through memory and back. Some threads have stacks of 128 KB.
const OF_SECOND: i64 = 8;
const MOST: i64 = 64 << 10;

/// Others that may be asked for.
const STACKS: [i64; 3] = [2 << 10, 8 << 10, 32 << 10];

/// The kernel in vectors, as far as it can be.
pub(super) fn apply(module: &Module, func: &PrimFunc, machine: &Machine, asked: &Asked) -> Option<Taken> {
    let (func, chosen) = match Staged::of(func) {
        Some(staged) => of_stages(module, staged, machine, asked),
        None => {
            let (func, made) = vectors::in_vectors(module, func.clone(), machine, asked);
            (func, chosen(&made))
        }
    };
    Some(Taken { func, chosen })
}

/// Stages in shared loops, rows reduced in lanes, and innermost loops in vectors.
pub(super) fn of_stages(module: &Module, staged: Staged, machine: &Machine, asked: &Asked) -> (PrimFunc, Chosen) {
    let (func, said) = shared(staged, machine, asked);
    let (func, made) = vectors::in_vectors(module, func, machine, asked);
    (func, said.into_iter().chain(chosen(&made)).collect())
}

/// Whether a kernel scales integers of 8 bits element by element: microcontrollers have vectors for that which LLVM would
/// not find in plain loops, and what else they do it finds.
pub(super) fn scales(func: &PrimFunc) -> bool {
    let Some(staged) = Staged::of(func) else { return false };
    let func = staged.b.func();
    let bytes = |stage: &Stage| {
        let spatial = stage.iters.iter().all(|i| i.kind == IterKind::Spatial);
        spatial && matches!(&stage.body, Stmt::Store { .. })
    };
    let product = |id: ExprId| {
        let long = func.exprs.ty(id) == Ty::scalar(DType::I64);
        long && matches!(func.exprs.get(id), Expr::Binary(BinaryOp::Mul, ..))
    };
    let stored = |param: &Param| match param {
        Param::Buffer(buf, BufUse::Out) => func.buffers[buf.0 as usize].dtype == DType::I8,
        Param::Buffer(_, BufUse::In) => true,
        Param::Buffer(_, BufUse::InOut) | Param::Value(_) | Param::Workspace => false,
    };
    let values = staged.stages.iter().flat_map(|stage| match &stage.body {
        Stmt::Store { value, .. } => func.reachable([*value]),
        _ => Vec::new(),
    });
    staged.stages.iter().all(bytes) && func.params.iter().all(stored) && values.into_iter().any(product)
}

/// Stages as they are in shared loops, and innermost ones in vectors; what was made of these.
pub(super) fn in_shared_loops(module: &Module, staged: Staged, machine: &Machine, asked: &Asked) -> (PrimFunc, Chosen) {
    let fused = fused_stages(staged, room(STACK, machine));
    let (func, made) = vectors::in_vectors(module, fused.func, machine, asked);
    (func, chosen(&made))
}

/// Room on the stack, more of it where nobody asks for another size and the result goes past the caches.
fn room(stack: i64, machine: &Machine) -> Room {
    let row = if stack == STACK { MOST.min(machine.second_bytes / OF_SECOND) } else { 0 };
    Room { stack, past_caches: machine.past_caches.map(|from| (from, stack + row)) }
}

/// What was made of the innermost loops.
fn chosen(made: &vectors::Made) -> Chosen {
    let mut all = Chosen::new();
    if let Some(width) = made.widest {
        all.push(("tile", format!("1 x {width}")));
    }
    let of = |n: usize, what: &str| format!("{n} innermost loop{} {what}", if n == 1 { "" } else { "s" });
    match (made.vectors, made.refused) {
        (0, 0) => all.push(("vectors", "none: no innermost loop runs along neighbours".into())),
        (0, refused) => all.push(("vectors", format!("none: {}", of(refused, "refused them")))),
        (made, 0) => all.push(("vectors", of(made, "in vectors"))),
        (made, refused) => all.push(("vectors", format!("{}, {refused} refused", of(made, "in vectors")))),
    }
    if made.ahead > 0 {
        all.push(("prefetch", format!("rows of {} buffers, {} turns ahead", made.ahead, made.turns)));
    }
    all
}

/// The stages in shared loops, reductions of much in parts, rows reduced in lanes unless that takes memory, columns side by
/// side.
fn shared(mut staged: Staged, machine: &Machine, asked: &Asked) -> (PrimFunc, Chosen) {
    let stack = if staged.stages.len() > 1 { asked.number("stack", STACK, STACKS) } else { STACK };
    let room = room(stack, machine);
    interchange::interchange(&mut staged, machine);
    let parts = partial::in_parts(&mut staged, asked);
    let said: Chosen = parts.map(|n| ("parts", format!("{n}, each with results of its own"))).into_iter().collect();
    let mut in_lanes = staged.clone();
    let plain = fused_stages(staged.clone(), room);
    if !lanes::rows(&mut in_lanes, machine, asked) {
        return match parts {
            // Results of parts go through memory: a loop over columns around all of it would leave the rows.
            Some(_) => (along_rows(staged, room).func, said),
            None => strided(staged, plain, room, machine, asked),
        };
    }
    let Fused { func, spilled, .. } = fused_stages(in_lanes, room);
    // Every index is proven once more: where a symbolic extent is in the way, the rows stay whole.
    let good = spilled <= plain.spilled && verify_bounds(&func).is_empty();
    let func = if good && asked.either("lanes", true, ["no", "yes"]) { func } else { plain.func };
    (func, said)
}

/// The stages where those that share loops may leave the rows: a tile of columns at a time, or in more loops that walk along
/// rows. What is too large for the caches is read in whole rows, more often, sooner than a few neighbours of each row.
fn strided(staged: Staged, plain: Fused, room: Room, machine: &Machine, asked: &Asked) -> (PrimFunc, Chosen) {
    if !plain.strided && plain.spilled == 0 {
        return (plain.func, Chosen::new());
    }
    let by_rows = || {
        let rows = along_rows(staged.clone(), room);
        let fits = rows.spilled <= plain.spilled || rows.memory <= machine.second_bytes;
        let better = plain.strided && !rows.strided && fits;
        better.then(|| (rows.func, vec![("rows", "one after the other, in more loops".into())]))
    };
    let by_columns = || columns(staged.clone(), room, machine, asked);
    let found = match is_far(staged.b.func(), machine) {
        true => by_rows().or_else(by_columns),
        false => by_columns().or_else(by_rows),
    };
    found.unwrap_or((plain.func, Chosen::new()))
}

/// Whether a kernel is passed more than a core's share of the last cache leaves room for beside other data.
fn is_far(func: &PrimFunc, machine: &Machine) -> bool {
    let bytes = |param: &Param| match param {
        Param::Buffer(buf, _) => func.buffers[buf.0 as usize].bytes(),
        Param::Value(_) | Param::Workspace => None,
    };
    let most = func.params.iter().filter_map(bytes).max();
    most.zip(machine.past_caches).is_some_and(|(bytes, from)| bytes >= from / 2)
}

/// Stages that share the loop over the columns of what they read and write, a tile of columns at a time.
fn columns(staged: Staged, room: Room, machine: &Machine, asked: &Asked) -> Option<(PrimFunc, Chosen)> {
    let Fused { func, spilled, .. } = by_elements(staged, room);
    let (func, width) = (spilled == 0).then(|| columns::side_by_side(func, machine, asked)).flatten()?;
    let said = format!("{width} side by side: what they keep stays in the first cache");
    verify_bounds(&func).is_empty().then(|| (func, vec![("columns", said)]))
}
