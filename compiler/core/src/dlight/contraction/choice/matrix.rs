//! Tiles in registers that are matrices, which instructions multiply: two by two of them hold the tile.
//!
//! Such a register has 16 rows of 64 bytes. One of the first operand has rows of 16 words, each of two terms or of four;
//! one of the second has a row per word, with a word per column. Where fewer are left, registers are smaller, and the instruction
//! takes about as long.

use tenfold_ir::DType;
use tenfold_ir::tir::{Dot, IterKind, VarId};

use super::order::{block, outside};
use super::{Choice, Contraction, Machine, Packing, Staged, cost, cycle, extent};
use crate::dlight::kernel::Operand;
use crate::dlight::tiles::{Tile, balanced, columns};

/// Rows of a register, and words of one.
const SIDE: i64 = 16;

/// Registers along each side of a tile: four hold it, and two hold each operand.
const ALONG: i64 = 2;

/// Cycles of a multiplication, if others are independent of it.
const BUSY: i64 = 16;

/// Cycles until its result can be added to.
const LATENCY: i64 = 52;

/// Cycles around the sum of a tile, which goes through memory.
const AROUND: i64 = 110;

/// Cycles until registers have their sizes.
const SIZES: i64 = 300;

/// The choice of tiles in matrices for a column and a row, and what it costs in the measure of [`cost`]; nothing where
/// the machine has no such product, or memory is no matrix.
pub(super) fn way(
    staged: &Staged,
    found: &Contraction,
    (column, row): (VarId, Option<VarId>),
    packed: Option<(usize, Packing)>,
    machine: &Machine,
) -> Option<(i128, Choice)> {
    let dot = found.dot.filter(|dot| machine.matrices.multiply(*dot))?;
    let row = row?;
    let (rows, width) = (extent(staged, &staged.stages[found.stage], row)?, width(staged, found, column)?);
    let words = words(staged, found)?;
    if rows < 2 || !is_matrix(staged, found, (column, row), packed, dot) {
        return None;
    }
    let lanes = machine.vector_bytes / staged.b.buf(found.acc).dtype.size_bytes() as i64;
    let (_, choice) = cost(staged, found, (column, Some(row)), (lanes, None), machine);
    let tile = Tile { rows: rows.min(ALONG * SIDE), lines: 1, vectors: width / SIDE, lanes: SIDE };
    let mut choice = Choice { tile, lines: None, packed, matrix: true, block: 1, unroll: 1, ..choice };
    choice.block = block(staged, found, row, &choice, machine);
    choice.columns_outside = outside(staged, found, row, &choice, machine);
    let all = cycles(staged, found, &choice, rows, words)?;
    Some((all * cycle(machine), choice))
}

/// Whether the operand of the rows has rows in memory, and that of the columns columns.
fn is_matrix(
    staged: &Staged,
    found: &Contraction,
    (column, row): (VarId, VarId),
    packed: Option<(usize, Packing)>,
    dot: Dot,
) -> bool {
    let terms = |o: &&Operand| staged.b.buf(o.buf).dtype.size_bytes() as i64 * dot.terms() == WORD;
    let words = |o: &&(usize, &Operand)| staged.b.buf(o.1.buf).dtype == DType::I32;
    let all: Vec<(usize, &Operand)> = found.operands.iter().enumerate().collect();
    let (Some(x), Some((n, w))) = (found.operands.iter().find(terms), all.iter().find(words)) else { return false };
    let of_rows = x.ignores(column) && x.step(row).is_some_and(|step| step > 0);
    let of_columns = w.ignores(row) && (w.along(column) || packed == Some((*n, Packing::Panels)));
    let reduce = staged.stages[found.stage].iters.iter().rfind(|i| i.kind == IterKind::Reduce);
    let along = |o: &Operand| reduce.and_then(|i| o.step(i.var));
    let in_order = along(x) == Some(dot.terms()) && (packed.is_some() || along(w).is_some_and(|step| step > 0));
    all.len() == 2 && of_rows && of_columns && in_order
}

/// Bytes of a word.
const WORD: i64 = 4;

/// Words of the innermost sum that one multiplication takes: as many as divide it.
fn at_once(words: i64) -> i64 {
    (1..=SIDE).rev().find(|n| words % n == 0).unwrap_or(1)
}

/// Words of the innermost sum.
fn words(staged: &Staged, found: &Contraction) -> Option<i64> {
    let stage = &staged.stages[found.stage];
    extent(staged, stage, stage.iters.iter().rfind(|i| i.kind == IterKind::Reduce)?.var)
}

/// The widest tile that lies in one panel.
fn width(staged: &Staged, found: &Contraction, column: VarId) -> Option<i64> {
    let columns = extent(staged, &staged.stages[found.stage], column)?;
    let panel = found.operands.iter().find_map(|o| o.panel).map(|(_, width)| width);
    let widths = (1..=ALONG).rev().map(|n| n * SIDE);
    let fits = |width: &i64| (*width == SIDE || columns > SIDE) && panel.is_none_or(|panel| panel % width == 0);
    widths.into_iter().find(fits)
}

/// Cycles of the whole contraction.
fn cycles(staged: &Staged, found: &Contraction, choice: &Choice, rows: i64, words: i64) -> Option<i128> {
    let stage = &staged.stages[found.stage];
    let others = stage.iters.iter().filter(|i| i.var != choice.column && Some(i.var) != choice.row);
    let (sums, tiles): (Vec<_>, Vec<_>) = others.partition(|i| i.kind == IterKind::Reduce);
    let product = |all: Vec<&crate::fuse::stage::Iter>| {
        all.into_iter().try_fold(1_i128, |n, i| Some(n * i128::from(extent(staged, stage, i.var)?)))
    };
    let (turns, tiles) = (product(sums)? / i128::from(at_once(words)), product(tiles)?);
    let (count, mut all) = (extent(staged, stage, choice.column)?, 0);
    for span in balanced(rows, choice.tile.rows) {
        for part in columns(count, &choice.tile) {
            let each = (span.tile + SIDE - 1) / SIDE * ((part.width() + SIDE - 1) / SIDE);
            let across = if part == choice.tile { count / part.width() } else { 1 };
            let one = turns * i128::from((each * BUSY).max(LATENCY)) + i128::from(AROUND);
            all += tiles * i128::from(span.extent / span.tile * across) * one + i128::from(SIZES);
        }
    }
    Some(all)
}
