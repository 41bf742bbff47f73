//! The products of sums, tile by tile, and the results that are made of them.

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::{BufId, Builder, ExprId, LoopKind, Scope, Stmt};

use super::operands::{over, read, store};
use super::plan::{PRODUCTS, RESULTS, SIDE};
use super::transforms;
use super::written::{Kernel, Panel};
use crate::dlight::emit::{Grid, Places, Strip, each, load, plus, times};
use crate::dlight::tiles::{Span, balanced};

/// Terms that are written out behind one another.
const UNROLLED: i64 = 4;

/// The most terms that one accumulator takes.
const TERMS: i64 = 64;

/// A tile: some squares of an image, or whole lines of them, by a panel of channels.
struct Tile<'a> {
    image: &'a Places,
    strip: &'a Strip,
    panel: Panel,
    /// The first line and square.
    first: [ExprId; 2],
    /// Lines and squares.
    extent: [i64; 2],
}

/// All results of a panel.
pub(super) fn panel(b: &mut Builder, kernel: &Kernel<'_>, strip: &Strip, panel: Panel) {
    let plan = kernel.plan;
    over(b, &kernel.found.outer, &Places::new(), &mut |b, image| {
        in_spans(b, "lines", plan.squares[0], plan.lines, &mut |b, line, lines| {
            in_spans(b, "squares", plan.squares[1], plan.rows, &mut |b, row, rows| {
                tile(b, kernel, &Tile { image, strip, panel, first: [line, row], extent: [lines, rows] });
            });
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

fn tile(b: &mut Builder, kernel: &Kernel<'_>, tile: &Tile<'_>) {
    let [lines, rows] = tile.extent;
    let shape = [PRODUCTS, lines * rows, tile.strip.width()].map(IntExpr::from).to_vec();
    let sums = b.alloc("sums", kernel.found.dtype, shape, Scope::Local);
    each(b, "product", &PRODUCTS.into(), LoopKind::Serial, &mut |b, n| product(b, kernel, tile, sums, n));
    each(b, "line", &lines.into(), LoopKind::Serial, &mut |b, line| {
        each(b, "square", &rows.into(), LoopKind::Serial, &mut |b, row| {
            let first = times(b, line, rows);
            let square = plus(b, first, row);
            let places = [plus(b, tile.first[0], line), plus(b, tile.first[1], row)];
            for v in 0..tile.strip.vectors {
                results(b, kernel, tile, places, (sums, square, v));
            }
        });
    });
}

/// One product of matrices on a tile: blocks of its sums are added up one by one, so that sums stay as exact as they are.
fn product(b: &mut Builder, kernel: &Kernel<'_>, tile: &Tile<'_>, sums: BufId, n: ExprId) {
    let [lines, rows] = tile.extent;
    let grid = Grid { rows: lines * rows, vectors: tile.strip.vectors, lanes: tile.strip.lanes };
    let terms = kernel.plan.terms;
    if terms <= TERMS {
        let first = b.index(0);
        let acc = block(b, kernel, tile, (n, grid), first, terms);
        return grid.each(b, &mut |b, i, j| {
            let sum = load(b, acc, &[i, j]);
            b.store(sums, vec![n, i, j], sum);
        });
    }
    let zero = b.scalar(Scalar::zero(kernel.found.dtype));
    grid.each(b, &mut |b, i, j| b.store(sums, vec![n, i, j], zero));
    in_spans(b, "block", terms, TERMS, &mut |b, first, terms| {
        let acc = block(b, kernel, tile, (n, grid), first, terms);
        grid.each(b, &mut |b, i, j| {
            let (all, more) = (load(b, sums, &[n, i, j]), load(b, acc, &[i, j]));
            let sum = b.add(all, more);
            b.store(sums, vec![n, i, j], sum);
        });
    });
}

/// The sums of some terms in registers.
fn block(
    b: &mut Builder,
    kernel: &Kernel<'_>,
    tile: &Tile<'_>,
    (n, grid): (ExprId, Grid),
    begin: ExprId,
    terms: i64,
) -> BufId {
    let found = kernel.found;
    let before = times(b, tile.first[0], kernel.plan.squares[1]);
    let first = plus(b, before, tile.first[1]);
    let image: Vec<ExprId> = found.outer.iter().map(|a| tile.image[&a.var]).collect();
    let acc = b.alloc("acc", found.dtype, grid.shape(), Scope::Local);
    let zero = b.scalar(Scalar::zero(found.dtype));
    grid.each(b, &mut |b, i, j| b.store(acc, vec![i, j], zero));
    let unrolled = if terms % UNROLLED == 0 { UNROLLED } else { 1 };
    each(b, "k", &(terms / unrolled).into(), LoopKind::Reduction, &mut |b, k| {
        each(b, "u", &unrolled.into(), LoopKind::Unrolled, &mut |b, u| {
            let before = times(b, k, unrolled);
            let own = plus(b, before, u);
            let k = plus(b, begin, own);
            grid.each(b, &mut |b, i, j| {
                let square = plus(b, first, i);
                let x = load(b, kernel.data, &[&image[..], &[n, square, k]].concat());
                let y = load(b, kernel.weights, &[tile.panel.weights, n, k, j]);
                let (old, term) = (load(b, acc, &[i, j]), b.mul(x, y));
                let sum = b.add(old, term);
                b.store(acc, vec![i, j], sum);
            });
        });
    });
    acc
}

/// The results of a square in a vector of channels: of which sums, which square of the tile, which vector.
fn results(
    b: &mut Builder,
    kernel: &Kernel<'_>,
    tile: &Tile<'_>,
    square: [ExprId; 2],
    (sums, own, v): (BufId, ExprId, i64),
) {
    let (found, lanes) = (kernel.found, tile.strip.lanes);
    let half = b.alloc("half", found.dtype, [RESULTS, SIDE, lanes].map(IntExpr::from).to_vec(), Scope::Local);
    let offset = b.index(v * lanes);
    for x in 0..SIDE {
        for y in 0..RESULTS {
            each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
                let m = [0, 1, 2, 3].map(|product| {
                    let (n, place) = (b.index(product * SIDE + x), plus(b, offset, l));
                    load(b, sums, &[n, own, place])
                });
                let sum = transforms::results(b, m)[y as usize];
                store(b, half, [y, x], l, sum);
            });
        }
    }
    for y in 0..RESULTS {
        for x in 0..RESULTS {
            where_it_is(b, kernel, square, [y, x], &mut |b, places| {
                each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
                    let m = [0, 1, 2, 3].map(|x| read(b, half, [y, x], l));
                    let sum = transforms::results(b, m)[x as usize];
                    let mut places: Places = tile.image.iter().chain(places).map(|(var, at)| (*var, *at)).collect();
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
        let (first, more) = (times(b, square[n], RESULTS), b.index(offset[n]));
        let place = plus(b, first, more);
        places.insert(slide.results.var, place);
        if slide.results.extent % RESULTS != 0 && offset[n] > 0 {
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
