//! The loops of a product by seven products of halves.

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, Builder, ExprId, LoopKind, Scope};

use super::found::Product;
use super::plan::{Plan, SUMS};
use super::sums;
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
    /// Sums of a group's data, then quarters that are copied: block, which, line, row, term.
    pub data: BufId,
    /// Sums of weights: of a share's pair of panels, or of each pair and block that are kept; which, term, column.
    pub weights: BufId,
    /// Sums of the blocks that are done, where there are several: which half of the rows, line, row, column.
    pub sums: Option<BufId>,
}

/// A group of lines or rows of both halves, at some place of the loops.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    pub outer: &'a Places,
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
}

/// A result: which half of the rows, the line and row of a group, and the column.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub down: ExprId,
    pub line: ExprId,
    pub row: ExprId,
    pub column: ExprId,
}

/// The kernel.
pub(super) fn written(b: &mut Builder, found: &Product, plan: &Plan) {
    let [lines, rows] = plan.group;
    let mut alloc = |name: &str, shape: &[i64]| {
        let shape = shape.iter().map(|n| IntExpr::from(*n)).collect();
        b.alloc(name, found.dtype, shape, Scope::Global)
    };
    let data = alloc("data", &[plan.blocks, plan.of_data(), lines, rows, plan.stride]);
    let (slots, blocks) = if plan.kept { (plan.pairs(), plan.blocks) } else { (plan.shares, 1) };
    let weights = alloc("weights", &[slots, blocks, SUMS, plan.terms, plan.width()]);
    let sums = (plan.blocks > 1).then(|| alloc("sums", &[2, lines, rows, 2 * plan.columns]));
    let kernel = Kernel { found, plan, data, weights, sums };
    if plan.kept {
        each(b, "pair", &plan.pairs().into(), LoopKind::Serial, &mut |b, pair| {
            each(b, "block", &plan.blocks.into(), LoopKind::Serial, &mut |b, block| {
                let pair = Pair::kept(b, plan, pair);
                sums::of_weights(b, &kernel, pair, block);
            });
        });
    }
    over(b, &found.outer, &Places::new(), &mut |b, outer| {
        each(b, "group", &plan.groups().into(), LoopKind::Serial, &mut |b, group| {
            let first = times(b, group, if found.line.is_some() { lines } else { rows });
            kernel.group(b, Group { outer, first });
        });
    });
}

impl Pair {
    /// One among all, where those of all are kept.
    fn kept(b: &mut Builder, plan: &Plan, number: ExprId) -> Pair {
        Pair { slot: number, column: times(b, number, plan.width()) }
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
                self.each_result(b, share, &mut |b, place| b.store(sums, place.index(), zero));
            }
            each(b, "block", &plan.blocks.into(), LoopKind::Serial, &mut |b, block| {
                let of_share = plan.pairs() / plan.shares;
                each(b, "pair", &of_share.into(), LoopKind::Serial, &mut |b, turn| {
                    let before = times(b, share, of_share);
                    let number = plus(b, before, turn);
                    let pair = Pair::kept(b, plan, number);
                    let pair = if plan.kept { pair } else { Pair { slot: share, ..pair } };
                    self.pair(b, group, pair, block);
                });
            });
            if let Some(sums) = self.sums {
                self.each_result(b, share, &mut |b, place| {
                    let sum = load(b, sums, &place.index());
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

    /// Does something for each result of a share, in vectors of columns.
    fn each_result(&self, b: &mut Builder, share: ExprId, f: &mut dyn FnMut(&mut Builder, Place)) {
        let plan = self.plan;
        let ([lines, rows], of_share) = (plan.group, plan.columns / plan.shares);
        let both = IntExpr::from(2);
        each(b, "down", &both, LoopKind::Serial, &mut |b, down| {
            each(b, "line", &lines.into(), LoopKind::Serial, &mut |b, line| {
                each(b, "row", &rows.into(), LoopKind::Serial, &mut |b, row| {
                    each(b, "right", &both, LoopKind::Serial, &mut |b, right| {
                        each(b, "v", &(of_share / plan.lanes).into(), LoopKind::Serial, &mut |b, v| {
                            each(b, "l", &plan.lanes.into(), LoopKind::Vectorized, &mut |b, l| {
                                let (half, share) = (times(b, right, plan.columns), times(b, share, of_share));
                                let (begin, vector) = (plus(b, half, share), times(b, v, plan.lanes));
                                let first = plus(b, begin, vector);
                                let column = plus(b, first, l);
                                f(b, Place { down, line, row, column });
                            });
                        });
                    });
                });
            });
        });
    }

    /// Writes a result, made of its sum.
    pub(super) fn finished(&self, b: &mut Builder, group: Group<'_>, place: Place, sum: ExprId) {
        let mut places = self.row(b, group, place.down, [place.line, place.row]);
        places.insert(self.found.column.var, place.column);
        let start = at(b, self.found.ends.start, &places, None);
        let sum = b.add(sum, start);
        let (out, index, value) = &self.found.ends.out;
        let value = at(b, *value, &places, Some((self.found.ends.sum, sum)));
        let index = index.iter().map(|i| at(b, *i, &places, None)).collect();
        b.store(*out, index, value);
    }

    /// What stands for the iterators of a row in one of the halves.
    pub(super) fn row(&self, b: &mut Builder, group: Group<'_>, down: ExprId, [line, row]: [ExprId; 2]) -> Places {
        let mut places = group.outer.clone();
        let [lines, rows] = self.plan.half;
        let in_half = |b: &mut Builder, own: ExprId, extent: i64| {
            let (half, own) = (times(b, down, extent), plus(b, group.first, own));
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
        let down = b.index(down);
        let mut places = self.row(b, group, down, row);
        places.insert(self.found.term.var, self.term(b, right, block, term));
        at(b, self.found.data, &places, None)
    }

    /// A weight of a quarter of a block, in a column of a pair.
    pub(super) fn weight_at(
        &self,
        b: &mut Builder,
        [down, right]: Quarter,
        (block, term): (ExprId, ExprId),
        pair: Pair,
        column: ExprId,
    ) -> ExprId {
        let half = b.index(right * self.plan.columns);
        let first = plus(b, pair.column, half);
        let column = plus(b, first, column);
        let term = self.term(b, down, block, term);
        let places = Places::from([(self.found.term.var, term), (self.found.column.var, column)]);
        at(b, self.found.weight, &places, None)
    }

    /// A term of a half of a block.
    fn term(&self, b: &mut Builder, half: i64, block: ExprId, term: ExprId) -> ExprId {
        let terms = self.plan.terms;
        let (before, half) = (times(b, block, 2 * terms), b.index(half * terms));
        let first = plus(b, before, half);
        plus(b, first, term)
    }
}

impl Place {
    /// Its place among sums of blocks.
    pub(super) fn index(self) -> Vec<ExprId> {
        vec![self.down, self.line, self.row, self.column]
    }
}
