//! The sums of data and of weights that are multiplied.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Builder, ExprId, LoopKind, Scope};

use super::found::{Axis, TAPS};
use super::written::{Band, Block, Kernel, Panel};
use crate::dlight::emit::{Places, Strip, at, each, load, plus, strips, times};

/// Sums of the data of each square of a band.
pub(super) fn data(b: &mut Builder, kernel: &Kernel<'_>, band: Band<'_>) {
    let rows = kernel.plan.squares[1];
    each(b, "line", &band.lines.into(), LoopKind::Serial, &mut |b, line| {
        each(b, "square", &rows.into(), LoopKind::Serial, &mut |b, row| {
            let first = times(b, line, rows);
            let (own, line) = (plus(b, first, row), plus(b, band.first, line));
            along_terms(b, kernel, band.image, &mut |b, places, term, lanes| {
                of_square(b, kernel, [line, row], places, lanes, &mut |b, product, lane, sum| {
                    let (product, term) = (b.index(product), plus(b, term, lane));
                    b.store(kernel.data, kernel.data_at(band, [product, own, term]), sum);
                });
            });
        });
    });
}

/// Takes a sum: which product it is for, the element of the vector, the sum.
type Sums<'f> = dyn FnMut(&mut Builder, i64, ExprId, ExprId) + 'f;

/// Vectors of channels of the data; `f` is given where they begin, as iterators and among all, and their elements.
fn along_terms(
    b: &mut Builder,
    kernel: &Kernel<'_>,
    places: &Places,
    f: &mut dyn FnMut(&mut Builder, &Places, ExprId, i64),
) {
    let Some((last, outer)) = kernel.found.terms.split_last() else { return };
    over(b, outer, places, &mut |b, places| {
        let mut first = b.index(0);
        for axis in outer {
            first = times(b, first, axis.extent);
            first = plus(b, first, places[&axis.var]);
        }
        let first = times(b, first, last.extent);
        for strip in strips(&last.extent.into(), 1, kernel.plan.lanes) {
            each(b, "v", &strip.turns, LoopKind::Serial, &mut |b, v| {
                let (begin, offset) = (b.int_expr(&strip.begin), times(b, v, strip.width()));
                let own = plus(b, begin, offset);
                let mut places = places.clone();
                places.insert(last.var, own);
                let term = plus(b, first, own);
                f(b, &places, term, strip.lanes);
            });
        }
    });
}

/// The sums of a vector of channels in a square.
fn of_square(b: &mut Builder, kernel: &Kernel<'_>, square: [ExprId; 2], places: &Places, lanes: i64, f: &mut Sums<'_>) {
    let (found, size) = (kernel.found, kernel.plan.size);
    let side = size.side();
    let half = b.alloc("half", found.dtype, [side, side, lanes].map(IntExpr::from).to_vec(), Scope::Local);
    let last = found.terms.last().map(|a| a.var);
    for y in 0..side {
        each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
            let mut element = |x| {
                let mut places = places.clone();
                if let Some(begin) = last.and_then(|var| Some((var, *places.get(&var)?))) {
                    places.insert(begin.0, plus(b, begin.1, l));
                }
                element(b, kernel, square, [y, x], &mut places);
                at(b, found.data, &places, None)
            };
            let d: Vec<ExprId> = (0..side).map(&mut element).collect();
            let sums = size.data(b, found.dtype, &d);
            (0..).zip(sums).for_each(|(x, sum)| store(b, half, [y, x], l, sum));
        });
    }
    for x in 0..side {
        each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
            let d: Vec<ExprId> = (0..side).map(|y| read(b, half, [y, x], l)).collect();
            let sums = size.data(b, found.dtype, &d);
            (0..).zip(sums).for_each(|(y, sum)| f(b, y * side + x, l, sum));
        });
    }
}

