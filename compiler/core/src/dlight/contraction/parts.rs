//! The stages of a group cut into parts whose tiles are whole.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, Builder, IterKind, Scope, Stmt, VarId, Viewer};

use super::Staged;
use super::blocks::{Pair, pairs};
use super::choice::{Choice, SHORT};
use super::group::{Group, OnTile};
use crate::dlight::cut::{Instead, Range, buffer_like, part};
use crate::dlight::kernel::of_stage;
use crate::dlight::left::{self, Behind};
use crate::dlight::tiles::{Tile, balanced, columns};
use crate::fuse::access::{Axis, accesses, axes};
use crate::fuse::stage::Stage;

/// Rows that run in tiles of one height.
pub(super) struct RowPart {
    /// The contraction, a part per kind of tile.
    pub tiles: Vec<TilePart>,
    /// What works on rows of the result.
    pub on_rows: Vec<Part>,
    /// How many loops stand around the rows in every part of it.
    pub shared: usize,
    /// Rows of a tile.
    pub rows: i64,
}

/// A buffer, and how many terms of the sum before it is needed it is asked for.
pub(super) type Ahead = (String, i64);

/// A loop around the tile, and a buffer of which what the loop's next turn reads is asked for in each.
pub(super) type Next = (usize, String);

/// The contraction over a rectangle of its result.
pub(super) struct TilePart {
    /// What sums, in order.
    pub sums: Vec<Sum>,
    /// Its loops around the tile, outermost first.
    pub around: Vec<Level>,
    /// Its loop over rows.
    pub row: Option<usize>,
    /// Its loop over lines of rows, if a tile has several.
    pub line: Option<usize>,
    /// Its loop over columns.
    pub column: Option<usize>,
    /// The tile.
    pub tile: Tile,
    /// The same for what is done on it.
    pub behind: Tile,
    /// Tiles along the columns in a block.
    pub block: i64,
    /// What is asked for in the sum.
    pub ahead: Option<Ahead>,
    /// What loops around the tile ask for.
    pub next: Vec<Next>,
    /// What is done on the tile, and whether each access of it must have a constant place.
    pub on_tile: Vec<(Part, bool)>,
    /// Whether the tile is kept in registers that are matrices.
    pub matrix: bool,
    /// Whether its loops stand in the order of the stage's.
    pub in_order: bool,
}

/// What sums over a tile.
pub(super) struct Sum {
    /// Name of the block that the tile's elements are the results of.
    pub name: String,
    /// Where sums are in blocks: the name of the block that sums each of them, and how many loops over blocks both have.
    pub blocks: Option<(String, usize)>,
    /// Terms that are written out behind one another; their number is a multiple.
    pub unroll: i64,
}

/// A loop around a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Level {
    /// The loop of an iterator.
    Whole(usize),
    /// Over tiles along the rows.
    Rows,
    /// Over tiles along lines of rows.
    Lines,
    /// Over tiles along the columns.
    Columns,
    /// Over blocks of such tiles.
    Blocks,
    /// Over the tiles of a block.
    InBlock,
}

/// A part of a stage: the name of its block, and which of its loops are which.
pub(super) struct Part {
    /// Block.
    pub name: String,
    /// Loops around the rows, outermost first.
    pub outer: Vec<usize>,
    /// The loop over rows.
    pub row: Option<usize>,
    /// The loop over lines of rows, if a tile has several.
    pub line: Option<usize>,
    /// The loop over columns.
    pub column: Option<usize>,
}

/// Bytes that buffers of one row of tiles may take.
const LOCAL: i64 = 48 << 10;

