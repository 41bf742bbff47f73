//! Which iterators of a contraction become rows and columns of the tile.

mod decided;
mod matrix;
mod order;
mod runs;
mod said;

use std::collections::BTreeSet;

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, Dot, IterKind, VarId, Viewer};

use super::blocks::most_terms;
use super::group::{is_instructions, linked};
use super::packing_tile::beside_products;
use super::panels::in_panels;
use super::{Contraction, Machine, Staged};

use crate::dlight::kernel::{Operand, epilogue};
use crate::dlight::left;
use crate::dlight::machine::SUMS_OF_VECTORS;
use crate::dlight::tiles::{self, Extents, Tile, best, lines_at_once, most_rows, rows_in_cache};
use crate::fuse::stage::{Iter, Stage};
use crate::tune::Asked;

/// Terms that are written out behind one another where nobody asks for others: counting them and jumping takes a part of
/// what a core can begin, the more so where another thread runs on it.
pub(super) const UNROLLED: i64 = 4;
/// The same of words, where code is to be small.
const UNROLLED_WORDS: i64 = 2;
/// Accumulators of a tile from which on the machine says how many.
const MANY: i64 = 8;
/// Turns of an innermost loop inside of others up to which all of it is written out.
pub(super) const SHORT: i64 = 8;
/// Cycles that copying a vector takes.
const VECTOR: i128 = 8;
/// The same beside products that a tile makes of it.
const BESIDE_PRODUCTS: i128 = 2;
/// Registers of words that rows would take.
const OF_ROWS: i64 = 3;
/// Words of a vector.
const IN_VECTOR: i64 = 4;

/// The iterators of the tile, and its largest size.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// Runs in vectors.
    pub column: VarId,
    /// Gives the rows, if one does.
    pub row: Option<VarId>,
    /// Walks through lines of rows, of which a tile may have several whole ones.
    pub lines: Option<VarId>,
    /// The tile.
    pub tile: Tile,
    /// The operand that is laid out anew first, so that it has neighbours along the columns.
    pub packed: Option<(usize, Packing)>,
    /// The operand that is copied with some room between its rows, so that these do not share sets of the first cache.
    pub padded: Option<BufId>,
    /// Iterators besides the rows that the operands of the rows alone walk through.
    pub along_rows: Vec<VarId>,
    /// Iterators besides the columns that the operands of the columns alone walk through.
    pub along_columns: Vec<VarId>,
    /// Whether tiles follow one another along the rows, so that columns stand outside.
    pub columns_outside: bool,
    /// Whether columns stand outside of everything, so that what windows read of some is near from line to line.
    pub strips: bool,
    /// Tiles along the columns that are done for one row of tiles after the other, so that the second cache holds what
    /// they read along the columns, and what they read along the rows comes less often.
    pub block: i64,
    /// The operand that is asked for before it is needed, and how many terms before.
    pub ahead: Option<(BufId, i64)>,
    /// Whether the next panel of it is asked for while tiles go over one, wherever several do before the next.
    pub next_panel: bool,
    /// The operand of which what the next tile along the rows reads is asked for while one sums.
    pub next_rows: Option<BufId>,
    /// The most terms of a block of a long sum.
    pub terms: i64,
    /// Terms that are written out behind one another.
    pub unroll: i64,
    /// Vectors of the tile of a single row that is left behind tiles of several.
    pub one_row: i64,
    /// Whether the tile is kept in registers that are matrices.
    pub matrix: bool,
    /// Whether the machine is a microcontroller.
    pub small: bool,
    /// Whether loops around tiles stand in the order of the stage's.
    pub in_order: bool,
    /// Whether sums of products of vectors are words, of which vectors are made when all terms are added.
    pub wide: bool,
}

impl Choice {
    /// The iterator of whose values a tile has several.
    pub(super) fn line(&self) -> Option<VarId> {
        self.lines.filter(|_| self.tile.lines > 1)
    }

