//! In which order tiles follow one another, and what of the operands stays in a cache meanwhile.

use tenfold_ir::tir::VarId;

use super::{Choice, Contraction, Machine, Staged, bytes, elements, extent, of_column, size};
use crate::dlight::kernel::Operand;

/// The most tiles along the columns whose columns half of the second cache holds, if their number is a multiple; one
/// where the cache holds what is read along the rows beside a tile's columns, or where the columns have other iterators
/// beside them.
pub(super) fn block(staged: &Staged, found: &Contraction, row: VarId, choice: &Choice, machine: &Machine) -> i64 {
    let half = machine.second_bytes / 2;
    let of_rows = found.operands.iter().filter(|o| !o.ignores(row)).filter_map(|o| read(staged, found, o));
    let alone = choice.along_columns.is_empty() && choice.along_rows.is_empty();
    let Some(columns) = extent(staged, &staged.stages[found.stage], choice.column) else { return 1 };
    let each = of_column(staged, found, choice.column).saturating_mul(choice.tile.width());
    if !alone || of_rows.sum::<i64>().saturating_add(each) <= machine.second_bytes {
        return 1;
    }
    let (tiles, most) = (columns / choice.tile.width().max(1), half / each.max(1));
    (2..=most.min(tiles)).rev().find(|n| tiles % n == 0).unwrap_or(1)
}

/// Bytes of an operand that are read: steps leave some out.
fn read(staged: &Staged, found: &Contraction, operand: &Operand) -> Option<i64> {
    let each = staged.b.buf(operand.buf).dtype.size_bytes() as i64;
    let walked = elements(staged, &staged.stages[found.stage], operand);
    Some(bytes(staged, operand)?.min(walked.saturating_mul(each)))
}

/// Whether less memory is read where columns stand outside of rows: then what is read along the columns is read once,
/// and what is read along the rows once per tile of columns, unless the second cache holds it; or the other way round.
pub(super) fn outside(staged: &Staged, found: &Contraction, row: VarId, choice: &Choice, machine: &Machine) -> bool {
    let stage = &staged.stages[found.stage];
    let bytes = |ignored: VarId| -> i128 {
        let own = found.operands.iter().filter(|o| o.ignores(ignored));
        let each = own.map(|o| match read(staged, found, o) {
            Some(bytes) => i128::from(bytes),
            None => {
                let data = staged.b.buf(o.buf);
                let shape = data.shape.iter().map(|d| i128::from(d.as_const().unwrap_or(1 << 10)));
                shape.product::<i128>() * data.dtype.size_bytes() as i128
            }
        });
        each.sum()
    };
    let count = |v: VarId| i128::from(extent(staged, stage, v).unwrap_or(1 << 10));
    let tiles = |along: VarId, width: i64, others: &[VarId]| -> i128 {
        let width = i128::from(width.max(1));
        let turns = |v: &VarId| extent(staged, stage, *v).map_or(count(*v), |n| i128::from(choice.tiles(*v, n)));
        (count(along) + width - 1) / width * others.iter().map(turns).product::<i128>()
    };
    let (of_rows, of_columns) = (bytes(choice.column), bytes(row));
    let stays = |bytes: i128| bytes <= i128::from(machine.second_bytes / 2);
    let again = |bytes: i128, times: i128| if stays(bytes) { bytes } else { bytes * times };
    let rows_first = of_rows + again(of_columns, tiles(row, choice.tile.rows / choice.tile.lines, &choice.along_rows));
    let columns = tiles(choice.column, choice.tile.width() * choice.block, &choice.along_columns);
    let columns_first = of_columns + again(of_rows, columns);
    // Of equal ones the one that writes the result from its beginning to its end.
    columns_first < rows_first
}

/// Whether windows read an operand again and again that the second cache holds, and not the first: what they read of a strip
/// of columns stays there from line to line.
pub(super) fn strips(staged: &Staged, found: &Contraction, row: VarId, choice: &Choice, machine: &Machine) -> bool {
    let stage = &staged.stages[found.stage];
    let held = machine.way_bytes * machine.ways / 2 + 1..=machine.second_bytes;
    let by_windows = |o: &&Operand| !o.ignores(choice.column) && !o.ignores(row);
    found.operands.iter().filter(by_windows).any(|o| {
        let again = size(staged, o).is_some_and(|n| elements(staged, stage, o) / 2 >= n);
        again && bytes(staged, o).is_some_and(|n| held.contains(&n))
    })
}
