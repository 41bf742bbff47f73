//! The transforms of F(2x2, 3x3) and F(4x4, 3x3), each as one step along an axis that is taken along both.
//!
//! Polynomials are multiplied by their values at some points: 0, 1, -1 and infinity for two results. For four, 0,
//! infinity, and both signs of 5/8 and 3/2: of points whose squares are exact these lose the fewest bits (with 1 and 2,
//! results are off by twice as much), and what belongs to the two signs of a point shares half of its sums.

use tenfold_ir::DType;
use tenfold_ir::tir::{Builder, ExprId};

use super::found::TAPS;

/// The two points of F(4x4, 3x3) beside 0 and infinity, which come with both signs.
const POINTS: [f64; 2] = [5.0 / 8.0, 3.0 / 2.0];

/// How large squares of results are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Size {
    /// 2 by 2 results of 4 by 4 elements.
    Two,
    /// 4 by 4 results of 6 by 6 elements.
    Four,
}

impl Size {
    /// Results of a square along each side.
    pub(super) fn results(self) -> i64 {
        match self {
            Size::Two => 2,
            Size::Four => 4,
        }
    }

    /// Elements of the data that a square reads along each side, and so the side of what is transformed.
    pub(super) fn side(self) -> i64 {
        self.results() + TAPS - 1
    }

    /// Products of matrices.
    pub(super) fn products(self) -> i64 {
        self.side() * self.side()
    }

    /// Of the elements along a side, sums that are multiplied.
    pub(super) fn data(self, b: &mut Builder, dtype: DType, d: &[ExprId]) -> Vec<ExprId> {
        match (self, d) {
            (Size::Two, &[d0, d1, d2, d3]) => vec![b.sub(d0, d2), b.add(d1, d2), b.sub(d2, d1), b.sub(d1, d3)],
            (Size::Four, &[d0, d1, d2, d3, d4, d5]) => {
                let [p, q] = POINTS.map(|p| p * p);
                let first = fused(b, dtype, d4, &[(p * q, d0), (-(p + q), d2)]);
                let last = fused(b, dtype, d5, &[(p * q, d1), (-(p + q), d3)]);
                let mut all = vec![first];
                for (point, other) in [(POINTS[0], q), (POINTS[1], p)] {
                    let even = fused(b, dtype, d4, &[(-other, d2)]);
                    let odd = fused(b, dtype, d3, &[(-other, d1)]);
                    all.extend([point, -point].map(|p| fused(b, dtype, even, &[(p, odd)])));
                }
                all.push(last);
                all
            }
            (Size::Two | Size::Four, _) => unreachable!("callers give a side's elements"),
        }
    }

    /// Of the weights along a side, what these sums are multiplied with.
    pub(super) fn weights(self, b: &mut Builder, dtype: DType, [g0, g1, g2]: [ExprId; 3]) -> Vec<ExprId> {
        match self {
            Size::Two => {
                let half = b.float(dtype, 0.5);
                let outer = b.add(g0, g2);
                let (more, less) = (b.add(outer, g1), b.sub(outer, g1));
                vec![g0, b.mul(more, half), b.mul(less, half), g2]
            }
            Size::Four => {
                let [p, q] = POINTS.map(|p| p * p);
                let mut all = vec![scaled(b, dtype, 1.0 / (p * q), g0)];
                for (point, own, other) in [(POINTS[0], p, q), (POINTS[1], q, p)] {
                    // What the polynomial whose zeros are all other points is at this one.
                    let by = 1.0 / (2.0 * own * (own - other));
                    let outer = scaled(b, dtype, by, g0);
                    let even = fused(b, dtype, outer, &[(own * by, g2)]);
                    all.extend([point, -point].map(|p| fused(b, dtype, even, &[(p * by, g1)])));
                }
                all.push(g2);
                all
            }
        }
    }

    /// Of the products along a side, results.
    pub(super) fn results_of(self, b: &mut Builder, dtype: DType, m: &[ExprId]) -> Vec<ExprId> {
        match (self, m) {
            (Size::Two, &[m0, m1, m2, m3]) => {
                let (first, less) = (b.add(m0, m1), b.sub(m1, m2));
                vec![b.add(first, m2), b.sub(less, m3)]
            }
            (Size::Four, &[m0, m1, m2, m3, m4, m5]) => {
                let evens = [b.add(m1, m2), b.add(m3, m4)];
                let odds = [b.sub(m1, m2), b.sub(m3, m4)];
                let powers = |n: i32| POINTS.map(|p| p.powi(n));
                let sum = b.add(evens[0], evens[1]);
                let [one, two, three] = [(1, odds), (2, evens), (3, odds)].map(|(n, of)| {
                    let [p, q] = powers(n);
                    let first = scaled(b, dtype, p, of[0]);
                    fused(b, dtype, first, &[(q, of[1])])
                });
                vec![b.add(m0, sum), one, two, b.add(three, m5)]
            }
            (Size::Two | Size::Four, _) => unreachable!("callers give a side's products"),
        }
    }
}

/// A value times a number.
fn scaled(b: &mut Builder, dtype: DType, by: f64, value: ExprId) -> ExprId {
    let by = b.float(dtype, by);
    b.mul(by, value)
}

/// A value and others times numbers.
fn fused(b: &mut Builder, dtype: DType, first: ExprId, more: &[(f64, ExprId)]) -> ExprId {
    more.iter().fold(first, |sum, (by, value)| {
        let term = scaled(b, dtype, *by, *value);
        b.add(sum, term)
    })
}