    /// The tile for what is done on a tile of sums.
    pub(super) fn behind(&self, tile: Tile) -> Tile {
        match self.wide && tile.vectors % IN_VECTOR == 0 {
            true => Tile { vectors: tile.vectors / IN_VECTOR, lanes: IN_VECTOR, ..tile },
            false => tile,
        }
    }

    /// In how many tiles rows or lines are cut; as many values as there are of any other iterator.
    fn tiles(&self, var: VarId, extent: i64) -> i64 {
        let each = match Some(var) {
            of if of == self.row => self.tile.rows / self.tile.lines,
            of if of == self.line() => self.tile.lines,
            _ => 1,
        };
        (extent + each - 1) / each
    }
}

/// A choice and what it costs: cycles, and for choices that cost the same how far its rows are apart.
struct Costed {
    cycles: i128,
    apart: i64,
    choice: Choice,
}

/// How an operand is laid out anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Packing {
    /// One axis per iterator that walks through it.
    Iterators,
    /// Every so manieth element of a row beside the next such one: a window that moves by steps reads neighbours.
    Phases(i64),
    /// All that a tile reads of it, term by term: when the program is built.
    Panels,
    /// The same in each call.
    CopiedPanels,
}

/// The extent of an iterator, if it is a number.
pub(super) fn extent(staged: &Staged, stage: &Stage, var: VarId) -> Option<i64> {
    let iter = stage.iters.iter().find(|i| i.var == var)?;
    Viewer::new(staged.b.func()).int(iter.extent).as_const()
}

/// The choice that costs the fewest cycles, if nobody asks for another; nothing where no iterator can run in vectors.
/// Of choices that cost the same it is the one whose rows are the nearest. Buffers that are `constant` are laid out
/// anew for nothing.
pub(super) fn choose(
    staged: &Staged,
    found: &Contraction,
    machine: &Machine,
    constant: &BTreeSet<BufId>,
    asked: &Asked,
) -> Option<Choice> {
    let stage = &staged.stages[found.stage];
    if machine.small && staged.b.buf(found.acc).dtype != DType::I32 {
        return None;
    }
    let machine = &beside_constants(staged, found, &machine.adding(found.dot));
    let spatial: Vec<VarId> = stage.iters.iter().filter(|i| i.kind == IterKind::Spatial).map(|i| i.var).collect();
    let mut choices = Vec::new();
    let panel = found.operands.iter().find_map(|o| o.panel);
    for column in spatial.iter().copied().filter(|v| found.result.along(*v)) {
        if panel.is_some_and(|(v, _)| v != column) {
            continue;
        }
        let Some(packed) = in_vectors(staged, found, column, constant) else { continue };
        let laid_out = panel.is_some() || packed.is_some_and(|(_, packing)| packing == Packing::Panels);
        let machine = &Machine { waits: waits(laid_out), ..along_all(found, column, machine) };
        let along = |(n, o): &(usize, &Operand)| o.along(column) || packed.is_some_and(|(p, _)| p == *n);
        let walked: Vec<&Operand> = found.operands.iter().enumerate().filter(along).map(|(_, o)| o).collect();
        let rows = spatial.iter().copied().filter(|v| *v != column && walked.iter().any(|o| o.ignores(*v)));
        let rows: Vec<VarId> = match machine.helium {
            true => nearest(staged, stage, rows).into_iter().collect(),
            false => rows.collect(),
        };
        for row in rows.into_iter().map(Some).chain([None]) {
            let left = if machine.small && row.is_none() && found.dot.is_some() { OF_ROWS } else { 0 };
            let machine = &Machine { registers: machine.registers + left, ..*machine };
            let apart = row.map_or(0, |r| rows_apart(found, r));
            let of = matrix::way(staged, found, (column, row), packed, machine);
            choices.extend(of.map(|(cycles, choice)| Costed { cycles, apart, choice }));
            // What is transposed block by block leaves nothing to be copied before.
            let by_blocks = packed.is_some_and(|(_, packing)| packing == Packing::CopiedPanels);
            let conflicting = conflicting(staged, found, row, machine).filter(|_| !by_blocks);
            for padded in [None].into_iter().chain(conflicting.map(Some)) {
                let of = ways(staged, found, (column, row), (packed, padded), machine);
                choices.extend(of.into_iter().map(|(cycles, choice)| Costed { cycles, apart, choice }));
            }
        }
    }
    choices.sort_by_key(|costed| (costed.cycles, costed.apart));
    let best = decided::among(staged, found, choices, !constant.is_empty(), asked)?;
    if best.choice.matrix {
        return Some(best.choice);
    }
    let best = match runs::in_runs(staged, found, &best.choice, constant, machine) {
        Some(vectors) => {
            Costed { choice: Choice { tile: Tile { vectors, ..best.choice.tile }, ..best.choice }, ..best }
        }
        None => best,
    };
    let best = decided::sized(staged, found, best, machine, asked);
    let ahead = ahead(staged, found, &best, machine);
    let next_panel = ahead.is_some() && whole_panels(staged, found, &best);
    let (ahead, next_panel) = decided::ahead(found, &best, (ahead, next_panel), asked);
    let next_rows = decided::next_rows(next_rows(staged, found, &best, machine), asked);
    let one_row = runs::one_row(staged, found, &best, machine);
    Some(Choice { ahead, next_panel, next_rows, one_row, ..best })
}

