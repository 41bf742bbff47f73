//! The primitives that make tiles of parts.

use tenfold_ir::Module;
use tenfold_ir::tir::PrimFunc;

use super::parts::{Level, Part, RowPart, TilePart};
use crate::dlight::tiles::Tile;
use crate::schedule::{Arg, BlockRV, LoopRV, Schedule, ScheduleError};

type Step<T> = Result<T, ScheduleError>;

/// Schedules every part.
pub(super) fn run(module: &Module, func: PrimFunc, parts: &[RowPart]) -> Step<PrimFunc> {
    let mut s = Schedule::new(module, func);
    let nests = parts.iter().map(|part| row_part(&mut s, part)).collect::<Step<Vec<_>>>()?;
    let width = |part: &RowPart| part.tiles.first().map(|tile| tile.tile.width());
    let first = parts.iter().find_map(width);
    let alike = parts.iter().zip(&nests).filter(|(part, _)| first.is_some() && width(part) == first);
    let (tiled, nests): (Vec<&RowPart>, Vec<_>) = alike.unzip();
    for level in 0..above_rows(&tiled) {
        let loops: Vec<LoopRV> = nests.iter().filter_map(|nest| nest.get(level).copied()).collect();
        s.merge(&loops)?;
    }
    Ok(s.finish())
}

/// How many loops stand around the rows of tiles, of whatever height but of one width: all rows go over what lies along
/// the columns while it is there, or all of a line go before the next one. None where columns are in tiles of several
/// kinds, which run one after another.
fn above_rows(tiled: &[&RowPart]) -> usize {
    let [first, _, ..] = tiled else { return 0 };
    if tiled.iter().any(|part| part.tiles.len() != 1 || !part.on_rows.is_empty()) {
        return 0;
    }
    let around = first.tiles.first().map_or(&[][..], |tile| &tile.around);
    let columns = around.iter().position(|level| matches!(level, Level::Columns | Level::Blocks));
    let rows = around.iter().position(|level| *level == Level::Rows);
    if first.tiles.first().is_some_and(|tile| tile.in_order) {
        return rows.unwrap_or(0);
    }
    columns.filter(|at| rows.is_some_and(|rows| *at < rows)).map_or(0, |at| at + 1)
}

/// A row of tiles, and what follows on its rows in the same loops; the loops around the tiles of the first kind.
fn row_part(s: &mut Schedule<'_>, part: &RowPart) -> Step<Vec<LoopRV>> {
    let mut nests = Vec::new();
    for tile in &part.tiles {
        nests.push(tiled(s, tile)?);
    }
    let first = nests.first().cloned().unwrap_or_default();
    if part.on_rows.is_empty() {
        return Ok(first);
    }
    for stage in &part.on_rows {
        nests.push(in_rows(s, stage, part.rows)?);
    }
    if nests.len() > 1 {
        for level in 0..=part.shared {
            let loops: Vec<LoopRV> = nests.iter().map(|nest| nest[level]).collect();
            s.merge(&loops)?;
        }
    }
    Ok(first)
}

/// A stage on rows: the loops that it shares, and the one over rows of tiles.
fn in_rows(s: &mut Schedule<'_>, part: &Part, rows: i64) -> Step<Vec<LoopRV>> {
    let loops = s.get_loops(part.name.as_str())?;
    let mut order: Vec<LoopRV> = part.outer.iter().map(|n| loops[*n]).collect();
    if let Some(row) = part.row {
        let outer = if rows > 1 { split(s, loops[row], &[rows])?.first().copied() } else { Some(loops[row]) };
        order.extend(outer);
    }
    s.reorder(&order)?;
    Ok(order)
}

