//! Reductions over threads of a group: in the warps of a device that has them, else as the back end makes them.
//!
//! In warps each step combines what two threads have, until all have the whole. Threads of a warp exchange their parts in registers. A group of several warps keeps a word of each in shared memory,
//! waits once, and every warp combines these words for itself. The order in which parts are combined follows from the
//! number of threads alone.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp, ReduceOp};
use tenfold_ir::tir::{Access, Bit, BufId, Builder, ExprId, Group, Intrinsic, Scope, Stmt, WARP, Warp};

use super::kernel::with_alloc;
use crate::pass::PassContext;

/// How threads of a device reduce together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meeting {
    /// They exchange parts in warps of [`WARP`] threads.
    Warps,
    /// All of a group, by [`Group`]: how many threads run side by side is not known.
    Group,
}

impl Meeting {
    /// That of a device; processors have none.
    pub(super) fn of(context: &PassContext) -> Option<Meeting> {
        context.target.device.map(|device| if device.is_ptx() { Meeting::Warps } else { Meeting::Group })
    }

    /// Whether so many threads of a group, all that it has, can reduce so.
    pub(super) fn takes(self, threads: i64) -> bool {
        match self {
            Meeting::Warps => are_warps(threads),
            Meeting::Group => threads > 0,
        }
    }
}

/// Threads of a group that reduce together: neighbours along x, the only axis with threads.
#[derive(Clone, Copy)]
pub(super) struct Threads {
    /// How they meet.
    pub meeting: Meeting,
    /// How many: a warp, or several; all that the group has where they meet as such.
    pub count: i64,
    /// The number of a thread among them.
    pub number: ExprId,
}

/// Whether so many threads are warps whose words one of them can combine.
fn are_warps(threads: i64) -> bool {
    threads > 0 && threads % WARP == 0 && threads <= WARP * WARP
}

impl Threads {
    /// Every thread's `part`, of one element, becomes what all of them make together; `before` stands in front.
    pub(super) fn combine(self, b: &mut Builder, part: BufId, op: ReduceOp, before: Vec<Stmt>) -> Combined {
        if self.meeting == Meeting::Group
            && let Some(f) = Group::of(op)
        {
            let own = load(b, part);
            let ty = b.ty(own);
            let whole = b.call(Intrinsic::Group(f), vec![own], ty);
            return Combined { all: before.into_iter().chain([store(b, part, whole)]).collect(), buffers: Vec::new() };
        }
        let dtype = b.buf(part).dtype;
        let other = b.buffer("other", dtype, vec![IntExpr::from(1)], Scope::Local);
        let mut all = before;
        all.extend(steps(b, (part, other), op, WARP));
        let words = (self.count > WARP).then(|| {
            let warps = self.count / WARP;
            let words = b.buffer("words", dtype, vec![IntExpr::from(warps)], Scope::Shared);
            all.push(self.give(b, part, words));
            all.push(Stmt::Barrier(Scope::Shared.into()));
            all.extend(self.take(b, part, words, (warps, op)));
            all.extend(steps(b, (part, other), op, (warps as u64).next_power_of_two() as i64));
            words
        });
        Combined { all, buffers: words.into_iter().chain([other]).collect() }
    }

    /// The first thread of each warp writes what its warp has.
    fn give(self, b: &mut Builder, part: BufId, words: BufId) -> Stmt {
        let (warp, zero) = (b.index(WARP), b.index(0));
        let lane = b.binary(BinaryOp::RemEuclid, self.number, warp);
        let own = b.binary(BinaryOp::DivEuclid, self.number, warp);
        let first = b.compare(CmpOp::Eq, lane, zero);
        let value = load(b, part);
        when(first, Stmt::Store { buf: words, index: vec![own], value, access: Access::Proven })
    }

    /// Every warp combines the words of all.
    fn take(self, b: &mut Builder, part: BufId, words: BufId, (warps, op): (i64, ReduceOp)) -> Vec<Stmt> {
        let wide = (warps as u64).next_power_of_two() as i64;
        let (count, limit) = (b.index(wide), b.index(warps));
        let word = b.binary(BinaryOp::RemEuclid, self.number, count);
        let value = b.load(words, vec![word], Access::Proven);
        let mut all = Vec::new();
        let taken = store(b, part, value);
        if wide == warps {
            all.push(taken);
        } else {
            let unit = b.scalar(op.unit(b.buf(part).dtype));
            let there = b.compare(CmpOp::Lt, word, limit);
            all.extend([store(b, part, unit), when(there, taken)]);
        }
        all
    }
}

/// What combines parts, and the buffers that it needs.
pub(super) struct Combined {
    all: Vec<Stmt>,
    buffers: Vec<BufId>,
}

impl Combined {
    /// With what follows.
    pub(super) fn then(mut self, rest: impl IntoIterator<Item = Stmt>) -> Stmt {
        self.all.extend(rest);
        self.buffers.into_iter().rev().fold(Stmt::Seq(self.all), |body, buf| with_alloc(buf, body))
    }
}

/// The steps of a butterfly over neighbours, the widest first.
fn steps(b: &mut Builder, (part, other): (BufId, BufId), op: ReduceOp, threads: i64) -> Vec<Stmt> {
    let mut all = Vec::new();
    for bit in Bit::ALL.into_iter().filter(|bit| bit.number() < threads) {
        let own = load(b, part);
        let ty = b.ty(own);
        let given = b.call(Intrinsic::Warp(Warp::ShuffleXor(bit)), vec![own], ty);
        let taken = load(b, other);
        let both = b.binary(op.combiner(), own, taken);
        all.extend([store(b, other, given), store(b, part, both)]);
    }
    all
}

/// The index of the one element of a part: 0 along its axis, if it has one.
fn only(b: &mut Builder, part: BufId) -> Vec<ExprId> {
    let axes = b.buf(part).shape.len();
    (0..axes).map(|_| b.index(0)).collect()
}

fn load(b: &mut Builder, part: BufId) -> ExprId {
    let index = only(b, part);
    b.load(part, index, Access::Proven)
}

fn store(b: &mut Builder, part: BufId, value: ExprId) -> Stmt {
    let index = only(b, part);
    Stmt::Store { buf: part, index, value, access: Access::Proven }
}

fn when(cond: ExprId, then: Stmt) -> Stmt {
    Stmt::If { cond, then: Box::new(then), otherwise: None }
}