/// The constant in panels that tiles go over so few times that waiting for it the first time would count, and in how
/// many terms it comes: others use the caches between two calls, or between two kernels.
fn ahead(staged: &Staged, found: &Contraction, choice: &Choice, machine: &Machine) -> Option<(BufId, i64)> {
    const TIMES: i64 = 32;
    let stage = &staged.stages[found.stage];
    let operand = found.operands.iter().find(|o| o.panel.is_some_and(|(v, _)| v == choice.column))?;
    let tiles = |i: &Iter| Some(choice.tiles(i.var, extent(staged, stage, i.var)?));
    let mut again = stage.iters.iter().filter(|i| operand.ignores(i.var));
    let times = again.try_fold(1_i64, |all, i| all.checked_mul(tiles(i)?))?;
    if bytes(staged, operand)? <= machine.way_bytes * machine.ways {
        return None;
    }
    let cycles = (choice.tile.rows * choice.tile.vectors / machine.fmas).max(1);
    // What is asked for too early is gone from the first cache when it is needed.
    let most = (2 * machine.way_bytes / (choice.tile.vectors * machine.vector_bytes)).max(1);
    let few = times <= TIMES && choice.tile.hides_latency(machine);
    few.then_some((operand.buf, most.min((machine.far_cycles + cycles - 1) / cycles)))
}

/// The operand along the rows that comes from beyond the second cache, where few columns make so little of it that a
/// tile would wait.
fn next_rows(staged: &Staged, found: &Contraction, choice: &Choice, machine: &Machine) -> Option<BufId> {
    const TILES: i64 = 2;
    let row = choice.row?;
    let columns = extent(staged, &staged.stages[found.stage], choice.column)?;
    let tiles = (columns + choice.tile.width() - 1) / choice.tile.width().max(1);
    let along = |o: &&Operand| o.ignores(choice.column) && !o.ignores(row);
    let operand = found.operands.iter().find(along)?;
    let far = bytes(staged, operand)? > machine.second_bytes;
    let few = tiles <= TILES && !choice.columns_outside && choice.tile.hides_latency(machine);
    (far && few).then_some(operand.buf)
}

/// Whether tiles go over one panel after the other.
fn whole_panels(staged: &Staged, found: &Contraction, choice: &Choice) -> bool {
    let width = choice.tile.width();
    let whole = found.operands.iter().any(|o| o.panel == Some((choice.column, width)));
    let columns = extent(staged, &staged.stages[found.stage], choice.column);
    whole && choice.columns_outside && choice.block <= 1 && columns.is_some_and(|n| n > width)
}

