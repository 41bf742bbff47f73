//! How an attention is cut: queries into tiles, keys into blocks, and which operands are laid out anew.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{Expr, ExprId, PrimFunc, VarId, Viewer};

use super::found::Attention;
use crate::dlight::left::{self, Behind, Rows};
use crate::dlight::machine::Machine;
use crate::dlight::tiles::{Extents, Span, balanced, cost, most_rows, rows_in_cache};
use crate::dlight::walk::{step, straight};
use crate::fuse::stage::Iter;

/// The most keys of a block, and terms of a sum. A contraction allows one accumulator about as many; these are as many panels of
/// 32 as hold the 197 keys of a vision transformer, for which a second block would take a sixth of the time.
pub(super) const TERMS: i64 = 224;

/// Bytes that a tile of queries may take on the stack.
const STACK: i64 = 48 << 10;

/// The least queries of a tile: fewer wait for keys and values, which each tile reads.
const LEAST: i64 = 8;

/// Queries that make up for laying out all keys anew.
const FEW: i64 = 8;

/// The sizes of an attention.
pub(super) struct Plan {
    /// Elements of a vector.
    pub lanes: i64,
    /// The most queries of a tile.
    pub rows: i64,
    /// Vectors of keys of a tile of scores.
    pub of_keys: i64,
    /// Vectors of elements of a tile of results.
    pub of_columns: i64,
    /// Keys that scores of a tile are there for at once.
    pub block: i64,
    /// Keys, if they are so few that they are one block.
    pub whole: Option<i64>,
    /// Terms of a score.
    pub depth: i64,
    /// Elements of a value.
    pub columns: i64,
    /// Whether keys are laid out anew.
    pub pack_keys: bool,
    /// Whether values are.
    pub pack_values: bool,
}

impl Plan {
    /// Keys of a panel.
    pub(super) fn panel(&self) -> i64 {
        self.of_keys * self.lanes
    }

    /// Ranges of queries with the height of their tiles.
    pub(super) fn tiles(&self, extent: &IntExpr) -> Vec<Rows> {
        let Some(n) = extent.as_const() else { return left::parts(extent, self.rows, Behind::Two) };
        let mut begin = 0;
        let spans = balanced(n, self.rows).into_iter().map(|Span { extent, tile }| {
            begin += extent;
            Rows { begin: IntExpr::from(begin - extent), tiles: IntExpr::from(extent / tile), height: tile }
        });
        spans.collect()
    }
}

/// The sizes for a machine, or why there are none.
pub(super) fn plan(func: &PrimFunc, found: &Attention, machine: &Machine) -> Result<Plan, &'static str> {
    let number = |iter: &Iter| Viewer::new(func).int(iter.extent).as_const();
    let of_elements = "the length of queries or values is no number";
    let (depth, columns) = (number(&found.depth).ok_or(of_elements)?, number(&found.column).ok_or(of_elements)?);
    let (keys, rows) = (number(&found.key), found.row.as_ref().map_or(Some(1), number));
    if found.rounded.is_some() {
        return Err("halves are rounded between its operators");
    }
    let empty = |i: &Iter| number(i) == Some(0);
    if keys == Some(0) || rows == Some(0) || found.outer.iter().any(empty) {
        return Err("it has no elements");
    }
    if !straight(func, found.score, found.key.var) {
        return Err("what is done to scores differs from key to key");
    }
    let bytes = found.dtype.size_bytes() as i64;
    let lanes = (machine.vector_bytes / bytes).max(1);
    let near = |terms: i64| machine.way_bytes * machine.ways / 2 / (terms * bytes).max(1);
    let of = |columns: i64, terms: i64| Extents {
        rows,
        lines: None,
        columns: Some(columns),
        lanes,
        most: i64::MAX,
        near: near(terms),
    };
    let once = keys.unwrap_or(TERMS).min(TERMS);
    let (of_keys, of_columns) = vectors((&of(once, depth), depth), (&of(columns, once), once), machine);
    let panel = of_keys * lanes;
    let block = block(keys, panel);
    let whole = keys.filter(|n| *n <= block);
    let held = whole.unwrap_or(block) + depth + columns + 4 * lanes;
    let (registers, stack) = (most_rows(of_keys, machine).min(most_rows(of_columns, machine)), STACK / (held * bytes));
    if stack < LEAST.min(registers).min(rows.unwrap_or(LEAST)) {
        return Err("what a tile of queries needs is too large for the stack");
    }
    // Rows of large heads are as few as the stack has room for.
    let most = registers.min(stack);
    let rows_in_tile = rows.map_or(left::whole(most), |n| balanced(n, most).first().map_or(1, |span| span.tile));
    let pack_keys = !(straight_from(func, found.keys, found.key.var) && rows.is_some_and(|n| n <= most));
    if pack_keys && rows.is_some_and(|n| n < FEW) {
        return Err("so few queries do not make up for laying out keys");
    }
    let pack_values = !straight_from(func, found.values, found.column.var)
        || rows.is_none_or(|n| n > most) && scattered(func, found, keys.map_or(block, |n| n.min(block)), machine);
    let rows = rows_in_tile;
    Ok(Plan { lanes, rows, of_keys, of_columns, block, whole, depth, columns, pack_keys, pack_values })
}

