//! The loops of a product by seven products of halves.

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, Builder, ExprId, LoopKind, Scope};

use super::found::Product;
use super::plan::{Plan, SUMS};
use super::sums::{self, Weights};
use super::tile::Tile;
use crate::dlight::emit::{Places, at, each, load, plus, times};
use crate::dlight::tiles::alone;
use crate::dlight::winograd::{after, in_spans, over};

/// A quarter of a matrix: which half of its rows and which of its columns.
pub(super) type Quarter = [i64; 2];

/// What all parts of a kernel know.
pub(super) struct Kernel<'a> {
    pub found: &'a Product,
    pub plan: &'a Plan,
    /// Sums of a group's data, then quarters that are copied: part of the groups, block, which, line, row, term.
    pub data: BufId,
    pub weights: Weights<'a>,
    /// Sums of the blocks that are done, where there are several: part of the groups, share, which half of the rows,
    /// line, row, which half of the columns, column of the share.
    pub sums: Option<BufId>,
}

/// A group of lines or rows of both halves, at some place of the loops.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    pub outer: &'a Places,
    /// Which part it is of.
    pub part: ExprId,
    /// Its first line, or row where these lie in no lines.
    pub first: ExprId,
}

/// A pair of panels, one from each half of the columns.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    /// Where its sums of weights are.
    pub slot: ExprId,
    /// The first column of the one in the first half.
    pub column: ExprId,
    /// Its share, and its number in it.
    pub share: ExprId,
    pub turn: ExprId,
}

/// A result: which half of the rows, the line and row of a group, which half of the columns, the column in it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub down: i64,
    pub line: ExprId,
    pub row: ExprId,
    pub right: i64,
    pub column: ExprId,
}

/// The kernel.
pub(super) fn written(b: &mut Builder, found: &Product, plan: &Plan) {
    let ([lines, rows], parts) = (plan.group, plan.parts());
    let mut alloc = |name: &str, shape: &[i64]| {
        let shape = shape.iter().map(|n| IntExpr::from(*n)).collect();
        b.alloc(name, found.dtype, shape, Scope::Global)
    };
    let data = alloc("data", &[parts, plan.blocks, plan.of_data(), lines, rows, plan.stride]);
    let (slots, blocks) = if plan.kept { (plan.pairs(), plan.blocks) } else { (parts * plan.shares, 1) };
    let weights = alloc("weights", &[slots, blocks, SUMS, plan.terms, plan.width()]);
    let of_sums = [parts, plan.shares, 2, lines, rows, 2, plan.columns / plan.shares];
    let sums = (plan.blocks > 1).then(|| alloc("sums", &of_sums));
    let kernel = Kernel { found, plan, data, weights: Weights { found, plan, sums: weights }, sums };
    if plan.kept {
        each(b, "pair", &plan.pairs().into(), LoopKind::Serial, &mut |b, pair| {
            each(b, "block", &plan.blocks.into(), LoopKind::Serial, &mut |b, block| {
                let pair = Pair::kept(b, plan, pair);
                kernel.weights.make(b, pair, block);
            });
        });
    }
    let of_part = plan.groups() / parts;
    over(b, &found.outer, &Places::new(), &mut |b, outer| {
        each(b, "part", &parts.into(), LoopKind::Serial, &mut |b, part| {
            each(b, "group", &of_part.into(), LoopKind::Serial, &mut |b, turn| {
                let before = times(b, part, of_part);
                let group = plus(b, before, turn);
                let first = times(b, group, if found.line.is_some() { lines } else { rows });
                kernel.group(b, Group { outer, part, first });
            });
        });
    });
}

impl Pair {
    /// One among all, where those of all are kept.
    fn kept(b: &mut Builder, plan: &Plan, number: ExprId) -> Pair {
        let zero = b.index(0);
        Pair { slot: number, column: times(b, number, plan.width()), share: zero, turn: number }
    }
}