/// What the tiles of two iterators cost, with the operands laid out anew that are said to be, and along the columns
/// where that may be worth it.
fn ways(
    staged: &Staged,
    found: &Contraction,
    (column, row): (VarId, Option<VarId>),
    (packed, padded): (Option<(usize, Packing)>, Option<usize>),
    machine: &Machine,
) -> Vec<(i128, Choice)> {
    let bytes = staged.b.buf(found.acc).dtype.size_bytes() as i64;
    let lanes = (machine.vector_bytes / bytes).max(1);
    let (mut cycles, choice) = cost(staged, found, (column, row), (lanes, padded), machine);
    let copied = |n: usize, vector: i128| copied(staged, &found.operands[n], lanes, machine) * vector;
    cycles += padded.map_or(0, |n| copied(n, VECTOR));
    if let Some(packed) = packed {
        let all = cycles
            + match packed {
                (n, Packing::CopiedPanels) => TRANSPOSING * copied(n, VECTOR),
                _ => i128::from(moved(staged, found, packed)) * PACKING,
            };
        let better = all < plain(staged, found, lanes);
        return better.then_some((all, Choice { packed: Some(packed), ..choice })).into_iter().collect();
    }
    let Some((n, more)) = scattered(staged, found, (column, row), &choice, machine) else {
        return vec![(cycles, choice)];
    };
    let in_panels = Choice { packed: Some((n, Packing::CopiedPanels)), ..choice.clone() };
    let vector = if beside_products(staged, found, &in_panels) { BESIDE_PRODUCTS } else { VECTOR };
    vec![(cycles + copied(n, vector), in_panels), (cycles + more, choice)]
}

/// The operand whose rows share so few sets of the first cache that this bounds the rows of a tile, if it can be
/// copied.
fn conflicting(staged: &Staged, found: &Contraction, row: Option<VarId>, machine: &Machine) -> Option<usize> {
    let row = row?;
    let few = |(_, o): &(usize, &Operand)| {
        let bytes = staged.b.buf(o.buf).dtype.size_bytes() as i64;
        o.step(row).is_some_and(|n| n > 0 && rows_in_cache(n * bytes, machine) < most_rows(2, machine))
    };
    let mut few = found.operands.iter().enumerate().filter(few);
    let (n, operand) = few.next()?;
    let last = staged.b.buf(operand.buf).shape.len().checked_sub(1)?;
    let axis = *in_panels(staged, found, n, row)?.get(&row)?;
    (few.next().is_none() && axis != last).then_some(n)
}

/// The machine without the registers of dots, and of constants of functions which are computed on each tile.
fn beside_constants(staged: &Staged, found: &Contraction, machine: &Machine) -> Machine {
    let functions = epilogue(staged, found).is_some_and(|(n, _)| !is_instructions(staged, n, machine.small));
    let registers = machine.beside_constants(functions);
    let of_dots = found.dot.map_or(0, |dot| machine.dots.registers(dot));
    Machine { registers: registers - of_dots, ..*machine }
}

/// The machine for an iterator as columns, along which every operand may have neighbours.
fn along_all(found: &Contraction, column: VarId, machine: &Machine) -> Machine {
    let all = found.operands.iter().all(|o| o.along(column));
    Machine { registers: if all { machine.without_broadcasts() } else { machine.registers }, ..*machine }
}

/// [`Machine::waits`] of what tiles read along their columns: constants in panels come from memory in each call, what
/// another kernel has written, or the one before has copied into panels, is in the second cache.
fn waits(laid_out: bool) -> i64 {
    if laid_out { 4 } else { 16 }
}

/// The innermost of several iterators that has more than one value: what is read and written then goes from one end to
/// the other, so that results may follow close behind operands.
fn nearest(staged: &Staged, stage: &Stage, rows: impl DoubleEndedIterator<Item = VarId>) -> Option<VarId> {
    rows.rev().find(|v| extent(staged, stage, *v) != Some(1))
}

