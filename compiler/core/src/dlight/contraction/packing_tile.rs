//! Products of matrices one of which is copied into panels: the first tile of rows copies a panel while it multiplies.
//!
//! A copy before everything else waits for memory, which is all that it does. The first tile reads what it copies, so that
//! it comes while products are made; the other tiles find the panels. Panels are copied block by block, into the same memory,
//! as many as the second cache holds.
//!
//! A matrix that has no neighbours along the columns is transposed on the way, which takes several terms at once: its
//! panels are copied before a tile reads them, block by block as well.

use tenfold_ir::Scalar;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, IterKind, LoopKind, PrimFunc, Scope, Stmt};

use super::blocks::block_of;
use super::choice::{Choice, Packing};
use super::{Contraction, Staged};
use crate::dlight::emit::{Grid, Places, Strip, at, each, load, plus, strips, times};
use crate::dlight::kernel::Operand;
use crate::dlight::movement::STEP;
use crate::dlight::tiles::alone;
use crate::dlight::winograd::{Axis, Ends, after, axes_of_kind, in_spans, operands, within};

/// Terms ahead of which what is copied is asked for: some hundred cycles.
const AHEAD: i64 = 16;

/// Tiles of rows from which on the first one is one of many.
const TILES: i64 = 4;

/// A product of two matrices.
struct Product {
    ends: Ends,
    row: Axis,
    column: Axis,
    term: Axis,
    /// An element of what gives the rows, and of what is copied.
    factors: [ExprId; 2],
    /// Whether what is copied is transposed.
    turned: bool,
    /// Whether terms of what gives the rows are neighbours.
    term_by_term: bool,
    /// Of its accumulators.
    acc: BufId,
}

/// What all tiles know.
struct Kernel<'a> {
    product: &'a Product,
    choice: &'a Choice,
}

/// Panels of one width, with what those of a block are copied into: panel of the block, term, column.
struct Panels {
    strip: Strip,
    packed: BufId,
}

impl Panels {
    /// Whether sums are of vectors of terms: LLVM makes these of a loop that does nothing else.
    fn of_one_column(&self) -> bool {
        self.strip.width() == 1
    }
}

/// A tile: its panels, which of all and which of the block, its first row and how many.
struct Tile<'a> {
    panels: &'a Panels,
    panel: ExprId,
    own: ExprId,
    first: ExprId,
    rows: i64,
    /// Whether it copies.
    copies: bool,
}

/// The kernel, if it is such a product; `behind` makes one of what follows on rows.
pub(super) fn written(
    mut staged: Staged,
    found: &Contraction,
    choice: &Choice,
    behind: impl FnOnce(Staged) -> PrimFunc,
) -> Option<PrimFunc> {
    let product = product(&mut staged, found, choice)?;
    Some(within(staged, &product.ends, behind, |b| Kernel { product: &product, choice }.written(b)))
}

/// The product that a contraction is, if nothing else is with it than what works element by element.
fn product(staged: &mut Staged, found: &Contraction, choice: &Choice) -> Option<Product> {
    let (rows, panels, [row, column, term]) = matrices(staged, found, choice)?;
    let factors = [rows.load, panels.load];
    let (turned, term_by_term) = (!panels.along(column.var), rows.along(term.var));
    let ends = Ends::of(staged, found, column.var)?;
    Some(Product { ends, row, column, term, factors, turned, term_by_term, acc: found.acc })
}

