//! The sums of halves that are multiplied.

use tenfold_ir::tir::{BufId, Builder, ExprId, LoopKind};

use super::found::Product;
use super::plan::{Plan, QUARTERS, SUMS};
use super::written::{Group, Kernel, Pair, Quarter};
use crate::dlight::emit::{Places, at, each, load, plus, times};

/// A factor of a product.
#[derive(Clone, Copy)]
pub(super) enum Factor {
    /// A quarter as it is.
    Quarter(Quarter),
    /// One of the sums.
    Sum(i64),
}

/// Sums of a group's data: S1 = A21 + A22, S2 = S1 - A11, S3 = A11 - A21, S4 = A12 - S2, in vectors of terms.
pub(super) fn of_data(b: &mut Builder, kernel: &Kernel<'_>, group: Group<'_>) {
    let plan = kernel.plan;
    let [lines, rows] = plan.group;
    let whole = plan.terms / plan.lanes;
    let parts = [(0, whole, plan.lanes), (whole * plan.lanes, plan.terms - whole * plan.lanes, 1)];
    each(b, "line", &lines.into(), LoopKind::Serial, &mut |b, line| {
        each(b, "row", &rows.into(), LoopKind::Serial, &mut |b, row| {
            each(b, "block", &plan.blocks.into(), LoopKind::Serial, &mut |b, block| {
                for (begin, turns, lanes) in parts {
                    in_vectors(b, (begin, turns, lanes), &mut |b, term| {
                        let [a11, a12, a21, a22] =
                            quarters(|quarter| kernel.data_at(b, group, quarter, [line, row], (block, term)));
                        let s1 = b.add(a21, a22);
                        let s2 = b.sub(s1, a11);
                        let (s3, s4) = (b.sub(a11, a21), b.sub(a12, s2));
                        let copies: &[ExprId] = if plan.copied { &[a11, a12, a22] } else { &[] };
                        for (n, sum) in [s1, s2, s3, s4].iter().chain(copies).enumerate() {
                            let n = b.index(n as i64);
                            b.store(kernel.data, vec![group.part, block, n, line, row, term], *sum);
                        }
                    });
                }
            });
        });
    });
}

/// Sums of weights: of a share's pair of panels, or of each pair and block that are kept.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    pub found: &'a Product,
    pub plan: &'a Plan,
    /// Share or pair, block, which, term, column.
    pub sums: BufId,
}

impl Weights<'_> {
    /// Makes all sums of a block of a pair.
    pub(super) fn make(&self, b: &mut Builder, pair: Pair, block: ExprId) {
        each(b, "k", &self.plan.terms.into(), LoopKind::Serial, &mut |b, term| {
            in_vectors(b, (0, self.plan.vectors, self.plan.lanes), &mut |b, column| {
                (0..SUMS).for_each(|n| self.make_one(b, n, (block, term), pair, column));
            });
        });
    }

    /// Makes one: T1 = B12 - B11, T2 = B22 - T1, T3 = B22 - B12, T4 = T2 - B21. Those before it are made.
    pub(super) fn make_one(&self, b: &mut Builder, n: i64, term: (ExprId, ExprId), pair: Pair, column: ExprId) {
        let weight = |b: &mut Builder, quarter: Quarter| self.quarter(b, quarter, term, pair, column);
        let sum = |b: &mut Builder, n: i64| self.sum(b, n, term, pair, column);
        let (x, y) = match n {
            0 => (weight(b, [0, 1]), weight(b, [0, 0])),
            1 => (weight(b, [1, 1]), sum(b, 0)),
            2 => (weight(b, [1, 1]), weight(b, [0, 1])),
            _ => (sum(b, 1), weight(b, [1, 0])),
        };
        let sum = b.sub(x, y);
        let index = self.place(b, n, term, pair, column);
        b.store(self.sums, index, sum);
    }

    /// What is multiplied, in a column of a pair.
    pub(super) fn at(
        &self,
        b: &mut Builder,
        factor: Factor,
        term: (ExprId, ExprId),
        pair: Pair,
        column: ExprId,
    ) -> ExprId {
        match factor {
            Factor::Quarter(quarter) => self.quarter(b, quarter, term, pair, column),
            Factor::Sum(n) => self.sum(b, n, term, pair, column),
        }
    }

    /// A sum that is stored.
    fn sum(&self, b: &mut Builder, n: i64, term: (ExprId, ExprId), pair: Pair, column: ExprId) -> ExprId {
        let index = self.place(b, n, term, pair, column);
        load(b, self.sums, &index)
    }

    fn place(
        &self,
        b: &mut Builder,
        n: i64,
        (block, term): (ExprId, ExprId),
        pair: Pair,
        column: ExprId,
    ) -> Vec<ExprId> {
        let block = if self.plan.kept { block } else { b.index(0) };
        vec![pair.slot, block, b.index(n), term, column]
    }

    /// A weight of a quarter of a block.
    fn quarter(
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
        let term = self.plan.term(b, down, block, term);
        let places = Places::from([(self.found.term.var, term), (self.found.column.var, column)]);
        at(b, self.found.weight, &places, None)
    }
}

/// An element of what is multiplied of the data.
pub(super) fn data_at(
    b: &mut Builder,
    kernel: &Kernel<'_>,
    (group, factor): (Group<'_>, Factor),
    row: [ExprId; 2],
    (block, term): (ExprId, ExprId),
) -> ExprId {
    let copied = |quarter| QUARTERS.iter().position(|q| kernel.plan.copied && *q == quarter);
    let n = match factor {
        Factor::Sum(n) => n,
        Factor::Quarter(quarter) => match copied(quarter) {
            Some(n) => SUMS + n as i64,
            None => return kernel.data_at(b, group, quarter, row, (block, term)),
        },
    };
    let ([line, row], n) = (row, b.index(n));
    load(b, kernel.data, &[group.part, block, n, line, row, term])
}

/// Vectors side by side from a place on.
fn in_vectors(b: &mut Builder, (begin, turns, lanes): (i64, i64, i64), f: &mut dyn FnMut(&mut Builder, ExprId)) {
    each(b, "v", &turns.into(), LoopKind::Serial, &mut |b, v| {
        each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
            let (begin, offset) = (b.index(begin), times(b, v, lanes));
            let first = plus(b, begin, offset);
            let at = plus(b, first, l);
            f(b, at);
        });
    });
}

/// All quarters, from left to right and down.
fn quarters(mut f: impl FnMut(Quarter) -> ExprId) -> [ExprId; 4] {
    [[0, 0], [0, 1], [1, 0], [1, 1]].map(&mut f)
}
