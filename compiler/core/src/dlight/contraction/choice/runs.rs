//! Tiles of a single row, which has nothing to multiply that would want other ones: runs of cache lines, and enough sums
//! that none waits for another.

use std::collections::BTreeSet;

use tenfold_ir::tir::BufId;

use super::{Choice, Contraction, Staged, bytes, extent};
use crate::dlight::kernel::Operand;
use crate::dlight::machine::Machine;

/// Vectors of a run that tiles of one row read of each row of a matrix.
const RUN: i64 = 8;

/// The vectors of a tile of a single row that is left behind tiles of several: as many as a run has, since those of a
/// high tile would wait for one sum after the other. Where columns stand outside, rows of other tiles have just read the
/// same from beyond the second cache, and a wider tile would read it once more.
pub(super) fn one_row(staged: &Staged, found: &Contraction, choice: &Choice, machine: &Machine) -> i64 {
    let own = choice.tile.vectors;
    let stage = &staged.stages[found.stage];
    let symbolic = choice.row.is_some_and(|row| extent(staged, stage, row).is_none());
    let shared = |o: &Operand| o.ignores(choice.column) || choice.row.is_some_and(|row| o.ignores(row));
    let fits = symbolic && extent(staged, stage, choice.column).is_some() && found.operands.iter().all(shared);
    let along = found.operands.iter().filter(|o| !o.ignores(choice.column));
    let near = |o: &Operand| bytes(staged, o).is_some_and(|n| n <= machine.second_bytes);
    let again = choice.columns_outside && !along.clone().all(near);
    match fits && !again && !machine.small {
        true => (RUN.min((machine.registers - 2) / 2) / own * own).max(own),
        false => own,
    }
}

/// Of a product with one row, whose other operand comes from beyond the first cache as it lies in memory: more vectors
/// in a tile, so that cache lines come in runs, which a core asks for ahead by itself. There is nothing to multiply that
/// would want other tiles.
pub(super) fn in_runs(
    staged: &Staged,
    found: &Contraction,
    choice: &Choice,
    constant: &BTreeSet<BufId>,
    machine: &Machine,
) -> Option<i64> {
    let columns = extent(staged, &staged.stages[found.stage], choice.column)?;
    let walks = |o: &&Operand| o.along(choice.column);
    let operand = found.operands.iter().find(walks)?;
    let laid_out = operand.panel.is_some() || constant.contains(&operand.buf) || choice.packed.is_some();
    let far = bytes(staged, operand)? > machine.way_bytes * machine.ways;
    let one = choice.tile.rows == 1 && found.dot.is_none() && !machine.small;
    let whole = |n: &i64| columns % (n * choice.tile.lanes) == 0;
    let most = RUN.min((machine.registers - 2) / 2);
    (one && far && !laid_out).then(|| (choice.tile.vectors + 1..=most).rfind(whole)).flatten()
}