/// Elements between rows, of the operand where they are the furthest.
fn rows_apart(found: &Contraction, row: VarId) -> i64 {
    let apart = |o: &Operand| if o.ignores(row) { 0 } else { o.step(row).map_or(i64::MAX, i64::abs) };
    found.operands.iter().map(apart).max().unwrap_or(0)
}

/// Bytes of a page.
const PAGE: i64 = 4 << 10;

/// What laying out one element anew costs, in the measure of [`cost`].
const PACKING: i128 = 8 * tiles::PARTS as i128;

/// How many times a copy takes that transposes.
const TRANSPOSING: i128 = 2;

/// What the contraction costs, in the measure of [`cost`], where back ends make what they can of plain loops: each sum
/// in vectors along its own terms, if these are neighbours in every operand, with the lanes added up at the end; else
/// a term at a time.
fn plain(staged: &Staged, found: &Contraction, lanes: i64) -> i128 {
    const ADDING_UP: i128 = 10;
    let stage = &staged.stages[found.stage];
    let product = |kind: IterKind| -> i128 {
        let all = stage.iters.iter().filter(|i| i.kind == kind);
        all.map(|i| i128::from(extent(staged, stage, i.var).unwrap_or(1 << 10).max(1))).product()
    };
    let inner = stage.iters.iter().rfind(|i| i.kind == IterKind::Reduce);
    let neighbours = inner.is_some_and(|i| found.operands.iter().all(|o| o.along(i.var)));
    let terms = product(IterKind::Reduce);
    // Each vector takes two loads.
    let each = if neighbours { (terms / i128::from(lanes) + ADDING_UP) * 5 / 2 } else { terms };
    4 * i128::from(tiles::PARTS) * product(IterKind::Spatial) * each
}

/// Whether the contraction runs in vectors along an iterator: every operand has neighbours along it, or one element for
/// all of it. One operand may be laid out anew for that; `Some(Some(_))` says which.
fn in_vectors(
    staged: &Staged,
    found: &Contraction,
    var: VarId,
    constant: &BTreeSet<BufId>,
) -> Option<Option<(usize, Packing)>> {
    let free = |n: &usize| constant.contains(&found.operands[*n].buf) && in_panels(staged, found, *n, var).is_some();
    let operands = found.operands.iter().enumerate();
    let mut others = operands.filter(|(_, o)| !o.along(var) && !o.ignores(var)).map(|(n, _)| n);
    let (first, more) = (others.next(), others.next());
    match (first, more) {
        (None, _) => {
            let mut along = (0..found.operands.len()).filter(|n| found.operands[*n].along(var));
            let any = along.clone().next().is_some();
            any.then(|| along.find(free).map(|n| (n, Packing::Panels)))
        }
        (Some(n), None) if free(&n) => Some(Some((n, Packing::Panels))),
        // Of neighbours that are one number no copy is made.
        (Some(_), None) if found.dot.is_some() => None,
        (Some(n), None) => Some(Some((n, packing(staged, found, n, var)?))),
        (Some(_), Some(_)) => None,
    }
}

/// How an operand gets neighbours along an iterator without growing.
fn packing(staged: &Staged, found: &Contraction, n: usize, var: VarId) -> Option<Packing> {
    let (stage, operand) = (&staged.stages[found.stage], &found.operands[n]);
    if let Some(step) = operand.rows_by_steps(staged.b.func(), var) {
        return Some(Packing::Phases(step));
    }
    if in_panels(staged, found, n, var).is_some() {
        return Some(Packing::CopiedPanels);
    }
    (elements(staged, stage, operand) <= size(staged, operand)?).then_some(Packing::Iterators)
}

/// Elements that are copied.
fn moved(staged: &Staged, found: &Contraction, (n, packing): (usize, Packing)) -> i64 {
    let operand = &found.operands[n];
    match packing {
        Packing::Iterators => elements(staged, &staged.stages[found.stage], operand),
        Packing::Phases(_) => size(staged, operand).unwrap_or(i64::MAX),
        Packing::Panels => 0,
        Packing::CopiedPanels => size(staged, operand).unwrap_or(i64::MAX),
    }
}