/// The contraction in tiles: the loops around the tile, which other stages may share.
fn tiled(s: &mut Schedule<'_>, part: &TilePart) -> Step<Vec<LoopRV>> {
    let mut nests = Vec::new();
    for (n, sum) in part.sums.iter().enumerate() {
        let blocks = sum.blocks.as_ref();
        if let Some((partial, shared)) = blocks {
            nests.push(Nest { unroll: sum.unroll, ..nest(s, part, partial, *shared)? });
        }
        let total = nest(s, part, &sum.name, blocks.map_or(0, |(_, shared)| *shared))?;
        let unroll = if blocks.is_some() { 1 } else { sum.unroll };
        nests.push(Nest { starts: n == 0, unroll, ..total });
    }
    let around = merged(s, &nests.iter().map(|n| &n.around[..]).collect::<Vec<_>>())?;
    for (_, pair) in part.sums.iter().zip(nests.chunks_mut(2)).filter(|(sum, _)| sum.blocks.is_some()) {
        let blocks = merged(s, &pair.iter().map(|n| &n.blocks[..]).collect::<Vec<_>>())?;
        pair.iter_mut().for_each(|nest| nest.blocks.clone_from(&blocks));
    }
    let Some(place) = around.last().copied() else { return Ok(around) };
    let tile = part.tile;
    for (on, unrolled) in &part.on_tile {
        s.reverse_compute_at(on.name.as_str(), place)?;
        on_tile(s, on, part.behind, around.len(), *unrolled)?;
    }
    for nest in &mut nests {
        unrolled(s, nest)?;
        if let (Some((buf, terms)), Some(last)) = (&part.ahead, nest.reduce.last()) {
            let turns = (terms + nest.unroll - 1) / nest.unroll;
            s.annotate(*last, "prefetch", Arg::List(vec![Arg::Text(buf.clone()), Arg::Int(turns)]))?;
        }
        match part.matrix {
            true => in_matrix(s, nest)?,
            false => in_tile(s, nest, around.len(), tile.lanes)?,
        }
    }
    for (level, buf) in &part.next {
        s.annotate(around[*level], "prefetch_next", Arg::List(vec![Arg::Text(buf.clone()), Arg::Int(1)]))?;
    }
    Ok(around)
}

/// The loops of a sum.
struct Nest {
    block: BlockRV,
    /// Whether it has an init.
    starts: bool,
    /// Around the tile.
    around: Vec<LoopRV>,
    /// Over blocks.
    blocks: Vec<LoopRV>,
    /// Over terms.
    reduce: Vec<LoopRV>,
    /// Over rows, vectors and lanes of the tile.
    inside: Vec<LoopRV>,
    /// Terms that are written out behind one another.
    unroll: i64,
}

/// Puts the loops of a sum in order, so many of them being over blocks.
fn nest(s: &mut Schedule<'_>, part: &TilePart, name: &str, blocks: usize) -> Step<Nest> {
    let tile = part.tile;
    let block = s.get_block(name)?;
    let loops = s.get_loops(block)?;
    let tiled = [part.row, part.line, part.column];
    let whole = |n: &usize| part.around.contains(&Level::Whole(*n)) || tiled.contains(&Some(*n));
    let mut over_blocks: Vec<LoopRV> = (0..loops.len()).filter(|n| !whole(n)).map(|n| loops[n]).collect();
    let reduce = over_blocks.split_off(blocks);
    let rows = part.row.map(|n| split(s, loops[n], &[tile.rows / tile.lines])).transpose()?.unwrap_or_default();
    let lines = part.line.map(|n| split(s, loops[n], &[tile.lines])).transpose()?.unwrap_or_default();
    let (own, whole) = ([tile.vectors, tile.lanes], [tile.width()]);
    let columns = if part.matrix { &whole[..] } else { &own[..] };
    let columns = part.column.map(|n| split(s, loops[n], columns)).transpose()?.unwrap_or_default();
    let blocks = match columns.first().copied().filter(|_| part.block > 1) {
        Some(tiles) => split(s, tiles, &[part.block])?,
        None => Vec::new(),
    };
    let level = |level: &Level| match level {
        Level::Whole(n) => loops.get(*n).copied(),
        Level::Rows => rows.first().copied(),
        Level::Lines => lines.first().copied(),
        Level::Columns => columns.first().copied(),
        Level::Blocks => blocks.first().copied(),
        Level::InBlock => blocks.last().copied(),
    };
    let around: Vec<LoopRV> = part.around.iter().filter_map(level).collect();
    let inside = [&lines, &rows, &columns].into_iter().flat_map(|loops| loops.iter().skip(1));
    let inside: Vec<LoopRV> = inside.copied().collect();
    let (terms, elements) = (&reduce[..], &inside[..]);
    let (then, last) = if part.matrix { (elements, terms) } else { (terms, elements) };
    s.reorder(&[&around[..], &over_blocks, then, last].concat())?;
    Ok(Nest { block, starts: true, around, blocks: over_blocks, reduce, inside, unroll: 1 })
}

