//! The products of sums, tile by tile, and the results that are made of them.

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::{BufId, Builder, ExprId, LoopKind, Scope, Stmt};

use super::ahead;
use super::operands::{self, read, store};
use super::written::{Band, Block, Kernel, Panel, Panels};
use crate::dlight::emit::{Grid, Places, Strip, each, load, plus, times};
use crate::dlight::tiles::{Span, balanced};

/// Terms that are written out behind one another.
const UNROLLED: i64 = 4;

/// The most terms that one accumulator takes.
const TERMS: i64 = 64;

/// A tile: some squares of an image, or whole lines of them, by a panel of channels.
struct Tile<'a> {
    band: Band<'a>,
    strip: &'a Strip,
    panel: Panel,
    /// The first line in the band, and square.
    first: [ExprId; 2],
    /// Lines and squares.
    extent: [i64; 2],
}

/// Where the sums of a tile's products are.
#[derive(Clone, Copy)]
enum Sums {
    /// On the stack: product, square of the tile, channel.
    Own(BufId),
    /// With those of all tiles, to which blocks of terms are added one by one.
    OfAll(BufId),
}

/// All results of a panel, whose sums of weights are there, in a band.
pub(super) fn in_band(b: &mut Builder, kernel: &Kernel<'_>, panels: &Panels, panel: Panel, band: Band<'_>) {
    let whole = kernel.whole(b);
    each_tile_of(b, kernel, &panels.strip, panel, band, &mut |b, tile| {
        let sums = tile.own_sums(b, kernel);
        each_product(b, kernel, &mut |b, n| tile.product(b, kernel, sums, n, whole));
        tile.results(b, kernel, sums);
    });
}

/// All results of a panel.
pub(super) fn panel(b: &mut Builder, kernel: &Kernel<'_>, panels: &Panels, panel: Panel) {
    let (plan, strip) = (kernel.plan, &panels.strip);
    let whole = kernel.whole(b);
    let Some(sums) = kernel.sums.filter(|_| panels.shared) else {
        if panels.shared {
            operands::weights(b, kernel, strip, panel, whole);
        }
        return kernel.each_image(b, &mut |b, image| in_band(b, kernel, panels, panel, image));
    };
    let sums = Sums::OfAll(sums);
    each_product(b, kernel, &mut |b, n| {
        each_tile(b, kernel, strip, panel, &mut |b, tile| tile.cleared(b, kernel, sums, n));
    });
    in_spans(b, "terms", whole.extent, plan.block / kernel.found.unit(), &mut |b, begin, extent| {
        let block = Block { begin, extent };
        operands::weights(b, kernel, strip, panel, block);
        // A product's operands stay in the first cache while tiles are multiplied.
        each_product(b, kernel, &mut |b, n| {
            each_tile(b, kernel, strip, panel, &mut |b, tile| tile.product(b, kernel, sums, n, block));
        });
    });
    each_tile(b, kernel, strip, panel, &mut |b, tile| tile.results(b, kernel, sums));
}

/// Of so many terms, how many are written out behind one another.
fn unrolled(terms: i64) -> i64 {
    if terms % UNROLLED == 0 { UNROLLED } else { 1 }
}

/// Does something for each product.
fn each_product(b: &mut Builder, kernel: &Kernel<'_>, f: &mut dyn FnMut(&mut Builder, ExprId)) {
    each(b, "product", &kernel.plan.size.products().into(), LoopKind::Serial, f);
}