/// What gives the rows and what is copied, and the rows, columns and terms, of a product of two matrices.
fn matrices(staged: &Staged, found: &Contraction, choice: &Choice) -> Option<(Operand, Operand, [Axis; 3])> {
    let stage = &staged.stages[found.stage];
    let func = staged.b.func();
    let Some((n, Packing::CopiedPanels)) = choice.packed else { return None };
    let plain = choice.line().is_none() && choice.padded.is_none() && !choice.matrix && !choice.small;
    let [x, y] = operands(staged, found, stage)?;
    let (rows, panels) = match [&x, &y].map(|o| o.load == found.operands[n].load) {
        [true, false] => (y, x),
        [false, true] => (x, y),
        [true, true] | [false, false] => return None,
    };
    let (spatial, terms) =
        (axes_of_kind(func, stage, IterKind::Spatial)?, axes_of_kind(func, stage, IterKind::Reduce)?);
    let ([term], row) = (<[Axis; 1]>::try_from(terms).ok()?, choice.row?);
    let axis = |var| spatial.iter().find(|a| a.var == var).copied();
    let (row, column) = (axis(row)?, axis(choice.column)?);
    let alone = spatial.len() == 2 && panels.ignores(row.var) && rows.ignores(column.var);
    let many = !panels.along(column.var) || row.extent >= TILES * choice.tile.rows;
    let all = !func.strict && found.dot.is_none() && plain && alone && many;
    all.then_some((rows, panels, [row, column, term]))
}

/// Whether the first tile copies panels beside its products.
pub(super) fn beside_products(staged: &Staged, found: &Contraction, choice: &Choice) -> bool {
    matrices(staged, found, choice).is_some_and(|(_, panels, [_, column, _])| panels.along(column.var))
}

/// When panels are copied.
pub(super) fn said(found: &Contraction, choice: &Choice) -> &'static str {
    let turned = choice.packed.is_some_and(|(n, _)| !found.operands[n].along(choice.column));
    if turned { "block by block, before tiles read it" } else { "by the first tile of rows, while it multiplies" }
}