/// The kernel with its parts side by side; nothing where what lies between stages is too large for the stack.
pub(super) fn cut(mut staged: Staged, group: &Group, choice: &Choice) -> Option<(Staged, Vec<RowPart>)> {
    let rows = row_ranges(&mut staged, group, choice);
    let lines = line_ranges(&mut staged, group, choice);
    let whole = column_ranges(&mut staged, group, choice, choice.tile);
    let one_row = column_ranges(&mut staged, group, choice, Tile { vectors: choice.one_row, ..choice.tile });
    let mut cutter = Cutter { b: staged.b, names: BTreeSet::new(), allocs: Vec::new(), stages: group.before.clone() };
    let taken = group.before.iter().chain(&group.after).map(|s| s.name.clone());
    cutter.names.extend(taken);
    let mut parts = Vec::new();
    for (range, height) in &rows {
        for (line, count) in &lines {
            let size = Tile { rows: height * count, lines: *count, ..choice.tile };
            let columns = if size.rows == 1 { &one_row } else { &whole };
            parts.push(cutter.row_part(group, choice, (range.as_ref(), line.as_ref()), size, columns)?);
        }
    }
    if group.rows_behind {
        let on_rows = cutter.on_rows(group, choice, None, &BTreeMap::new());
        parts.push(RowPart { tiles: Vec::new(), on_rows, shared: group.shared.len(), rows: 1 });
    }
    cutter.stages.extend(group.after.iter().cloned());
    let mut allocs = staged.allocs;
    allocs.extend(cutter.allocs);
    // What parts have buffers of their own for is gone.
    let touched = |s: &Stage| accesses(cutter.b.func(), s).into_iter().map(|a| a.buf).collect::<Vec<_>>();
    let used: BTreeSet<BufId> = cutter.stages.iter().flat_map(touched).collect();
    allocs.retain(|b| used.contains(b));
    Some((Staged { b: cutter.b, allocs, stages: cutter.stages }, parts))
}

struct Cutter {
    b: Builder,
    names: BTreeSet<String>,
    allocs: Vec<BufId>,
    stages: Vec<Stage>,
}

type Ranges = BTreeMap<VarId, Range>;

impl Cutter {
    fn row_part(
        &mut self,
        group: &Group,
        choice: &Choice,
        (range, line): (Option<&Range>, Option<&Range>),
        Tile { rows, lines, .. }: Tile,
        columns: &[(Range, Tile)],
    ) -> Option<RowPart> {
        let mut bufs = BTreeMap::new();
        for buf in &group.of_rows {
            let new = self.of_rows(group, choice, *buf, rows)?;
            bufs.insert(*buf, Instead { buf: new, own: false });
        }
        let mut own = Ranges::new();
        own.extend(choice.row.zip(range.cloned()));
        own.extend(choice.line().zip(line.cloned()));
        let mut tiles = Vec::new();
        for (columns, tile) in columns {
            tiles.push(self.tile_part(group, choice, (&own, columns), Tile { rows, lines, ..*tile }, &bufs));
        }
        let on_rows = if group.rows_behind { Vec::new() } else { self.on_rows(group, choice, range, &bufs) };
        Some(RowPart { tiles, on_rows, shared: group.shared.len(), rows })
    }

    fn on_rows(
        &mut self,
        group: &Group,
        choice: &Choice,
        range: Option<&Range>,
        bufs: &BTreeMap<BufId, Instead>,
    ) -> Vec<Part> {
        let mut all = Vec::new();
        for (stage, links) in &group.on_rows {
            let name = self.stage(stage, &ranges(links, choice.row, range), bufs);
            let at = |v: &VarId| stage.iters.iter().position(|i| links.get(v) == Some(&i.var));
            let outer: Vec<usize> = group.shared.iter().filter_map(at).collect();
            all.push(Part { name, outer, row: choice.row.as_ref().and_then(at), line: None, column: None });
        }
        all
    }

    fn tile_part(
        &mut self,
        group: &Group,
        choice: &Choice,
        (rows, columns): (&Ranges, &Range),
        tile: Tile,
        bufs: &BTreeMap<BufId, Instead>,
    ) -> TilePart {
        let source = &group.contraction;
        let mut own = rows.clone();
        own.insert(choice.column, columns.clone());
        let mut bufs = bufs.clone();
        if let Some(new) = self.of_tile(source, group.acc, &own) {
            bufs.insert(group.acc, Instead { buf: new, own: true });
        }
        if let [copy, _, ..] = &group.on_tile[..]
            && let Stmt::Store { buf, .. } = &copy.stage.body
        {
            let back = own.iter().filter_map(|(v, r)| Some((*copy.links.get(v)?, r.clone()))).collect();
            if let Some(new) = self.of_tile(&copy.stage, *buf, &back) {
                bufs.insert(*buf, Instead { buf: new, own: true });
            }
        }
        let sums = self.sums(source, &own, &bufs, choice);
        let at = |v: VarId| source.iters.iter().position(|i| i.var == v);
        let (row, line, column) = (choice.row.and_then(at), choice.line().and_then(at), at(choice.column));
        let on_tile = group.on_tile.iter();
        let on_tile =
            on_tile.map(|on| (self.on_tile(on, &own, &bufs, choice), on.unrolled && !choice.matrix)).collect();
        let tiles = columns.size.as_const().map_or(0, |n| n / tile.width().max(1));
        let blocked = choice.block > 1 && tiles % choice.block == 0 && tiles > 0 && !group.rows_within();
        let blocked = blocked && choice.columns_outside && row.is_some();
        let block = if blocked { choice.block } else { 1 };
        let around = order(group, choice, blocked);
        let (ahead, next) = self.asked_ahead(choice, &around);
        let (behind, matrix, in_order) = (choice.behind(tile), choice.matrix, choice.in_order);
        TilePart { sums, around, row, line, column, tile, behind, block, ahead, next, on_tile, matrix, in_order }
    }

