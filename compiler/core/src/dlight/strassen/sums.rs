//! The sums of halves that are multiplied.

use tenfold_ir::tir::{Builder, ExprId, LoopKind};

use super::plan::{QUARTERS, SUMS};
use super::written::{Group, Kernel, Pair, Quarter};
use crate::dlight::emit::{each, load, plus, times};

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
                            b.store(kernel.data, vec![block, n, line, row, term], *sum);
                        }
                    });
                }
            });
        });
    });
}

/// All sums of a block of a pair's weights.
pub(super) fn of_weights(b: &mut Builder, kernel: &Kernel<'_>, pair: Pair, block: ExprId) {
    let plan = kernel.plan;
    each(b, "k", &plan.terms.into(), LoopKind::Serial, &mut |b, term| {
        in_vectors(b, (0, plan.vectors, plan.lanes), &mut |b, column| {
            (0..SUMS).for_each(|n| of_weight(b, kernel, n, (block, term), pair, column));
        });
    });
}

/// A sum of a pair's weights: T1 = B12 - B11, T2 = B22 - T1, T3 = B22 - B12, T4 = T2 - B21. Those before it are made.
pub(super) fn of_weight(
    b: &mut Builder,
    kernel: &Kernel<'_>,
    n: i64,
    term: (ExprId, ExprId),
    pair: Pair,
    column: ExprId,
) {
    let weight = |b: &mut Builder, quarter: Quarter| kernel.weight_at(b, quarter, term, pair, column);
    let sum = |b: &mut Builder, n: i64| weight_at(b, kernel, n, term, pair, column);
    let (x, y) = match n {
        0 => (weight(b, [0, 1]), weight(b, [0, 0])),
        1 => (weight(b, [1, 1]), sum(b, 0)),
        2 => (weight(b, [1, 1]), weight(b, [0, 1])),
        _ => (sum(b, 1), weight(b, [1, 0])),
    };
    let sum = b.sub(x, y);
    let index = place(b, kernel, n, term, pair, column);
    b.store(kernel.weights, index, sum);
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
    load(b, kernel.data, &[block, n, line, row, term])
}

/// A sum of a pair's weights that is stored.
pub(super) fn weight_at(
    b: &mut Builder,
    kernel: &Kernel<'_>,
    n: i64,
    term: (ExprId, ExprId),
    pair: Pair,
    column: ExprId,
) -> ExprId {
    let index = place(b, kernel, n, term, pair, column);
    load(b, kernel.weights, &index)
}

/// Where a sum of weights is.
fn place(
    b: &mut Builder,
    kernel: &Kernel<'_>,
    n: i64,
    (block, term): (ExprId, ExprId),
    pair: Pair,
    column: ExprId,
) -> Vec<ExprId> {
    let block = if kernel.plan.kept { block } else { b.index(0) };
    vec![pair.slot, block, b.index(n), term, column]
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
