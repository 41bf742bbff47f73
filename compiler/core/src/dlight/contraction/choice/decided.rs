//! The choices of the model made questions: which iterators, which copies, how large a tile, in which order.
//!
//! The model's own choice is the default of each. What is offered beside it is right whatever the machine makes of it:
//! tiles that fit into the registers, blocks that divide, orders of independent loops.

use tenfold_ir::tir::{BufId, IterKind, VarId};

use super::super::blocks;
use super::{Choice, Contraction, Costed, Extents, Packing, Staged, extent, extents};
use crate::dlight::machine::Machine;
use crate::dlight::tiles::{self, lines_at_once, most_rows};
use crate::tune::Asked;

/// Terms of a sum that may be written out behind one another.
const UNROLLED: [i64; 5] = [1, 2, 3, 4, 8];

/// Terms before which an operand may be asked for.
const AHEAD: [i64; 5] = [0, 8, 16, 32, 64];

/// Terms of the blocks of long sums: none longer than the default, so that none loses more to rounding.
const TERMS: [i64; 4] = [64, 96, 128, blocks::TERMS];

/// The choice among all that are possible, the best by the model first.
pub(super) fn among(
    staged: &Staged,
    found: &Contraction,
    mut all: Vec<Costed>,
    lays_out: bool,
    asked: &Asked,
) -> Option<Costed> {
    if !asked.is_default() {
        let stage = &staged.stages[found.stage];
        let place = |var: VarId| stage.iters.iter().position(|i| i.var == var).map_or(String::new(), |n| n.to_string());
        narrow(&mut all, asked, "column", |choice| place(choice.column));
        narrow(&mut all, asked, "row", |choice| choice.row.map_or("none".into(), place));
        narrow(&mut all, asked, "matrix", |choice| if choice.matrix { "yes" } else { "no" }.into());
        narrow(&mut all, asked, "room", |choice| if choice.padded.is_some() { "yes" } else { "no" }.into());
        // Constants are laid out for nothing, and behind that there is nothing left to ask.
        if !lays_out {
            narrow(&mut all, asked, "copy", |choice| word(choice.packed.map(|(_, packing)| packing)).into());
        }
    }
    all.into_iter().next()
}

fn word(packing: Option<Packing>) -> &'static str {
    match packing {
        None => "none",
        Some(Packing::Iterators) => "iterators",
        Some(Packing::Phases(_)) => "phases",
        Some(Packing::Panels) => "panels",
        Some(Packing::CopiedPanels) => "copied-panels",
    }
}

/// Keeps the choices with the answer to one question.
fn narrow(all: &mut Vec<Costed>, asked: &Asked, name: &str, text: impl Fn(&Choice) -> String) {
    let mut options: Vec<String> = Vec::new();
    for costed in all.iter() {
        let text = text(&costed.choice);
        if !options.contains(&text) {
            options.push(text);
        }
    }
    if !options.is_empty() {
        let taken = asked.pick(name, &options, 0);
        all.retain(|costed| text(&costed.choice) == options[taken]);
    }
}

/// The tile, the order of tiles and the blocks of the sum, as they are answered.
pub(super) fn sized(staged: &Staged, found: &Contraction, costed: Costed, machine: &Machine, asked: &Asked) -> Choice {
    let Costed { cycles, mut choice, .. } = costed;
    if asked.is_default() {
        return choice;
    }
    let of = extents(staged, found, (choice.column, choice.row), (choice.tile.lanes, choice.padded.is_some()), machine);
    let before = tiles::cost(&Extents { most: choice.tile.rows, ..of }, choice.tile.vectors, machine);
    tile(&of, &mut choice, machine, asked);
    let after = tiles::cost(&Extents { most: choice.tile.rows, ..of }, choice.tile.vectors, machine);
    order(staged, found, &mut choice, machine, asked);
    sum(staged, found, &mut choice, asked);
    let times = super::times(staged, found, &choice, machine);
    asked.counted(cycles + (i128::from(after) - i128::from(before)) * times);
    choice
}