/// Tiles of all images.
fn each_tile(
    b: &mut Builder,
    kernel: &Kernel<'_>,
    strip: &Strip,
    panel: Panel,
    f: &mut dyn FnMut(&mut Builder, &Tile<'_>),
) {
    kernel.each_image(b, &mut |b, image| each_tile_of(b, kernel, strip, panel, image, f));
}

/// Tiles of a band.
fn each_tile_of(
    b: &mut Builder,
    kernel: &Kernel<'_>,
    strip: &Strip,
    panel: Panel,
    band: Band<'_>,
    f: &mut dyn FnMut(&mut Builder, &Tile<'_>),
) {
    let plan = kernel.plan;
    in_spans(b, "lines", band.lines, plan.lines, &mut |b, line, lines| {
        in_spans(b, "squares", plan.squares[1], plan.rows, &mut |b, row, rows| {
            f(b, &Tile { band, strip, panel, first: [line, row], extent: [lines, rows] });
        });
    });
}

/// An axis in equal parts; `f` is given where one begins, and how much it is.
pub(in crate::dlight) fn in_spans(
    b: &mut Builder,
    name: &str,
    extent: i64,
    most: i64,
    f: &mut dyn FnMut(&mut Builder, ExprId, i64),
) {
    let mut begin = 0;
    for Span { extent, tile } in balanced(extent, most) {
        each(b, name, &(extent / tile).into(), LoopKind::Serial, &mut |b, turn| {
            let (begin, offset) = (b.index(begin), times(b, turn, tile));
            let first = plus(b, begin, offset);
            f(b, first, tile);
        });
        begin += extent;
    }
}

/// An axis from a place to its end in equal parts; `f` is given where one begins, and how much it is.
pub(in crate::dlight) fn after(
    b: &mut Builder,
    name: &str,
    (begin, end): (i64, i64),
    most: i64,
    f: &mut dyn FnMut(&mut Builder, ExprId, i64),
) {
    in_spans(b, name, end - begin, most, &mut |b, offset, extent| {
        let begin = b.index(begin);
        let first = plus(b, begin, offset);
        f(b, first, extent);
    });
}

impl Tile<'_> {
    /// Its squares and channels.
    fn grid(&self) -> Grid {
        let [lines, rows] = self.extent;
        Grid { rows: lines * rows, vectors: self.strip.vectors, lanes: self.strip.lanes }
    }

    /// The number of its first square.
    fn first(&self, b: &mut Builder, kernel: &Kernel<'_>) -> ExprId {
        let before = times(b, self.first[0], kernel.plan.squares[1]);
        plus(b, before, self.first[1])
    }

    /// Memory for its sums.
    fn own_sums(&self, b: &mut Builder, kernel: &Kernel<'_>) -> Sums {
        let grid = self.grid();
        let shape = [kernel.plan.size.products(), grid.rows, self.strip.width()].map(IntExpr::from).to_vec();
        Sums::Own(b.alloc("sums", kernel.found.dtype, shape, Scope::Local))
    }

    /// Where a sum is: of which product, square of the tile and channel.
    fn sum(&self, b: &mut Builder, kernel: &Kernel<'_>, sums: Sums, own: [ExprId; 3]) -> (BufId, Vec<ExprId>) {
        match sums {
            Sums::Own(buf) => (buf, own.to_vec()),
            Sums::OfAll(buf) => {
                let first = self.first(b, kernel);
                let [product, square, channel] = own;
                let place = [product, plus(b, first, square), channel];
                (buf, [&[self.panel.slot], &kernel.image(self.band)[..], &place].concat())
            }
        }
    }

    /// Begins the sums of a product.
    fn cleared(&self, b: &mut Builder, kernel: &Kernel<'_>, sums: Sums, n: ExprId) {
        let zero = b.scalar(Scalar::zero(kernel.found.dtype));
        self.grid().each(b, &mut |b, i, j| {
            let (buf, index) = self.sum(b, kernel, sums, [n, i, j]);
            b.store(buf, index, zero);
        });
    }

    /// What a block of terms gives to the sums of a product. Few terms are added up one by one, so that sums stay as exact
    /// as they are.
    fn product(&self, b: &mut Builder, kernel: &Kernel<'_>, sums: Sums, n: ExprId, block: Block) {
        let terms = block.extent * kernel.found.unit();
        let alone = terms <= TERMS && matches!(sums, Sums::Own(_));
        if !alone && matches!(sums, Sums::Own(_)) {
            self.cleared(b, kernel, sums, n);
        }
        let unrolled = unrolled(terms);
        in_spans(b, "block", terms / unrolled, TERMS / unrolled, &mut |b, first, turns| {
            let (first, terms) = (times(b, first, unrolled), turns * unrolled);
            let acc = self.accumulated(b, kernel, (sums, n, block), (first, terms));
            self.grid().each(b, &mut |b, i, j| {
                let (buf, index) = self.sum(b, kernel, sums, [n, i, j]);
                let mut sum = load(b, acc, &[i, j]);
                if !alone {
                    let all = load(b, buf, &index);
                    sum = b.add(all, sum);
                }
                b.store(buf, index, sum);
            });
        });
    }

    /// The sums of some terms of a product in registers: where in the block of terms these begin, and how many they are.
    fn accumulated(
        &self,
        b: &mut Builder,
        kernel: &Kernel<'_>,
        (sums, n, block): (Sums, ExprId, Block),
        (begin, terms): (ExprId, i64),
    ) -> BufId {
        let before = times(b, block.begin, kernel.found.unit());
        let (found, grid) = (kernel.found, self.grid());
        let first = self.first(b, kernel);
        let acc = b.alloc("acc", found.dtype, grid.shape(), Scope::Local);
        let zero = b.scalar(Scalar::zero(found.dtype));
        grid.each(b, &mut |b, i, j| b.store(acc, vec![i, j], zero));
        let unrolled = unrolled(terms);
        each(b, "k", &(terms / unrolled).into(), LoopKind::Reduction, &mut |b, k| {
            if let Sums::OfAll(_) = sums {
                let before = times(b, k, unrolled);
                let first = plus(b, begin, before);
                let next = ahead::Next::of(b, kernel, (self.panel, self.strip), block);
                self.if_first(b, &mut |b| next.ask(b, kernel, n, (first, unrolled)));
            }
            each(b, "u", &unrolled.into(), LoopKind::Unrolled, &mut |b, u| {
                let turns = times(b, k, unrolled);
                let own = plus(b, turns, u);
                let own = plus(b, begin, own);
                let k = plus(b, before, own);
                grid.each(b, &mut |b, i, j| {
                    let square = plus(b, first, i);
                    let x = load(b, kernel.data, &kernel.data_at(self.band, [n, square, k]));
                    let y = load(b, kernel.weights, &[self.panel.slot, n, own, j]);
                    let (old, term) = (load(b, acc, &[i, j]), b.mul(x, y));
                    let sum = b.add(old, term);
                    b.store(acc, vec![i, j], sum);
                });
            });
        });
        acc
    }

    /// Does something if it is the first tile of an image.
    fn if_first(&self, b: &mut Builder, f: &mut dyn FnMut(&mut Builder)) {
        let (mut body, ()) = b.scope(f);
        for first in self.first {
            if b.func().literal(first) != Some(0) {
                let zero = b.index(0);
                let cond = b.compare(CmpOp::Eq, first, zero);
                body = Stmt::If { cond, then: Box::new(body), otherwise: None };
            }
        }
        b.push(body);
    }

    /// All its results.
    fn results(&self, b: &mut Builder, kernel: &Kernel<'_>, sums: Sums) {
        let [lines, rows] = self.extent;
        each(b, "line", &lines.into(), LoopKind::Serial, &mut |b, line| {
            each(b, "square", &rows.into(), LoopKind::Serial, &mut |b, row| {
                let first = times(b, line, rows);
                let square = plus(b, first, row);
                let line = plus(b, self.first[0], line);
                let places = [plus(b, self.band.first, line), plus(b, self.first[1], row)];
                for v in 0..self.strip.vectors {
                    results(b, kernel, self, places, (sums, square, v));
                }
            });
        });
    }
}

/// The results of a square in a vector of channels: of which sums, which square of the tile, which vector.
fn results(
    b: &mut Builder,
    kernel: &Kernel<'_>,
    tile: &Tile<'_>,
    square: [ExprId; 2],
    (sums, own, v): (Sums, ExprId, i64),
) {
    let (found, size, lanes) = (kernel.found, kernel.plan.size, tile.strip.lanes);
    let (results, side) = (size.results(), size.side());
    let half = b.alloc("half", found.dtype, [results, side, lanes].map(IntExpr::from).to_vec(), Scope::Local);
    let offset = b.index(v * lanes);
    for x in 0..side {
        each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
            let mut product = |y| {
                let (n, place) = (b.index(y * side + x), plus(b, offset, l));
                let (buf, index) = tile.sum(b, kernel, sums, [n, own, place]);
                load(b, buf, &index)
            };
            let m: Vec<ExprId> = (0..side).map(&mut product).collect();
            let all = size.results_of(b, found.dtype, &m);
            (0..).zip(all).for_each(|(y, sum)| store(b, half, [y, x], l, sum));
        });
    }
    for y in 0..results {
        for x in 0..results {
            where_it_is(b, kernel, square, [y, x], &mut |b, places| {
                each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
                    let m: Vec<ExprId> = (0..side).map(|x| read(b, half, [y, x], l)).collect();
                    let sum = size.results_of(b, found.dtype, &m)[x as usize];
                    let mut places: Places =
                        tile.band.image.iter().chain(places).map(|(var, at)| (*var, *at)).collect();
                    let first = plus(b, tile.panel.channel, offset);
                    places.insert(found.channel.var, plus(b, first, l));
                    found.ends.write(b, &places, sum);
                });
            });
        }
    }
}

/// Does something for a result of a square, if there is such a one; it is given what stands for its iterators.
fn where_it_is(
    b: &mut Builder,
    kernel: &Kernel<'_>,
    square: [ExprId; 2],
    offset: [i64; 2],
    f: &mut dyn FnMut(&mut Builder, &Places),
) {
    let mut places = Places::new();
    let mut conditions = Vec::new();
    for (n, slide) in kernel.found.slides.iter().enumerate() {
        let results = kernel.plan.size.results();
        let (first, more) = (times(b, square[n], results), b.index(offset[n]));
        let place = plus(b, first, more);
        places.insert(slide.results.var, place);
        let rest = slide.results.extent % results;
        if rest != 0 && offset[n] >= rest {
            let extent = b.index(slide.results.extent);
            conditions.push(b.compare(CmpOp::Lt, place, extent));
        }
    }
    let (mut body, ()) = b.scope(|b| f(b, &places));
    for cond in conditions {
        body = Stmt::If { cond, then: Box::new(body), otherwise: None };
    }
    b.push(body);
}