    /// What is asked for some terms before it is needed, and what in the turns of loops around the tile instead.
    fn asked_ahead(&self, choice: &Choice, around: &[Level]) -> (Option<Ahead>, Vec<Next>) {
        let name = |buf: BufId| self.b.buf(buf).name.clone();
        let place = |wanted: Level| around.iter().position(|level| *level == wanted);
        let mut ahead = choice.ahead.map(|(buf, terms)| (name(buf), terms));
        let panels = place(Level::Columns).filter(|at| choice.next_panel && at + 1 < around.len());
        let panels = panels.and_then(|at| Some((at, ahead.take()?.0)));
        let rows = place(Level::Rows).zip(choice.next_rows.map(name));
        (ahead, panels.into_iter().chain(rows).collect())
    }

    /// A buffer that a stage writes, with room for ranges of its iterators.
    fn of_tile(&mut self, stage: &Stage, buf: BufId, own: &Ranges) -> Option<BufId> {
        let Stmt::Store { index, .. } = &stage.body else { return None };
        let made = axes(self.b.func(), index);
        let new = buffer_like(&mut self.b, buf);
        let data = self.b.buf_mut(new);
        data.scope = Scope::Local;
        for (axis, made) in made.iter().enumerate() {
            if let Axis::Iter(var, _) = made
                && let Some(range) = own.get(var)
            {
                data.shape[axis] = range.size.clone();
            }
        }
        self.allocs.push(new);
        Some(new)
    }

    fn on_tile(&mut self, on: &OnTile, own: &Ranges, bufs: &BTreeMap<BufId, Instead>, choice: &Choice) -> Part {
        let ranges = own.iter().filter_map(|(v, r)| Some((*on.links.get(v)?, r.clone()))).collect();
        let name = self.stage(&on.stage, &ranges, bufs);
        let at = |v: VarId| on.stage.iters.iter().position(|i| on.links.get(&v) == Some(&i.var));
        let line = choice.line().and_then(at);
        Part { name, outer: Vec::new(), row: choice.row.and_then(at), line, column: at(choice.column) }
    }

    /// Adds a part of the contraction, in blocks where its sum is long.
    fn sums(&mut self, source: &Stage, ranges: &Ranges, bufs: &BTreeMap<BufId, Instead>, choice: &Choice) -> Vec<Sum> {
        let whole = part(&mut self.b, source, &source.name, ranges, bufs);
        let row = choice.row.and_then(|row| source.iters.iter().position(|i| i.var == row));
        // A register that is a matrix takes few terms of a sum one after another, and what it makes of them at once.
        let pairs = if choice.matrix { Vec::new() } else { pairs(&mut self.b, &whole, choice.terms) };
        if pairs.is_empty() {
            let unroll = self.unrolled(&whole, row, choice);
            return vec![Sum { name: self.add(whole), blocks: None, unroll }];
        }
        let mut sums = Vec::new();
        for Pair { partial, total, blocks, buf } in pairs {
            self.allocs.push(buf);
            let unroll = self.unrolled(&partial, row, choice);
            let partial = self.add(partial);
            sums.push(Sum { name: self.add(total), blocks: Some((partial, blocks)), unroll });
        }
        sums
    }

    /// As many terms as are chosen, or half as many and so on, that divide the innermost loop of a sum; all of a short
    /// loop inside of others, whose turns would be spent on counting. Not so many that rows read the same elements in
    /// them: LLVM would load each once, and keep them in memory instead of accumulators.
    fn unrolled(&self, stage: &Stage, row: Option<usize>, choice: &Choice) -> i64 {
        let short = if choice.small { 4 } else { SHORT };
        let mut reduce = stage.iters.iter().rev().filter(|i| i.kind == IterKind::Reduce);
        let Some(last) = reduce.next() else { return 1 };
        let Some(turns) = Viewer::new(self.b.func()).int(last.extent).as_const() else { return 1 };
        let inside = choice.small || reduce.next().is_some();
        let most = row.and_then(|row| self.overlaps_after(stage, row, last.var)).unwrap_or(turns);
        if choice.unroll > 1 && turns <= short.min(most) && inside {
            return turns;
        }
        let halves = std::iter::successors(Some(choice.unroll), |n| (*n > 1).then_some(n / 2));
        halves.into_iter().find(|n| *n <= most && turns % n == 0).unwrap_or(1)
    }

