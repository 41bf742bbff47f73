//! What a thread knows of its queries behind some blocks of keys: an online softmax.

use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Bit, BufId, Builder, ExprId, Intrinsic, Scope, Ty, Warp};
use tenfold_ir::{DType, Scalar};

use super::super::found::Unseen;
use super::{own, wait};
use crate::dlight::emit::{load, plus, times};

/// Numbers of each query of a thread.
pub(super) struct Online {
    dtype: DType,
    /// How many queries a thread has, and how many neighbours in a warp have the same.
    count: i64,
    across: i64,
    /// The greatest score so far, and the sum of weights.
    pub greatest: BufId,
    pub total: BufId,
    /// The greatest score of a block, then what is taken from scores.
    pub base: BufId,
    /// What earlier results are multiplied with, in the end one over the sum of weights.
    pub scale: BufId,
    other: BufId,
    /// Where weights are rounded to halves, so that `ex2` is near enough: what scores are multiplied with, above 0, which
    /// `ex2` does then.
    pub rounded: Option<f64>,
    /// Where the threads of a query meet, if they are no neighbours in a warp.
    pub meeting: Option<Meeting>,
}

/// Shared memory, a line of it for each query that a thread has, and an element of each thread in a line.
pub(super) struct Meeting {
    pub thread: ExprId,
    pub values: BufId,
}

impl Online {
    /// Of no keys.
    pub(super) fn new(b: &mut Builder, dtype: DType, count: i64, across: i64) -> Online {
        let mut own = |name| b.alloc(name, dtype, vec![count.into()], Scope::Local);
        let (greatest, total) = (own("greatest"), own("total"));
        let (base, scale, other) = (own("base"), own("scale"), own("other"));
        let (zero, least) = (b.scalar(Scalar::zero(dtype)), b.scalar(Scalar::least(dtype)));
        self::own(b, count, &mut |b, i| {
            b.store(greatest, vec![i], least);
            b.store(total, vec![i], zero);
        });
        Online { dtype, count, across, greatest, total, base, scale, other, rounded: None, meeting: None }
    }

    /// A block begins.
    pub(super) fn begin(&self, b: &mut Builder) {
        let least = b.scalar(Scalar::least(self.dtype));
        own(b, self.count, &mut |b, i| b.store(self.base, vec![i], least));
    }

    /// A score of the block.
    pub(super) fn score(&self, b: &mut Builder, i: ExprId, score: ExprId) {
        let most = load(b, self.base, &[i]);
        let most = b.binary(BinaryOp::Max, most, score);
        b.store(self.base, vec![i], most);
    }

    /// All scores of the block are known.
    pub(super) fn rescale(&self, b: &mut Builder) {
        self.exchanged(b, self.base, BinaryOp::Max);
        own(b, self.count, &mut |b, i| self.rescaled(b, i));
    }

    /// The greatest score so far, 0 in its place where all are masked, and what it makes of earlier weights.
    fn rescaled(&self, b: &mut Builder, i: ExprId) {
        let (zero, least) = (b.scalar(Scalar::zero(self.dtype)), b.scalar(Scalar::least(self.dtype)));
        let (before, top) = (load(b, self.greatest, &[i]), load(b, self.base, &[i]));
        let now = b.binary(BinaryOp::Max, before, top);
        b.store(self.base, vec![i], now);
        let now = load(b, self.base, &[i]);
        let masked = b.compare(CmpOp::Eq, now, least);
        let base = b.select(masked, zero, now);
        let before = load(b, self.greatest, &[i]);
        let shifted = b.sub(before, base);
        let scale = self.power(b, shifted);
        b.store(self.scale, vec![i], scale);
        b.store(self.greatest, vec![i], now);
        let base = self.rounded.map_or(base, |factor| self.in_twos(b, base, factor));
        b.store(self.base, vec![i], base);
        let (total, scale) = (load(b, self.total, &[i]), load(b, self.scale, &[i]));
        let total = b.mul(total, scale);
        b.store(self.total, vec![i], total);
    }

    /// e to a number that is not above 0.
    fn power(&self, b: &mut Builder, shifted: ExprId) -> ExprId {
        let Some(factor) = self.rounded else { return b.exp_nonpositive(shifted) };
        let shifted = self.in_twos(b, shifted, factor);
        b.call(Intrinsic::Ex2, vec![shifted], Ty::scalar(self.dtype))
    }