/// The operand along the columns that tiles read far apart, if it can lie in panels, and what that costs them, in the
/// measure of [`cost`]: each term of the sum is in a row of its own, of which a tile has a few cache lines. Rows that
/// lie a power of two apart share few sets of the caches, and where a row begins within a line each vector takes two,
/// for which there mostly is time beside multiplications.
fn scattered(
    staged: &Staged,
    found: &Contraction,
    (column, row): (VarId, Option<VarId>),
    choice: &Choice,
    machine: &Machine,
) -> Option<(usize, i128)> {
    /// Of a cycle.
    const PARTS: i128 = 4;
    let stage = &staged.stages[found.stage];
    let own = |(_, o): &(usize, &Operand)| o.along(column) && row.is_some_and(|r| o.ignores(r));
    // Vectors of terms lie where they were put when the program was built.
    if found.dot.is_some_and(Dot::is_wide) {
        return None;
    }
    let (n, operand) = found.operands.iter().enumerate().find(own)?;
    in_panels(staged, found, n, column)?;
    let (columns, bytes) = (extent(staged, stage, column)?, staged.b.buf(operand.buf).dtype.size_bytes() as i64);
    if columns <= choice.tile.width() {
        return None;
    }
    let all = size(staged, operand)? * bytes;
    let rows = row.and_then(|r| extent(staged, stage, r))?;
    let walks = |i: &&Iter| operand.ignores(i.var) && i.var != column;
    let times: i128 =
        stage.iters.iter().filter(walks).map(|i| i128::from(extent(staged, stage, i.var).unwrap_or(1))).product();
    let tiles = times / i128::from(rows.max(1)) * i128::from((rows + choice.tile.rows - 1) / choice.tile.rows.max(1));
    let waits = if all > machine.second_bytes / 2 {
        4 * PARTS
    } else if all > machine.pages * PAGE {
        PARTS
    } else {
        0
    };
    let halves = if columns * bytes % machine.vector_bytes != 0 { 1 } else { 0 };
    let vectors = i128::from(size(staged, operand)? / choice.tile.lanes.max(1));
    Some((n, vectors * tiles * (waits + halves) * cycle(machine) / PARTS))
}

/// What copying an operand costs of which a vector takes a cycle, in the measure of [`cost`].
fn copied(staged: &Staged, operand: &Operand, lanes: i64, machine: &Machine) -> i128 {
    i128::from(size(staged, operand).unwrap_or(i64::MAX) / lanes.max(1)) * cycle(machine)
}

/// A cycle in the measure of [`cost`].
fn cycle(machine: &Machine) -> i128 {
    i128::from(tiles::PARTS * machine.fmas * machine.loads)
}

/// Bytes of an operand's buffer.
fn bytes(staged: &Staged, operand: &Operand) -> Option<i64> {
    Some(size(staged, operand)? * staged.b.buf(operand.buf).dtype.size_bytes() as i64)
}

/// Elements of an operand's buffer.
fn size(staged: &Staged, operand: &Operand) -> Option<i64> {
    let extents = staged.b.buf(operand.buf).shape.iter().map(IntExpr::as_const).collect::<Option<Vec<i64>>>()?;
    Some(extents.into_iter().fold(1, i64::saturating_mul))
}

/// Elements that the iterators which walk through an operand name, each once; very many where an extent is no number.
fn elements(staged: &Staged, stage: &Stage, operand: &Operand) -> i64 {
    let walks = stage.iters.iter().filter(|i| !operand.ignores(i.var));
    walks.map(|i| extent(staged, stage, i.var).unwrap_or(i64::MAX)).fold(1, i64::saturating_mul)
}