/// As many vectors and rows as registers hold.
fn tile(of: &Extents, choice: &mut Choice, machine: &Machine, asked: &Asked) {
    let whole = of.columns.map_or(i64::MAX, |n| (n + of.lanes - 1) / of.lanes);
    let widest = ((machine.registers - 2) / 2).min(whole).max(1);
    let vectors = asked.number("vectors", choice.tile.vectors, 1..=widest);
    if choice.row.is_none() {
        choice.tile.vectors = vectors;
        return;
    }
    let most = most_rows(vectors, machine).min(of.rows.unwrap_or(i64::MAX)).max(1);
    let same = vectors == choice.tile.vectors;
    choice.tile.vectors = vectors;
    if choice.lines.is_some() {
        let room = lines_at_once(of, vectors, machine);
        let own = if same { choice.tile.lines } else { room };
        choice.tile.lines = asked.number("lines", own, 1..=room);
    }
    if let (Some(rows), true) = (of.rows, choice.tile.lines > 1) {
        choice.tile.rows = rows * choice.tile.lines;
        return;
    }
    let own = if same { choice.tile.rows.min(most) } else { most.min(of.most).max(1) };
    choice.tile.rows = asked.number("rows", own, 1..=most);
}

/// Which tiles follow one another.
fn order(staged: &Staged, found: &Contraction, choice: &mut Choice, machine: &Machine, asked: &Asked) {
    let Some(row) = choice.row else { return };
    choice.block = super::order::block(staged, found, row, choice, machine);
    choice.strips = super::order::strips(staged, found, row, choice, machine);
    if found.operands.iter().any(|o| !o.ignores(choice.column) && !o.ignores(row)) {
        choice.strips = asked.either("strips", choice.strips, ["no", "yes"]);
    }
    choice.columns_outside = super::order::outside(staged, found, row, choice, machine);
    choice.columns_outside = asked.either("outside", choice.columns_outside, ["rows", "columns"]);
    let alone = choice.along_columns.is_empty() && choice.along_rows.is_empty();
    let columns = extent(staged, &staged.stages[found.stage], choice.column);
    if let (Some(columns), true, true) = (columns, alone, choice.columns_outside) {
        let tiles = columns / choice.tile.width().max(1);
        choice.block = asked.number("block", choice.block, (1..=tiles.min(64)).filter(|n| tiles % n == 0));
    }
}

/// How the sum runs.
fn sum(staged: &Staged, found: &Contraction, choice: &mut Choice, asked: &Asked) {
    let stage = &staged.stages[found.stage];
    let reduce = stage.iters.iter().filter(|i| i.kind == IterKind::Reduce);
    let reduce: Vec<Option<i64>> = reduce.map(|i| extent(staged, stage, i.var)).collect();
    let terms = reduce.iter().fold(1_i64, |n, e| n.saturating_mul(e.unwrap_or(1 << 10)));
    let floats = staged.b.buf(found.acc).dtype.is_float() && !staged.b.func().strict;
    if floats && terms > TERMS[0] {
        choice.terms = asked.number("terms", choice.terms, TERMS);
    }
    let last = reduce.last().copied().flatten();
    let divides = |n: &i64| last.is_some_and(|turns| turns % n == 0);
    choice.unroll = asked.number("unroll", choice.unroll, UNROLLED.into_iter().filter(divides));
}

/// Whether what the next tile along the rows reads is asked for, where that may pay.
pub(super) fn next_rows(own: Option<BufId>, asked: &Asked) -> Option<BufId> {
    own.filter(|_| asked.either("next-rows", true, ["no", "yes"]))
}

/// How many terms before it is needed the operand in panels is asked for, 0 where it is not; and whether a panel ahead.
pub(super) fn ahead(
    found: &Contraction,
    choice: &Choice,
    (own, next_panel): (Option<(BufId, i64)>, bool),
    asked: &Asked,
) -> (Option<(BufId, i64)>, bool) {
    let panels = found.operands.iter().find(|o| o.panel.is_some_and(|(v, _)| v == choice.column));
    let Some(operand) = panels.filter(|_| !asked.is_default()) else { return (own, next_panel) };
    let terms = asked.number("ahead", own.map_or(0, |(_, terms)| terms), AHEAD);
    let next_panel = next_panel && terms > 0 && asked.either("next-panel", true, ["no", "yes"]);
    ((terms > 0).then_some((operand.buf, terms)), next_panel)
}
