//! Sums of products of which one factor is too large for the first cache: it is gone over once, with the rows of the other
//! one inside. (LLVM: loop interchange.)

use tenfold_ir::tir::{BufId, ExprId, IterKind, PrimFunc, VarId, Viewer, written};

use crate::dlight::machine::Machine;
use crate::fuse::access::{loads, names};
use crate::fuse::stage::{Stage, Staged};

/// The part of the second cache that holds what is read again for each element of the large factor.
const OF_SECOND: i64 = 4;

/// Puts the outermost loop, of all stages, inside of the other loops over results, where the largest operand would be read
/// anew in each of its turns.
pub(super) fn interchange(staged: &mut Staged, machine: &Machine) {
    let func = staged.b.func();
    let mut sums = staged.stages.iter().filter(|stage| stage.iters.iter().any(|i| i.kind == IterKind::Reduce));
    let (Some(sum), None) = (sums.next(), sums.next()) else { return };
    let extents = results(func, sum);
    let alike = staged.stages.iter().all(|stage| results(func, stage) == extents);
    if extents.len() < 2 || !alike || !read_anew(func, sum, machine) {
        return;
    }
    for stage in &mut staged.stages {
        let last = extents.len() - 1;
        stage.iters[..=last].rotate_left(1);
    }
}

/// The extents of the loops over results, which are the outer ones; none where they are not, or no numbers.
fn results(func: &PrimFunc, stage: &Stage) -> Vec<i64> {
    let mut viewer = Viewer::new(func);
    let count = stage.iters.iter().take_while(|i| i.kind == IterKind::Spatial).count();
    let inner = stage.iters[count..].iter().all(|i| i.kind == IterKind::Reduce);
    let extents = stage.iters[..count].iter().map(|i| viewer.int(i.extent).as_const()).collect::<Option<Vec<i64>>>();
    extents.filter(|_| inner).unwrap_or_default()
}

/// Whether the outermost loop walks through what is small, and reads what is large again and again.
fn read_anew(func: &PrimFunc, sum: &Stage, machine: &Machine) -> bool {
    let bytes = |buf: BufId| func.buffers[buf.0 as usize].bytes();
    let outer = sum.iters[0].var;
    let mut all = Vec::new();
    for load in loads(func, sum.body.exprs()) {
        let Some(bytes) = bytes(load.buf) else { return false };
        all.push((bytes, walks(func, &load.index, outer), load.buf));
    }
    let own = written(func, &sum.body);
    all.retain(|(.., buf)| !own.contains(buf));
    let large = all.iter().max().filter(|(bytes, walked, _)| !walked && *bytes > machine.way_bytes * machine.ways);
    let small: i64 = all.iter().filter(|(_, walked, _)| *walked).map(|(bytes, ..)| bytes).sum();
    let inner = sum.iters.iter().any(|i| i.kind == IterKind::Spatial && i.var != outer);
    large.is_some() && inner && small > 0 && small <= machine.second_bytes / OF_SECOND
}

fn walks(func: &PrimFunc, index: &[ExprId], var: VarId) -> bool {
    index.iter().any(|i| names(func, *i, var))
}