    /// After how many terms a row of a sum with broadcasts reads what the one before it has read.
    fn overlaps_after(&self, stage: &Stage, row: usize, term: VarId) -> Option<i64> {
        let row = stage.iters.get(row)?.var;
        let found = of_stage(self.b.func(), stage, 0)?;
        let broadcast = found.operands.iter().filter(|o| !o.ignores(row));
        let all = found.operands.iter().all(|o| !o.ignores(row));
        broadcast.filter_map(|o| o.overlaps_after(row, term)).min().filter(|_| !all)
    }

    /// Adds a part of a stage; its name.
    fn stage(&mut self, stage: &Stage, ranges: &Ranges, bufs: &BTreeMap<BufId, Instead>) -> String {
        let new = part(&mut self.b, stage, &stage.name, ranges, bufs);
        self.add(new)
    }

    /// Adds a stage under a name of its own.
    fn add(&mut self, stage: Stage) -> String {
        let names = std::iter::once(stage.name.clone()).chain((1..).map(|n| format!("{}_{n}", stage.name)));
        let name = names.into_iter().find(|n| !self.names.contains(n)).unwrap_or_default();
        self.names.insert(name.clone());
        self.stages.push(Stage { name: name.clone(), ..stage });
        name
    }

    /// A buffer of which one row of tiles is alive at once.
    fn of_rows(&mut self, group: &Group, choice: &Choice, buf: BufId, rows: i64) -> Option<BufId> {
        let source = &group.contraction;
        let extent = |v: VarId| {
            let iter = source.iters.iter().find(|i| i.var == v)?;
            Viewer::new(self.b.func()).int(iter.extent).as_const()
        };
        let data = self.b.buf(buf);
        let whole = data.shape.iter().try_fold(data.dtype.size_bytes() as i64, |n, d| n.checked_mul(d.as_const()?))?;
        let over: i64 = group.shared.iter().chain(&choice.row).try_fold(1i64, |n, v| n.checked_mul(extent(*v)?))?;
        if over == 0 || whole / over * rows > LOCAL {
            return None;
        }
        let new = buffer_like(&mut self.b, buf);
        self.b.buf_mut(new).scope = Scope::Local;
        self.allocs.push(new);
        Some(new)
    }
}

fn ranges(links: &BTreeMap<VarId, VarId>, row: Option<VarId>, range: Option<&Range>) -> Ranges {
    let own = row.and_then(|r| links.get(&r));
    own.copied().zip(range.cloned()).into_iter().collect()
}

/// The loops of the contraction around a tile. What stages on rows share stands outside, then rows and columns, as the
/// choice says, each with the iterators that its operand walks through.
fn order(group: &Group, choice: &Choice, blocked: bool) -> Vec<Level> {
    let source = &group.contraction;
    let level = |v: &VarId| match Some(*v) == choice.line() {
        true => Some(Level::Lines),
        false => source.iters.iter().position(|i| i.var == *v).map(Level::Whole),
    };
    let mut around: Vec<Level> = group.shared.iter().filter_map(level).collect();
    let rest = source.iters.iter().filter(|i| i.kind == IterKind::Spatial).map(|i| i.var);
    let rest = rest.filter(|v| *v != choice.column && Some(*v) != choice.row && !group.shared.contains(v));
    let (with_columns, others): (Vec<VarId>, Vec<VarId>) = rest.partition(|v| choice.along_columns.contains(v));
    let (with_rows, with_both): (Vec<VarId>, Vec<VarId>) =
        others.into_iter().partition(|v| choice.along_rows.contains(v));
    let of = |vars: &[VarId], then: Level| vars.iter().filter_map(level).chain([then]).collect::<Vec<_>>();
    let (before, behind): (Vec<VarId>, Vec<VarId>) = with_rows.iter().partition(|v| {
        // Without caches it does not matter what is near: what is read and written goes from one end to the other.
        let place = |var: VarId| source.iters.iter().position(|i| i.var == var);
        !choice.small || choice.row.is_none_or(|row| place(**v) < place(row))
    });
    let (rows, columns) = (
        of(&before, Level::Rows).into_iter().chain(behind.iter().filter_map(level)).collect::<Vec<_>>(),
        of(&with_columns, Level::Columns),
    );
    if group.rows_within() {
        // The loop over rows is the last one that is shared.
        around.push(Level::Rows);
        around.extend(with_both.iter().filter_map(level));
        around.extend(rows.into_iter().filter(|l| *l != Level::Rows).chain(columns));
        return around;
    }
    if choice.strips && !blocked {
        around.extend(columns.into_iter().chain(with_both.iter().filter_map(level)).chain(rows));
        return around;
    }
    around.extend(with_both.iter().filter_map(level));
    if blocked {
        around.extend([Level::Blocks, Level::Rows, Level::InBlock]);
        return around;
    }
    let (first, then) = if choice.columns_outside { (columns, rows) } else { (rows, columns) };
    around.extend(first.into_iter().chain(then));
    if choice.in_order {
        let place = |var: Option<VarId>| source.iters.iter().position(|i| Some(i.var) == var);
        around.sort_by_key(|level| match level {
            Level::Whole(n) => Some(*n),
            Level::Rows => place(choice.row),
            Level::Lines => place(choice.line()),
            Level::Columns | Level::Blocks | Level::InBlock => place(Some(choice.column)),
        });
    }
    around
}