    /// The exponent of 2 that so many times an exponent of e is.
    fn in_twos(&self, b: &mut Builder, exponent: ExprId, factor: f64) -> ExprId {
        let factor = b.scalar(Scalar::float(self.dtype, factor * std::f64::consts::LOG2_E));
        b.mul(exponent, factor)
    }

    /// The weight of a score, which is added to those before; where it is kept it takes the place of the score.
    pub(super) fn weigh(&self, b: &mut Builder, i: ExprId, (scores, e): (BufId, ExprId)) {
        let (score, base) = (load(b, scores, &[e]), load(b, self.base, &[i]));
        let power = if let Some(factor) = self.rounded {
            // One instruction multiplies and subtracts: what is taken from all scores is in twos already.
            let score = self.in_twos(b, score, factor);
            let shifted = b.sub(score, base);
            b.call(Intrinsic::Ex2, vec![shifted], Ty::scalar(self.dtype))
        } else {
            let shifted = b.sub(score, base);
            self.power(b, shifted)
        };
        b.store(scores, vec![e], power);
        let (power, total) = (load(b, scores, &[e]), load(b, self.total, &[i]));
        let total = b.add(total, power);
        b.store(self.total, vec![i], total);
    }

    /// An earlier result as it goes by the greatest score.
    pub(super) fn scaled(&self, b: &mut Builder, i: ExprId, (sums, e): (BufId, ExprId)) {
        let (old, scale) = (load(b, sums, &[e]), load(b, self.scale, &[i]));
        let sum = b.mul(old, scale);
        b.store(sums, vec![e], sum);
    }

    /// All threads of a query know the sum of its weights.
    pub(super) fn gather(&self, b: &mut Builder) {
        self.exchanged(b, self.total, BinaryOp::Add);
    }

    /// All blocks are done: one over the sum of weights. Of no keys, which `empty` says, the sum is 0.
    pub(super) fn invert(&self, b: &mut Builder, unseen: Unseen, empty: Option<ExprId>) {
        self.gather(b);
        own(b, self.count, &mut |b, i| {
            let (one, mut sum) = (b.scalar(Scalar::one(self.dtype)), load(b, self.total, &[i]));
            if unseen == Unseen::Zeros {
                sum = b.binary(BinaryOp::Max, sum, one);
            }
            if let Some(empty) = empty {
                sum = b.select(empty, one, sum);
            }
            let inverse = b.div(one, sum);
            b.store(self.scale, vec![i], inverse);
        });
    }

    /// What all threads of a query make of what each has.
    fn exchanged(&self, b: &mut Builder, of: BufId, op: BinaryOp) {
        if let Some(meeting) = &self.meeting {
            return self.met(b, meeting, (of, op));
        }
        for bit in Bit::ALL.into_iter().filter(|bit| bit.number() < self.across) {
            own(b, self.count, &mut |b, i| {
                let value = load(b, of, &[i]);
                let given = b.call(Intrinsic::Warp(Warp::ShuffleXor(bit)), vec![value], Ty::scalar(self.dtype));
                b.store(self.other, vec![i], given);
                let (value, other) = (load(b, of, &[i]), load(b, self.other, &[i]));
                let both = b.binary(op, value, other);
                b.store(of, vec![i], both);
            });
        }
    }

    /// The same in shared memory: each thread puts down what it has, and takes up what all of its query have put down, in
    /// one order. What was put down before is taken up by now: barriers of the block stand between.
    fn met(&self, b: &mut Builder, Meeting { thread, values }: &Meeting, (of, op): (BufId, BinaryOp)) {
        own(b, self.count, &mut |b, i| {
            let value = load(b, of, &[i]);
            b.store(*values, vec![i, *thread], value);
        });
        wait(b, Scope::Shared);
        let across = b.index(self.across);
        let first = b.binary(BinaryOp::DivEuclid, *thread, across);
        let first = times(b, first, self.across);
        own(b, self.count, &mut |b, i| {
            let mut all = load(b, *values, &[i, first]);
            for n in 1..self.across {
                let n = b.index(n);
                let place = plus(b, first, n);
                let other = load(b, *values, &[i, place]);
                all = b.binary(op, all, other);
            }
            b.store(of, vec![i], all);
        });
    }
}