impl Kernel<'_> {
    /// All results of a group.
    fn group(&self, b: &mut Builder, group: Group<'_>) {
        let plan = self.plan;
        sums::of_data(b, self, group);
        each(b, "share", &plan.shares.into(), LoopKind::Serial, &mut |b, share| {
            if let Some(sums) = self.sums {
                let zero = b.scalar(Scalar::zero(self.found.dtype));
                self.each_result(b, group, share, &mut |b, own, _| b.store(sums, own, zero));
            }
            each(b, "block", &plan.blocks.into(), LoopKind::Serial, &mut |b, block| {
                let of_share = plan.pairs() / plan.shares;
                each(b, "pair", &of_share.into(), LoopKind::Serial, &mut |b, turn| {
                    let before = times(b, share, of_share);
                    let number = plus(b, before, turn);
                    let pair = Pair { share, turn, ..Pair::kept(b, plan, number) };
                    let own = times(b, group.part, plan.shares);
                    let pair = if plan.kept { pair } else { Pair { slot: plus(b, own, share), ..pair } };
                    self.pair(b, group, pair, block);
                });
            });
            if let Some(sums) = self.sums {
                self.each_result(b, group, share, &mut |b, own, place| {
                    let sum = load(b, sums, &own);
                    self.finished(b, group, place, sum);
                });
            }
        });
    }

    /// What a block of terms gives to the results of a pair of panels, tile by tile. Where sums of weights are not kept, the
    /// first tile makes them while it multiplies.
    fn pair(&self, b: &mut Builder, group: Group<'_>, pair: Pair, block: ExprId) {
        let ([lines, rows], [tall, wide]) = (self.plan.group, self.plan.tile);
        let tile = |b: &mut Builder, first: [ExprId; 2], extent: [i64; 2], sums: bool| {
            Tile { group, pair, block, first, extent, sums }.written(b, self);
        };
        let begin = b.index(0);
        let first = if self.plan.kept { [0, 0] } else { [alone(lines, tall), alone(rows, wide)] };
        if !self.plan.kept {
            tile(b, [begin, begin], first, true);
            after(b, "rows", (first[1], rows), wide, &mut |b, row, extent| {
                tile(b, [begin, row], [first[0], extent], false);
            });
        }
        after(b, "lines", (first[0], lines), tall, &mut |b, line, of_lines| {
            in_spans(b, "rows", rows, wide, &mut |b, row, of_rows| {
                tile(b, [line, row], [of_lines, of_rows], false);
            });
        });
    }

    /// Does something for each result of a share, in vectors of columns: it is given the place among sums of blocks, too.
    fn each_result(
        &self,
        b: &mut Builder,
        group: Group<'_>,
        share: ExprId,
        f: &mut dyn FnMut(&mut Builder, Vec<ExprId>, Place),
    ) {
        let plan = self.plan;
        let ([lines, rows], of_share) = (plan.group, plan.columns / plan.shares);
        // Quarters are written out: that shares write elements of their own is proven of places whose halves are numbers.
        for [down, right] in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            each(b, "line", &lines.into(), LoopKind::Serial, &mut |b, line| {
                each(b, "row", &rows.into(), LoopKind::Serial, &mut |b, row| {
                    each(b, "v", &(of_share / plan.lanes).into(), LoopKind::Serial, &mut |b, v| {
                        each(b, "l", &plan.lanes.into(), LoopKind::Vectorized, &mut |b, l| {
                            let (begin, vector) = (times(b, share, of_share), times(b, v, plan.lanes));
                            let own = plus(b, vector, l);
                            let place = Place { down, line, row, right, column: plus(b, begin, own) };
                            let index = vec![group.part, share, b.index(down), line, row, b.index(right), own];
                            f(b, index, place);
                        });
                    });
                });
            });
        }
    }

    /// Writes a result, made of its sum.
    pub(super) fn finished(&self, b: &mut Builder, group: Group<'_>, place: Place, sum: ExprId) {
        let mut places = self.row(b, group, place.down, [place.line, place.row]);
        let half = b.index(place.right * self.plan.columns);
        places.insert(self.found.column.var, plus(b, half, place.column));
        self.found.ends.write(b, &places, sum);
    }

    /// What stands for the iterators of a row in one of the halves.
    pub(super) fn row(&self, b: &mut Builder, group: Group<'_>, down: i64, [line, row]: [ExprId; 2]) -> Places {
        let mut places = group.outer.clone();
        let [lines, rows] = self.plan.half;
        let in_half = |b: &mut Builder, own: ExprId, extent: i64| {
            let (half, own) = (b.index(down * extent), plus(b, group.first, own));
            plus(b, half, own)
        };
        match self.found.line {
            Some(axis) => places.extend([(axis.var, in_half(b, line, lines)), (self.found.row.var, row)]),
            None => drop(places.insert(self.found.row.var, in_half(b, row, rows))),
        }
        places
    }

    /// An element of a quarter of a block of the data.
    pub(super) fn data_at(
        &self,
        b: &mut Builder,
        group: Group<'_>,
        [down, right]: Quarter,
        row: [ExprId; 2],
        (block, term): (ExprId, ExprId),
    ) -> ExprId {
        let mut places = self.row(b, group, down, row);
        places.insert(self.found.term.var, self.plan.term(b, right, block, term));
        at(b, self.found.data, &places, None)
    }
}