/// Terms that are written out behind one another: of windows, whose innermost loops are short, and of tiles that
/// multiply little in a turn, more than elsewhere.
fn unrolled(staged: &Staged, stage: &Stage, tile: Tile, machine: &Machine) -> i64 {
    let reduce: Vec<&Iter> = stage.iters.iter().filter(|i| i.kind == IterKind::Reduce).collect();
    let short = |i: &&Iter| extent(staged, stage, i.var).is_some_and(|n| n <= SHORT);
    let window = reduce.len() > 1 && reduce.last().is_some_and(short);
    match tile.lanes {
        _ if machine.small => UNROLLED_WORDS,
        1 => 1,
        _ if !window && tile.rows * tile.vectors >= MANY => machine.written_out,
        _ => UNROLLED,
    }
}

/// Cycles of the whole contraction, to be compared with those of other choices.
fn cost(
    staged: &Staged,
    found: &Contraction,
    (column, row): (VarId, Option<VarId>),
    (lanes, padded): (i64, Option<usize>),
    machine: &Machine,
) -> (i128, Choice) {
    let stage = &staged.stages[found.stage];
    let of = extents(staged, found, (column, row), (lanes, padded.is_some()), machine);
    let (rows, most) = (of.rows, of.most);
    let panel = found.operands.iter().find_map(|o| o.panel).map(|(_, width)| width);
    let wide = found.dot.is_some_and(Dot::is_wide);
    // Where rows read their own vectors, more of them share what they are multiplied by and scaled by.
    let own = machine.helium && found.operands.iter().all(|o| o.along(column));
    let (vectors, cycles) = match (wide, own) {
        (true, _) => of_words(&of, machine),
        (false, true) => (1, tiles::cost(&of, 1, machine)),
        (false, false) => best(&of, panel, machine),
    };
    let mut rows_in_tile = if row.is_some() { most_rows(vectors, machine).min(most) } else { 1 };
    if rows.is_none() && !machine.small {
        rows_in_tile = left::whole(rows_in_tile);
    }
    if wide {
        rows_in_tile = rows_in_tile.min(SUMS_OF_VECTORS / vectors);
    }
    if let (Some(n), Some(_)) = (rows, row) {
        rows_in_tile = rows_in_tile.min(n.max(1));
    }
    let in_tile = lines_at_once(&of, vectors, machine);
    let tile = Tile { rows: rows_in_tile * in_tile, lines: in_tile, vectors, lanes };
    let along_rows = alone(stage, found, Some(column), row);
    let along_columns = alone(stage, found, row, Some(column));
    let padded = padded.map(|n| found.operands[n].buf);
    let summed = stage.iters.iter().filter(|i| i.kind == IterKind::Reduce).count();
    let mut choice = Choice {
        column,
        row,
        lines: lines(staged, found, (column, row), padded.is_some(), machine),
        tile,
        packed: None,
        padded,
        along_rows,
        along_columns,
        columns_outside: false,
        strips: false,
        block: 1,
        ahead: None,
        next_panel: false,
        next_rows: None,
        terms: most_terms(summed, row.is_some(), lanes),
        unroll: unrolled(staged, stage, tile, machine),
        one_row: vectors,
        matrix: false,
        small: machine.small,
        in_order: machine.helium,
        wide,
    };
    if let Some(row) = row {
        choice.block = order::block(staged, found, row, &choice, machine);
        choice.strips = order::strips(staged, found, row, &choice, machine);
        choice.columns_outside = order::outside(staged, found, row, &choice, machine);
    }
    (i128::from(cycles) * times(staged, found, &choice, machine), choice)
}

/// As many words as a vector has lanes, or as there are, and what tiles of so many cost.
fn of_words(of: &Extents, machine: &Machine) -> (i64, i64) {
    let words = of.columns.unwrap_or(IN_VECTOR).clamp(1, IN_VECTOR);
    (words, tiles::cost(of, words, machine))
}

/// How often the tiles of a choice run: the turns of all other iterators, and for each the multiplications that are not
/// one instruction.
fn times(staged: &Staged, found: &Contraction, choice: &Choice, machine: &Machine) -> i128 {
    let stage = &staged.stages[found.stage];
    let multiplications = found.dot.map_or(1, |dot| machine.dots.multiplications(dot));
    let tiled = [Some(choice.column), choice.row, choice.lines];
    let others = stage.iters.iter().filter(|i| !tiled.contains(&Some(i.var)));
    let turns: i128 = others.map(|i| i128::from(extent(staged, stage, i.var).unwrap_or(1 << 10).max(1))).product();
    turns * i128::from(multiplications)
}