/// Ranges of rows with the height of their tiles; one without a range where nothing gives rows.
fn row_ranges(staged: &mut Staged, group: &Group, choice: &Choice) -> Vec<(Option<Range>, i64)> {
    let Some(row) = choice.row else { return vec![(None, 1)] };
    let extent = int(staged, group, row);
    let most = choice.tile.rows / choice.tile.lines;
    match extent.as_const() {
        Some(n) => even(staged, n, most),
        None => {
            // Where smaller tiles begin and end is proven of a number of rows, not of one that is itself a division.
            let behind = if choice.small || extent.as_var().is_none() { Behind::One } else { Behind::All };
            let all = left::parts(&extent, most, behind).into_iter();
            all.map(|p| (Some(range(staged, &p.begin, &(&p.tiles * p.height))), p.height)).collect()
        }
    }
}

/// Ranges of lines with how many of them a tile has; one without a range where a tile has one.
fn line_ranges(staged: &mut Staged, group: &Group, choice: &Choice) -> Vec<(Option<Range>, i64)> {
    match choice.line().and_then(|line| int(staged, group, line).as_const()) {
        Some(n) => even(staged, n, choice.tile.lines),
        None => vec![(None, 1)],
    }
}

/// Ranges of tiles that are as even as can be, with the extent of these.
fn even(staged: &mut Staged, extent: i64, most: i64) -> Vec<(Option<Range>, i64)> {
    let mut begin = 0;
    let spans = balanced(extent, most).into_iter().map(|span| {
        let range = range(staged, &IntExpr::from(begin), &IntExpr::from(span.extent));
        begin += span.extent;
        (Some(range), span.tile)
    });
    spans.collect()
}

/// Ranges of columns with their tiles.
fn column_ranges(staged: &mut Staged, group: &Group, choice: &Choice, tile: Tile) -> Vec<(Range, Tile)> {
    let extent = int(staged, group, choice.column);
    match extent.as_const() {
        Some(n) => {
            let mut begin = 0;
            let parts = columns(n, &tile).into_iter().map(|part| {
                let size = if part == tile { n / tile.width() * tile.width() } else { part.width() };
                let range = range(staged, &IntExpr::from(begin), &IntExpr::from(size));
                begin += size;
                (range, part)
            });
            parts.collect()
        }
        None => {
            let down = |w: i64| &extent.floor_div(&IntExpr::from(w)) * &IntExpr::from(w);
            let (tiles, vectors) = (down(tile.width()), down(tile.lanes));
            let one = Tile { vectors: 1, ..tile };
            let all = [
                (IntExpr::from(0), tiles.clone(), tile),
                (tiles.clone(), &vectors - &tiles, one),
                (vectors.clone(), &extent - &vectors, Tile { lanes: 1, ..one }),
            ];
            all.into_iter().map(|(begin, size, tile)| (range(staged, &begin, &size), tile)).collect()
        }
    }
}

fn int(staged: &Staged, group: &Group, var: VarId) -> IntExpr {
    let iter = group.contraction.iters.iter().find(|i| i.var == var);
    iter.map_or(IntExpr::from(0), |i| Viewer::new(staged.b.func()).int(i.extent))
}

fn range(staged: &mut Staged, begin: &IntExpr, extent: &IntExpr) -> Range {
    Range { begin: staged.b.int_expr(begin), extent: staged.b.int_expr(extent), size: extent.clone() }
}
