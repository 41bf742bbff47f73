//! Which iterators of a contraction become rows and columns of the tile.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{IterKind, VarId, Viewer};

use super::{Contraction, Machine, Staged};
use crate::dlight::kernel::Operand;
use crate::dlight::tiles::{Tile, best, most_rows};
use crate::fuse::stage::Stage;

/// The iterators of the tile, and its largest size.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// Runs in vectors.
    pub column: VarId,
    /// Gives the rows, if one does.
    pub row: Option<VarId>,
    /// The tile.
    pub tile: Tile,
    /// The operand that is laid out anew first, so that it has neighbours along the columns.
    pub packed: Option<usize>,
    /// Whether rows of tiles stand outside of iterators that the row's operand ignores.
    pub rows_outside: bool,
}

/// The extent of an iterator, if it is a number.
pub(super) fn extent(staged: &Staged, stage: &Stage, var: VarId) -> Option<i64> {
    let iter = stage.iters.iter().find(|i| i.var == var)?;
    Viewer::new(staged.b.func()).int(iter.extent).as_const()
}

/// The choice that costs the fewest cycles; nothing where no iterator can run in vectors.
pub(super) fn choose(staged: &Staged, found: &Contraction, machine: &Machine) -> Option<Choice> {
    let stage = &staged.stages[found.stage];
    let bytes = staged.b.buf(found.acc).dtype.size_bytes() as i64;
    let lanes = (machine.vector_bytes / bytes).max(1);
    let spatial: Vec<VarId> = stage.iters.iter().filter(|i| i.kind == IterKind::Spatial).map(|i| i.var).collect();
    let mut choices = Vec::new();
    for column in spatial.iter().copied().filter(|v| found.result.along(*v)) {
        let Some(packed) = in_vectors(staged, found, column) else { continue };
        let along = |(n, o): &(usize, &Operand)| o.along(column) || Some(*n) == packed;
        let walked: Vec<&Operand> = found.operands.iter().enumerate().filter(along).map(|(_, o)| o).collect();
        let rows = spatial.iter().copied().filter(|v| *v != column && walked.iter().any(|o| o.ignores(*v)));
        for row in rows.map(Some).chain([None]) {
            let (cycles, choice) = cost(staged, found, (column, row), lanes, machine);
            let copies = packed.map_or(0, |n| i128::from(elements(staged, stage, &found.operands[n])) * PACKING);
            if packed.is_none() || cycles + copies < dots(staged, stage, lanes) {
                choices.push((cycles + copies, Choice { packed, ..choice }));
            }
        }
    }
    let (_, best) = choices.into_iter().min_by_key(|(cost, _)| *cost)?;
    Some(best)
}

/// What laying out one element anew costs, in the measure of [`cost`].
const PACKING: i128 = 8;

/// What the contraction costs, in the measure of [`cost`], where each sum runs in vectors along its own terms, as back
/// ends do by themselves: two loads per multiplication, and the lanes added up at the end.
fn dots(staged: &Staged, stage: &Stage, lanes: i64) -> i128 {
    const ADDING_UP: i128 = 10;
    let product = |kind: IterKind| -> i128 {
        let all = stage.iters.iter().filter(|i| i.kind == kind);
        all.map(|i| i128::from(extent(staged, stage, i.var).unwrap_or(1 << 10).max(1))).product()
    };
    let terms = product(IterKind::Reduce) / i128::from(lanes) + ADDING_UP;
    4 * product(IterKind::Spatial) * terms
}

/// Whether the contraction runs in vectors along an iterator: every operand has neighbours along it, or one element for
/// all of it. One operand may be laid out anew for that; `Some(Some(_))` says which.
fn in_vectors(staged: &Staged, found: &Contraction, var: VarId) -> Option<Option<usize>> {
    let operands = found.operands.iter().enumerate();
    let mut others = operands.filter(|(_, o)| !o.along(var) && !o.ignores(var)).map(|(n, _)| n);
    let (first, more) = (others.next(), others.next());
    match (first, more) {
        (None, _) => found.operands.iter().any(|o| o.along(var)).then_some(None),
        (Some(n), None) => {
            let stage = &staged.stages[found.stage];
            let size = staged.b.buf(found.operands[n].buf).shape.iter().map(IntExpr::as_const);
            let size = size.collect::<Option<Vec<i64>>>()?.into_iter().fold(1, i64::saturating_mul);
            (elements(staged, stage, &found.operands[n]) <= size).then_some(Some(n))
        }
        (Some(_), Some(_)) => None,
    }
}

/// Elements that the iterators which walk through an operand name, each once; very many where an extent is no number.
fn elements(staged: &Staged, stage: &Stage, operand: &Operand) -> i64 {
    let walks = stage.iters.iter().filter(|i| !operand.ignores(i.var));
    walks.map(|i| extent(staged, stage, i.var).unwrap_or(i64::MAX)).fold(1, i64::saturating_mul)
}

/// Cycles of the whole contraction, to be compared with those of other choices.
fn cost(
    staged: &Staged,
    found: &Contraction,
    (column, row): (VarId, Option<VarId>),
    lanes: i64,
    machine: &Machine,
) -> (i128, Choice) {
    let stage = &staged.stages[found.stage];
    let columns = extent(staged, stage, column);
    let rows = row.map_or(Some(1), |r| extent(staged, stage, r));
    let (vectors, cycles) = best(rows, columns, lanes, machine);
    let others = stage.iters.iter().filter(|i| i.var != column && Some(i.var) != row);
    let times: i128 = others.map(|i| i128::from(extent(staged, stage, i.var).unwrap_or(1 << 10).max(1))).product();
    let mut rows_in_tile = if row.is_some() { most_rows(vectors, machine) } else { 1 };
    if let (Some(n), Some(_)) = (rows, row) {
        rows_in_tile = rows_in_tile.min(n.max(1));
    }
    let tile = Tile { rows: rows_in_tile, vectors, lanes };
    let rows_outside = row.is_some_and(|r| outside(staged, found, r));
    (i128::from(cycles) * times, Choice { column, row, tile, packed: None, rows_outside })
}

/// Whether the operand that the rows walk through is larger than the other: then each part of it is read once, and the
/// other one again and again.
fn outside(staged: &Staged, found: &Contraction, row: VarId) -> bool {
    let size = |o: &Operand| -> i64 {
        let shape = &staged.b.buf(o.buf).shape;
        shape.iter().map(|d| d.as_const().unwrap_or(1 << 10)).fold(1, i64::saturating_mul)
    };
    let walked = found.operands.iter().filter(|o| !o.ignores(row)).map(size).max();
    let other = found.operands.iter().filter(|o| o.ignores(row)).map(size).max();
    walked > other
}