/// What two iterators cut into tiles of so many lanes, whose rows may have room between them.
fn extents(
    staged: &Staged,
    found: &Contraction,
    (column, row): (VarId, Option<VarId>),
    (lanes, padded): (i64, bool),
    machine: &Machine,
) -> Extents {
    let stage = &staged.stages[found.stage];
    let rows = row.map_or(Some(1), |r| extent(staged, stage, r));
    let most = row.filter(|_| !padded).map_or(i64::MAX, |r| cached(staged, found, r, machine));
    let lines = lines(staged, found, (column, row), padded, machine).and_then(|v| extent(staged, stage, v));
    let near = near(staged, found, column, machine);
    Extents { rows, lines, columns: extent(staged, stage, column), lanes, most, near }
}

/// The iterator that walks through lines of rows, if the same columns are read for all of them and nothing works on
/// rows of the result afterwards: the planes of late convolutions have rows of 7, half of what registers hold.
fn lines(
    staged: &Staged,
    found: &Contraction,
    (column, row): (VarId, Option<VarId>),
    padded: bool,
    machine: &Machine,
) -> Option<VarId> {
    let stage = &staged.stages[found.stage];
    let known = |v: &VarId| extent(staged, stage, *v).is_some_and(|n| n > 1);
    row.filter(|row| known(row) && !padded && !machine.small)?;
    let behind = linked(staged, found.stage)?.len();
    let on_tile = usize::from(epilogue(staged, found).is_some());
    alone(stage, found, Some(column), row).into_iter().rfind(known).filter(|_| behind == on_tile)
}

/// The most columns whose elements, of all terms of the sum, half of the first cache holds.
fn near(staged: &Staged, found: &Contraction, column: VarId, machine: &Machine) -> i64 {
    machine.way_bytes * machine.ways / 2 / of_column(staged, found, column).max(1)
}

/// Bytes of one column, of all terms of the sum.
fn of_column(staged: &Staged, found: &Contraction, column: VarId) -> i64 {
    let stage = &staged.stages[found.stage];
    let walks = |o: &&Operand| !o.ignores(column);
    let bytes = |o: &Operand| -> i64 {
        let terms = stage.iters.iter().filter(|i| i.kind == IterKind::Reduce && !o.ignores(i.var));
        let count = terms.map(|i| extent(staged, stage, i.var).unwrap_or(1 << 10)).fold(1, i64::saturating_mul);
        count.saturating_mul(staged.b.buf(o.buf).dtype.size_bytes() as i64)
    };
    found.operands.iter().filter(walks).map(bytes).fold(0, i64::saturating_add)
}

/// The most rows that the first cache holds of the operands that the rows walk through.
fn cached(staged: &Staged, found: &Contraction, row: VarId, machine: &Machine) -> i64 {
    let apart = |o: &Operand| {
        let bytes = staged.b.buf(o.buf).dtype.size_bytes() as i64;
        o.step(row).filter(|n| *n > 0).map(|n| rows_in_cache(n * bytes, machine))
    };
    found.operands.iter().filter_map(apart).min().unwrap_or(i64::MAX)
}

/// Spatial iterators but one that are walked through by operands which ignore `ignored`, and by no others.
fn alone(stage: &Stage, found: &Contraction, ignored: Option<VarId>, but: Option<VarId>) -> Vec<VarId> {
    let Some(ignored) = ignored else { return Vec::new() };
    let spatial = stage.iters.iter().filter(|i| i.kind == IterKind::Spatial && Some(i.var) != but && i.var != ignored);
    let fits = |v: &VarId| found.operands.iter().all(|o| o.ignores(ignored) || o.ignores(*v));
    spatial.map(|i| i.var).filter(fits).collect()
}