impl Kernel<'_> {
    /// Block after block of panels: the first tile copies them, then come the others. The second cache holds a block.
    fn written(&self, b: &mut Builder) {
        for strip in self.strips() {
            let count = strip.turns.as_const().unwrap_or(1);
            let blocks = self.choice.columns_outside || self.product.turned;
            let block = if blocks { self.choice.block.clamp(1, count) } else { count };
            let shape = vec![block.into(), self.product.term.extent.into(), strip.width().into()];
            let packed = b.alloc("packed", b.buf(self.product.acc).dtype, shape, Scope::Global);
            let panels = Panels { strip, packed };
            in_spans(b, "block", count, block, &mut |b, first, count| self.block(b, &panels, first, count));
        }
    }

    /// Panels of whole tiles and of whole vectors, and what is left: a shorter vector, or few columns one by one, whose
    /// sums are of vectors of terms.
    fn strips(&self) -> Vec<Strip> {
        let tile = self.choice.tile;
        let mut all = strips(&self.product.column.extent.into(), tile.vectors, tile.lanes);
        if let Some(last) = all.last_mut()
            && last.vectors == 1
            && last.lanes <= self.one_by_one()
        {
            (last.turns, last.lanes) = (last.lanes.into(), 1);
        }
        all
    }

    /// How many columns take longer together than one by one, where each adds up a vector of sums for each row.
    fn one_by_one(&self) -> i64 {
        /// Terms in whose time the elements of a vector are added up.
        const ADDED: i64 = 16;
        let terms = block_of(self.product.term.extent, self.choice.terms, 1);
        if self.product.term_by_term { terms / (terms / self.choice.tile.lanes + ADDED) } else { 0 }
    }

    /// All results of so many panels.
    fn block(&self, b: &mut Builder, panels: &Panels, before: ExprId, count: i64) {
        let (most, all) = (self.choice.tile.rows, self.product.row.extent);
        let tiles = |b: &mut Builder, first: ExprId, rows: i64, copies: bool| {
            each(b, "panel", &count.into(), LoopKind::Serial, &mut |b, own| {
                let panel = plus(b, before, own);
                self.tile(b, &Tile { panels, panel, own, first, rows, copies });
            });
        };
        let begin = b.index(0);
        let first = if self.product.turned { 0 } else { alone(all, most) };
        if self.product.turned {
            each(b, "panel", &count.into(), LoopKind::Serial, &mut |b, own| {
                let panel = plus(b, before, own);
                self.transpose(b, &Tile { panels, panel, own, first: begin, rows: 0, copies: true });
            });
        } else {
            tiles(b, begin, first, true);
        }
        after(b, "rows", (first, all), most, &mut |b, first, rows| tiles(b, first, rows, false));
    }

    /// Copies a panel of what has no neighbours along the columns: all terms of a vector of columns, then of the next one.
    fn transpose(&self, b: &mut Builder, tile: &Tile<'_>) {
        let strip = &tile.panels.strip;
        // As many terms as are transposed at once, again and again, and what is left of them.
        let (all, step) = (self.product.term.extent, STEP / b.buf(self.product.acc).dtype.size_bytes() as i64);
        let whole = all / step * step;
        each(b, "v", &strip.vectors.into(), LoopKind::Serial, &mut |b, v| {
            let column = times(b, v, strip.lanes);
            for (begin, terms) in [(0, whole), (whole, all - whole)].into_iter().filter(|(_, terms)| *terms > 0) {
                each(b, "k", &terms.into(), LoopKind::Serial, &mut |b, k| {
                    let begin = b.index(begin);
                    let term = plus(b, begin, k);
                    each(b, "l", &strip.lanes.into(), LoopKind::Vectorized, &mut |b, lane| {
                        let j = plus(b, column, lane);
                        let places = self.places(b, tile, None, j);
                        let value = at(b, self.product.factors[1], &with(&places, self.product.term, term), None);
                        b.store(tile.panels.packed, vec![tile.own, term, j], value);
                    });
                });
            }
        });
    }

    /// A tile of results: blocks of its sum one after another in registers, added up beside them.
    fn tile(&self, b: &mut Builder, tile: &Tile<'_>) {
        let grid = Grid { rows: tile.rows, vectors: tile.panels.strip.vectors, lanes: tile.panels.strip.lanes };
        let dtype = b.buf(self.product.acc).dtype;
        let terms = self.product.term.extent;
        let block = block_of(terms, self.choice.terms, self.choice.unroll);
        let zero = b.scalar(Scalar::zero(dtype));
        let sums = (block < terms).then(|| {
            let sums = b.alloc("sums", dtype, grid.shape(), Scope::Local);
            grid.each(b, &mut |b, i, j| b.store(sums, vec![i, j], zero));
            sums
        });
        let sum_of = |b: &mut Builder, begin: ExprId, terms: i64| {
            let acc = b.alloc("acc", dtype, grid.shape(), Scope::Local);
            grid.each(b, &mut |b, i, j| b.store(acc, vec![i, j], zero));
            self.terms(b, tile, (acc, grid), begin, terms);
            match sums {
                None => self.finished(b, tile, (acc, grid)),
                Some(sums) => grid.each(b, &mut |b, i, j| {
                    let (before, own) = (load(b, sums, &[i, j]), load(b, acc, &[i, j]));
                    let sum = b.add(before, own);
                    b.store(sums, vec![i, j], sum);
                }),
            }
        };
        let whole = terms / block;
        each(b, "block", &whole.into(), LoopKind::Serial, &mut |b, n| {
            let begin = times(b, n, block);
            sum_of(b, begin, block);
        });
        if terms > whole * block {
            let begin = b.index(whole * block);
            sum_of(b, begin, terms - whole * block);
        }
        if let Some(sums) = sums {
            self.finished(b, tile, (sums, grid));
        }
    }

    /// Adds some terms to the accumulators, and copies what they are made of if the tile does.
    fn terms(&self, b: &mut Builder, tile: &Tile<'_>, (acc, grid): (BufId, Grid), begin: ExprId, terms: i64) {
        let one_column = tile.panels.of_one_column();
        let unrolled = if one_column { 1 } else { self.choice.unroll.max(1) };
        let whole = terms / unrolled;
        for (first, turns, unrolled) in [(0, whole, unrolled), (whole * unrolled, terms - whole * unrolled, 1)] {
            each(b, "k", &turns.into(), LoopKind::Reduction, &mut |b, k| {
                if first == 0 && !one_column {
                    self.ask_results(b, tile, grid, (k, turns));
                }
                each(b, "u", &unrolled.into(), LoopKind::Unrolled, &mut |b, u| {
                    let (first, before) = (b.index(first), times(b, k, unrolled));
                    let own = plus(b, before, u);
                    let own = plus(b, first, own);
                    let term = plus(b, begin, own);
                    self.term(b, tile, (acc, grid), term);
                });
            });
        }
    }

    fn term(&self, b: &mut Builder, tile: &Tile<'_>, (acc, grid): (BufId, Grid), term: ExprId) {
        let [rows, panels] = self.product.factors;
        let packed = tile.panels.packed;
        if tile.copies {
            if !tile.panels.of_one_column() {
                self.ask(b, tile, term);
            }
            Grid { rows: 1, ..grid }.each(b, &mut |b, _, j| {
                let places = self.places(b, tile, None, j);
                let value = at(b, panels, &with(&places, self.product.term, term), None);
                b.store(packed, vec![tile.own, term, j], value);
            });
        }
        grid.each(b, &mut |b, i, j| {
            let places = self.places(b, tile, Some(i), j);
            let x = at(b, rows, &with(&places, self.product.term, term), None);
            let y = load(b, packed, &[tile.own, term, j]);
            let (old, product) = (load(b, acc, &[i, j]), b.mul(x, y));
            let sum = b.add(old, product);
            b.store(acc, vec![i, j], sum);
        });
    }

    /// Asks for what is copied some terms later, and for where it goes.
    fn ask(&self, b: &mut Builder, tile: &Tile<'_>, term: ExprId) {
        let strip = &tile.panels.strip;
        let ahead = b.index(AHEAD);
        let later = plus(b, term, ahead);
        for v in 0..strip.vectors {
            let first = b.index(v * strip.lanes);
            let places = self.places(b, tile, None, first);
            let from = at(b, self.product.factors[1], &with(&places, self.product.term, later), None);
            let Expr::Load { buf, index, .. } = b.func().exprs.get(from).clone() else { return };
            b.push(Stmt::Prefetch { buf, index });
            b.push(Stmt::Prefetch { buf: tile.panels.packed, index: vec![tile.own, later, first] });
        }
    }

    /// In one of so many turns, asks for lines that results go to.
    fn ask_results(&self, b: &mut Builder, tile: &Tile<'_>, grid: Grid, (turn, turns): (ExprId, i64)) {
        let (before, turns) = (times(b, turn, grid.rows), b.index(turns));
        let row = b.binary(BinaryOp::DivEuclid, before, turns);
        for v in 0..grid.vectors {
            let first = b.index(v * grid.lanes);
            let places = self.places(b, tile, Some(row), first);
            let (buf, index) = (self.product.ends.out.0, self.product.ends.out.1.clone());
            let index = index.iter().map(|i| at(b, *i, &places, None)).collect();
            b.push(Stmt::Prefetch { buf, index });
        }
    }

    /// Writes results, made of their sums.
    fn finished(&self, b: &mut Builder, tile: &Tile<'_>, (sums, grid): (BufId, Grid)) {
        grid.each(b, &mut |b, i, j| {
            let places = self.places(b, tile, Some(i), j);
            let sum = load(b, sums, &[i, j]);
            self.product.ends.write(b, &places, sum);
        });
    }

    /// What stands for the row and the column of an element of a tile.
    fn places(&self, b: &mut Builder, tile: &Tile<'_>, row: Option<ExprId>, column: ExprId) -> Places {
        let strip = &tile.panels.strip;
        let (begin, offset) = (b.int_expr(&strip.begin), times(b, tile.panel, strip.width()));
        let first = plus(b, begin, offset);
        let mut places = Places::from([(self.product.column.var, plus(b, first, column))]);
        if let Some(row) = row {
            places.insert(self.product.row.var, plus(b, tile.first, row));
        }
        places
    }
}

/// Places with that of a term.
fn with(places: &Places, axis: Axis, term: ExprId) -> Places {
    places.iter().map(|(var, at)| (*var, *at)).chain([(axis.var, term)]).collect()
}