/// Keys of a block, in whole panels: of blocks that are about as large as each other, where the number of keys is known. A small
/// last one would have all that is done once per block done for few keys.
fn block(keys: Option<i64>, panel: i64) -> i64 {
    let most = (TERMS / panel).max(1);
    let panels = keys.map_or(most, |n| {
        let up = |n: i64, of: i64| (n + of - 1) / of;
        let all = up(n.max(1), panel);
        up(all, up(all, most))
    });
    panels * panel
}

/// Vectors of tiles of scores and of results, which have the same rows, that together cost the least, each as often as
/// its sum has terms. Of those that cost about as much those that leave a quarter of all loads to others, and of
/// these the narrowest, whose tiles have the most rows: keys and values are read once per tile.
fn vectors(scores: (&Extents, i64), results: (&Extents, i64), machine: &Machine) -> (i64, i64) {
    const ABOUT: i64 = 16;
    let widest = |of: &Extents| {
        let whole = (of.columns.unwrap_or(1) + of.lanes - 1) / of.lanes;
        1..=((machine.registers - 2) / 2).min(whole).max(1)
    };
    let all: Vec<(i64, i64)> = widest(scores.0).flat_map(|x| widest(results.0).map(move |y| (x, y))).collect();
    let costs = |(x, y): (i64, i64)| {
        let most = most_rows(x, machine).min(most_rows(y, machine));
        let one = |(of, terms): (&Extents, i64), n: i64| cost(&Extents { most, ..*of }, n, machine) * terms;
        one(scores, x) + one(results, y)
    };
    let least = all.iter().map(|pair| costs(*pair)).min().unwrap_or(0);
    let good = all.into_iter().filter(|pair| costs(*pair) <= least + least / ABOUT);
    let waits = |vectors: i64| {
        let rows = most_rows(vectors, machine);
        4 * (rows + vectors) * machine.fmas > 3 * rows * vectors * machine.loads
    };
    good.min_by_key(|(x, y)| (waits(*x) || waits(*y), *x.max(y), x + y, *x)).unwrap_or((1, 1))
}

/// Whether a value is an element of a row that lies along an iterator, as it is.
fn straight_from(func: &PrimFunc, id: ExprId, along: VarId) -> bool {
    let viewer = &mut Viewer::new(func);
    let sym = viewer.sym(along);
    match func.exprs.get(id) {
        Expr::Load { buf, index, .. } => step(viewer, *buf, index, &sym) == Some(1),
        _ => false,
    }
}

/// Whether values of so many keys share sets of the first cache, so that it does not hold all of them.
fn scattered(func: &PrimFunc, found: &Attention, keys: i64, machine: &Machine) -> bool {
    let Expr::Load { buf, index, .. } = func.exprs.get(found.values) else { return true };
    let viewer = &mut Viewer::new(func);
    let sym = viewer.sym(found.key.var);
    let apart = step(viewer, *buf, index, &sym);
    let bytes = found.dtype.size_bytes() as i64;
    apart.is_none_or(|n| rows_in_cache(n * bytes, machine) < keys)
}