/// Puts an element of a square in the place of the iterators. Results beyond the last are none that anybody reads, and
/// what they alone are made of may be any element.
fn element(b: &mut Builder, kernel: &Kernel<'_>, square: [ExprId; 2], offset: [i64; 2], places: &mut Places) {
    for (n, slide) in kernel.found.slides.iter().enumerate() {
        let extent = slide.results.extent;
        let results = kernel.plan.size.results();
        let (first, more) = (times(b, square[n], results), b.index(offset[n]));
        let mut place = plus(b, first, more);
        if extent % results != 0 && offset[n] > extent % results + TAPS - 2 {
            let most = b.index(extent + TAPS - 2);
            place = b.binary(BinaryOp::Min, place, most);
        }
        let zero = b.index(0);
        places.extend([(slide.results.var, place), (slide.tap, zero)]);
    }
}

/// Sums of the weights of a panel that belong to a block of terms.
pub(super) fn weights(b: &mut Builder, kernel: &Kernel<'_>, strip: &Strip, panel: Panel, block: Block) {
    let Some((first, inner)) = kernel.found.terms.split_first() else { return };
    each(b, "block_term", &block.extent.into(), LoopKind::Serial, &mut |b, at| {
        let places = Places::from([(first.var, plus(b, block.begin, at))]);
        over(b, inner, &places, &mut |b, places| {
            let mut term = at;
            for axis in inner {
                term = times(b, term, axis.extent);
                term = plus(b, term, places[&axis.var]);
            }
            for v in 0..strip.vectors {
                let offset = b.index(v * strip.lanes);
                let channel = plus(b, panel.channel, offset);
                of_window(b, kernel, places, channel, strip.lanes, &mut |b, product, lane, sum| {
                    let (product, place) = (b.index(product), plus(b, offset, lane));
                    b.store(kernel.weights, vec![panel.slot, product, term, place], sum);
                });
            }
        });
    });
}

/// The sums of a vector of windows.
fn of_window(b: &mut Builder, kernel: &Kernel<'_>, places: &Places, channel: ExprId, lanes: i64, f: &mut Sums<'_>) {
    let (found, size) = (kernel.found, kernel.plan.size);
    let side = size.side();
    let [rows, columns] = found.slides.map(|s| s.tap);
    let half = b.alloc("half", found.dtype, [TAPS, side, lanes].map(IntExpr::from).to_vec(), Scope::Local);
    for y in 0..TAPS {
        each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
            let g = [0, 1, 2].map(|x| {
                let (y, x) = (b.index(y), b.index(x));
                let mut places = places.clone();
                places.extend([(rows, y), (columns, x), (found.channel.var, plus(b, channel, l))]);
                at(b, found.weight, &places, None)
            });
            let sums = size.weights(b, found.dtype, g);
            (0..).zip(sums).for_each(|(x, sum)| store(b, half, [y, x], l, sum));
        });
    }
    for x in 0..side {
        each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
            let g = [0, 1, 2].map(|y| read(b, half, [y, x], l));
            let sums = size.weights(b, found.dtype, g);
            (0..).zip(sums).for_each(|(y, sum)| f(b, y * side + x, l, sum));
        });
    }
}

/// An element of a square of vectors.
pub(super) fn read(b: &mut Builder, buf: BufId, place: [i64; 2], lane: ExprId) -> ExprId {
    let [y, x] = place.map(|n| b.index(n));
    load(b, buf, &[y, x, lane])
}

/// Stores one.
pub(super) fn store(b: &mut Builder, buf: BufId, place: [i64; 2], lane: ExprId, value: ExprId) {
    let [y, x] = place.map(|n| b.index(n));
    b.store(buf, vec![y, x, lane], value);
}

/// Loops over axes; `f` is given what stands for their iterators, besides what is known.
pub(in crate::dlight) fn over(
    b: &mut Builder,
    axes: &[Axis],
    places: &Places,
    f: &mut dyn FnMut(&mut Builder, &Places),
) {
    let Some((axis, rest)) = axes.split_first() else { return f(b, places) };
    let name = b.sym(axis.var).to_string();
    each(b, &name, &axis.extent.into(), LoopKind::Serial, &mut |b, at| {
        let mut places = places.clone();
        places.insert(axis.var, at);
        over(b, rest, &places, f);
    });
}