/// Loops of several nests made the same ones, level by level.
fn merged(s: &mut Schedule<'_>, nests: &[&[LoopRV]]) -> Step<Vec<LoopRV>> {
    let [one, _, ..] = nests else { return Ok(nests.first().map_or_else(Vec::new, |loops| loops.to_vec())) };
    let level = |n: usize| nests.iter().filter_map(|loops| loops.get(n).copied()).collect::<Vec<LoopRV>>();
    (0..one.len()).map(|n| s.merge(&level(n))).collect()
}

/// Starts a sum before the loops over what it adds, and writes the tile out.
fn in_tile(s: &mut Schedule<'_>, nest: &Nest, around: usize, lanes: i64) -> Step<()> {
    // What sums terms starts anew in each block, what adds blocks up before all of them.
    let (first, outside) = match nest.reduce.first() {
        Some(first) => (Some(first), around + nest.blocks.len()),
        None => (nest.blocks.first(), around),
    };
    if let Some(first) = first.filter(|_| nest.starts) {
        let start = s.decompose_reduction(nest.block, *first)?;
        let loops = s.get_loops(start)?;
        in_registers(s, &loops[outside..], lanes)?;
    }
    in_registers(s, &nest.inside, lanes)
}

/// Leaves the tile to back ends as the plain product that it is.
fn in_matrix(s: &mut Schedule<'_>, nest: &Nest) -> Step<()> {
    if let Some(terms) = nest.reduce.first() {
        s.decompose_reduction(nest.block, *terms)?;
    }
    match nest.inside.first() {
        Some(rows) => s.annotate(*rows, "matrix_tile", true),
        None => Ok(()),
    }
}

/// Writes so many terms out behind one another; the loop over them is an outer one from then on.
fn unrolled(s: &mut Schedule<'_>, nest: &mut Nest) -> Step<()> {
    let Some(last) = nest.reduce.last_mut().filter(|_| nest.unroll > 1) else { return Ok(()) };
    let terms = split(s, *last, &[nest.unroll])?;
    in_registers(s, &terms[1..], 1)?;
    terms.first().into_iter().for_each(|outer| *last = *outer);
    Ok(())
}

/// What is done on the tile, inside of `around` loops.
fn on_tile(s: &mut Schedule<'_>, part: &Part, tile: Tile, around: usize, unrolled: bool) -> Step<()> {
    let loops = s.get_loops(part.name.as_str())?;
    // Loops of one turn are gone, rows come in the stage's own order.
    let mut own = loops[around..].to_vec();
    let has_row = tile.rows / tile.lines > 1 && part.row.is_some();
    let has_column = tile.width() > 1;
    let column = match (has_row, has_column) {
        (_, false) => None,
        (true, true) if part.column < part.row => {
            Some(own.remove(usize::from(tile.lines > 1 && part.line < part.column)))
        }
        _ => own.pop(),
    };
    let mut order = own;
    if let Some(column) = column {
        order.extend(&split(s, column, &[tile.vectors, tile.lanes])?[1..]);
        s.reorder(&order)?;
    }
    if unrolled {
        return in_registers(s, &order, if column.is_some() { tile.lanes } else { 1 });
    }
    match order.last() {
        Some(last) if column.is_some() && tile.lanes > 1 => s.vectorize(*last),
        _ => Ok(()),
    }
}

/// Writes loops out, the innermost in vectors.
fn in_registers(s: &mut Schedule<'_>, loops: &[LoopRV], lanes: i64) -> Step<()> {
    for (n, it) in loops.iter().enumerate() {
        if n + 1 == loops.len() && lanes > 1 {
            s.vectorize(*it)?;
        } else {
            s.unroll(*it)?;
        }
    }
    Ok(())
}

/// Splits a loop into an outer one and these.
fn split(s: &mut Schedule<'_>, it: LoopRV, inner: &[i64]) -> Step<Vec<LoopRV>> {
    let factors: Vec<Arg> = std::iter::once(Arg::Infer).chain(inner.iter().map(|n| Arg::Int(*n))).collect();
    s.split(it, &factors)
}
