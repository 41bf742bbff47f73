//! Long sums of floats in blocks: an accumulator takes the terms of one block, and is then added to the sum.
//!
//! What rounding loses grows with the terms that one accumulator takes: `n` terms in blocks of `b` lose about as much
//! as `b + n / b` of them. The accumulators of a block stand in registers, those of the sum in memory that is touched
//! once per block. This is what `rfactor` does, for sums of any length; `fallback::lanes` does it along rows.

use std::collections::BTreeMap;

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{
    Access, BufId, Builder, Expr, ExprId, Intrinsic, IterKind, LoopKind, Scope, Stmt, VarId, Viewer, substitution,
};

use super::choice::{Choice, UNROLLED};
use super::{Contraction, Staged};
use crate::dlight::cut::part;
use crate::dlight::kernel::Operand;
use crate::fuse::stage::{Iter, Stage, renamed};

/// The most terms of a block, where nobody asks for fewer.
pub(super) const TERMS: i64 = 192;

/// The same for what has no rows, and so starts at its bias: each block rounds it once more.
const TERMS_WITHOUT_ROWS: i64 = 256;

/// Channels of a block that has a whole window, at the least.
const CHANNELS: i64 = 8;

/// Elements of a window that such a block has room for: those of one of 3 by 3.
const WINDOW: i64 = 9;

/// What part of the most terms a block must have, where that makes all blocks equally long: shorter ones cost more than
/// a second loop.
const FEW: i64 = 4;

/// The most terms of a block of a sum over so many iterators, if tiles have rows or not and vectors have so many lanes.
pub(super) fn most_terms(iters: usize, rows: bool, lanes: i64) -> i64 {
    match (rows, iters) {
        (false, _) => TERMS_WITHOUT_ROWS,
        (true, 0 | 1) => TERMS,
        (true, _) => WINDOW * lanes.max(CHANNELS),
    }
}

/// Terms of each block of at most `most`, but for the last one: as even as can be, whole turns of those that are written
/// out behind one another.
pub(super) fn block_of(terms: i64, most: i64, unrolled: i64) -> i64 {
    let (most, unrolled) = (most.max(1), unrolled.max(1));
    let blocks = (terms + most - 1) / most;
    let even = (terms + blocks - 1) / blocks.max(1);
    if blocks <= 1 { terms } else { (even + unrolled - 1) / unrolled * unrolled }
}

/// Whether a sum is in blocks of at most so many terms.
pub(super) fn is_long(b: &Builder, stage: &Stage, most: i64) -> bool {
    cut(b, stage, most).is_some()
}

/// Channels that stand in blocks around a window in blocks of as many as a vector has lanes, so that a block which has a
/// whole window is no longer than [`most_terms`]. What lies in memory stays as it is.
pub(super) fn halved(staged: &mut Staged, found: &Contraction, choice: &Choice) {
    let stage = staged.stages[found.stage].clone();
    let reduce: Vec<&Iter> = stage.iters.iter().filter(|i| i.kind == IterKind::Reduce).collect();
    let [outer, .., inner] = &reduce[..] else { return };
    let Some(extent) = Viewer::new(staged.b.func()).int(inner.extent).as_const() else { return };
    let block = choice.tile.lanes.max(CHANNELS);
    let blocks = |o: &Operand| o.step(inner.var) == Some(1) && o.step(outer.var) == Some(extent);
    let floats = staged.b.buf(found.acc).dtype.is_float() && !staged.b.func().strict;
    if !floats || reduce.len() < 3 || extent <= block || extent % block != 0 || !found.operands.iter().any(blocks) {
        return;
    }
    let b = &mut staged.b;
    let (half, channel) = (b.index_var("block"), b.index_var("channel"));
    let (counted, by) = (b.read(half), b.index(block));
    let (first, own) = (b.mul(counted, by), b.read(channel));
    let to = BTreeMap::from([(inner.var, b.add(first, own))]);
    let body = substitution(&to).stmt(b, stage.body.clone());
    let (count, length) = (b.index(extent / block), b.index(block));
    let place = stage.iters.iter().position(|i| i.var == outer.var).unwrap_or(0);
    let mut iters = stage.iters.clone();
    let cut =
        |i: &Iter| if i.var == inner.var { Iter { var: channel, extent: length, ..i.clone() } } else { i.clone() };
    iters = iters.iter().map(cut).collect();
    iters.insert(place + 1, Iter { var: half, extent: count, ..(*outer).clone() });
    staged.stages[found.stage] = Stage { iters, body, ..stage };
}

/// Two stages that sum blocks of one length.
pub(super) struct Pair {
    /// The sum of each block.
    pub partial: Stage,
    /// What adds these up.
    pub total: Stage,
    /// How many iterators over blocks each of them has right behind the spatial ones.
    pub blocks: usize,
    /// Where the sums of blocks are.
    pub buf: BufId,
}

/// How a sum is cut.
struct Cut {
    /// Iterators each of whose values begins another block.
    outer: Vec<VarId>,
    /// The iterator whose values are cut, and how.
    along: Option<(VarId, Vec<Turns>)>,
}

/// Blocks of one length, one after another.
struct Turns {
    /// Where the first one begins.
    begin: IntExpr,
    /// How many there are.
    count: IntExpr,
    /// Values of the iterator in each.
    length: IntExpr,
}

/// The stages in the place of a contraction, in the order in which they run; none where its sum is short, or keeps its
/// order. No block has more than `most` terms.
pub(super) fn pairs(b: &mut Builder, stage: &Stage, most: i64) -> Vec<Pair> {
    let Some(Cut { outer, along }) = cut(b, stage, most) else { return Vec::new() };
    match along {
        None => pair(b, stage, &outer, None).into_iter().collect(),
        Some((var, all)) => {
            let later = Stage { init: None, ..stage.clone() };
            let each = all.iter().enumerate().map(|(n, turns)| (if n == 0 { stage } else { &later }, turns));
            each.filter_map(|(stage, turns)| pair(b, stage, &outer, Some((var, turns)))).collect()
        }
    }
}

/// The innermost iterators make a block, as long as it does not become too long; the next one is cut.
fn cut(b: &Builder, stage: &Stage, most: i64) -> Option<Cut> {
    let Stmt::Store { buf, .. } = &stage.body else { return None };
    if b.func().strict || !b.buf(*buf).dtype.is_float() {
        return None;
    }
    let most = most / terms_at_once(b, stage);
    let viewer = &mut Viewer::new(b.func());
    let reduce = stage.iters.iter().filter(|i| i.kind == IterKind::Reduce);
    let mut outer: Vec<(VarId, IntExpr)> = reduce.map(|i| (i.var, viewer.int(i.extent))).collect();
    let mut terms = 1;
    while let Some((var, extent)) = outer.pop() {
        if let Some(n) = extent.as_const().filter(|n| *n <= most / terms) {
            terms *= n.max(1);
            continue;
        }
        let mut outer: Vec<VarId> = outer.into_iter().map(|(v, _)| v).collect();
        let along = turns(&extent, most / terms, most / FEW / terms).map(|turns| (var, turns));
        if along.is_none() {
            outer.push(var);
        }
        return Some(Cut { outer, along });
    }
    None
}

/// Terms that each value of the iterators adds.
fn terms_at_once(b: &Builder, stage: &Stage) -> i64 {
    let Stmt::Store { value, .. } = &stage.body else { return 1 };
    let exprs = &b.func().exprs;
    let dot = |e: ExprId| match exprs.get(e) {
        Expr::Call(Intrinsic::Dot(dot), ..) => Some(dot.terms()),
        _ => None,
    };
    match exprs.get(*value) {
        Expr::Binary(BinaryOp::Add, _, term) => dot(*term).unwrap_or(1),
        _ => 1,
    }
}

/// Values in blocks of at most `most`: of one length that is no less than `few` if there is one, else as [`uneven`] says.
/// Nothing where each value is a block.
fn turns(extent: &IntExpr, most: i64, few: i64) -> Option<Vec<Turns>> {
    let of = |begin: IntExpr, count: IntExpr, length: IntExpr| Turns { begin, count, length };
    let numbers = |begin: i64, count: i64, length: i64| of(begin.into(), count.into(), length.into());
    match extent.as_const() {
        _ if most < 2 => None,
        None => {
            let count = extent.floor_div(&IntExpr::from(most));
            let whole = &count * most;
            let rest = extent - &whole;
            Some(vec![of(0.into(), count, most.into()), of(whole, 1.into(), rest)])
        }
        Some(n) => match (few.max(1)..=most).rev().find(|length| n % length == 0) {
            Some(1) => None,
            Some(length) => Some(vec![numbers(0, n / length, length)]),
            None => {
                let (count, length) = uneven(n, most);
                let whole = count * length;
                let rest = (n > whole).then(|| numbers(whole, 1, n - whole));
                Some([numbers(0, count, length)].into_iter().chain(rest).collect())
            }
        },
    }
}

/// How many blocks of which length stand before one of what is left: several, of a length of which several terms can be
/// written out behind one another. Of two single blocks LLVM would keep the sums of the first in registers while it adds
/// up the second, and that one's in memory.
fn uneven(n: i64, most: i64) -> (i64, i64) {
    let whole = |length: i64| if length < UNROLLED { length.max(1) } else { length / UNROLLED * UNROLLED };
    let count = (n + most - 1) / most;
    let length = whole(n / count);
    if n - count * length <= most { (count, length) } else { (n / whole(most), whole(most)) }
}

/// The iterators of a sum in blocks, and what stands for the old ones.
struct Iters {
    spatial: Vec<Iter>,
    /// Over blocks.
    blocks: Vec<Iter>,
    /// Over the terms of one.
    inner: Vec<Iter>,
    to: BTreeMap<VarId, ExprId>,
}

fn iters(b: &mut Builder, stage: &Stage, outer: &[VarId], along: Option<(VarId, &Turns)>) -> Iters {
    let of = |kind: IterKind| stage.iters.iter().filter(move |i| i.kind == kind);
    let begins = |i: &&Iter| outer.contains(&i.var);
    let (spatial, mut to) = renamed(b, of(IterKind::Spatial));
    let (mut blocks, of_blocks) = renamed(b, of(IterKind::Reduce).filter(begins));
    let (mut inner, of_inner) = renamed(b, of(IterKind::Reduce).filter(|i| !begins(i)));
    to.extend(of_blocks.into_iter().chain(of_inner));
    let Some((var, turns)) = along else { return Iters { spatial, blocks, inner, to } };
    let length = b.int_expr(&turns.length);
    let mut at = to.get(&var).copied().unwrap_or(length);
    for (iter, old) in inner.iter_mut().zip(of(IterKind::Reduce).filter(|i| !begins(i))) {
        if old.var == var {
            iter.extent = length;
        }
    }
    let (block, extent) = (b.index_var("block"), b.int_expr(&turns.count));
    blocks.push(Iter { var: block, extent, kind: IterKind::Reduce, order: LoopKind::Serial });
    if turns.count.as_const() != Some(1) {
        let block = b.read(block);
        let first = b.mul(block, length);
        at = b.add(first, at);
    }
    if turns.begin.as_const() != Some(0) {
        let begin = b.int_expr(&turns.begin);
        at = b.add(begin, at);
    }
    to.insert(var, at);
    Iters { spatial, blocks, inner, to }
}

/// The stages for blocks of one length.
fn pair(b: &mut Builder, stage: &Stage, outer: &[VarId], along: Option<(VarId, &Turns)>) -> Option<Pair> {
    let Stmt::Store { buf: acc, index, value, .. } = &stage.body else { return None };
    let Expr::Binary(BinaryOp::Add, _, term) = *b.func().exprs.get(*value) else { return None };
    let Iters { spatial, blocks, inner, to } = iters(b, stage, outer, along);
    let buf = buffer(b, *acc, &blocks);
    let mut here = substitution(&to);
    let own = here.exprs(b, index);
    let term = here.expr(b, term);
    let start = stage.init.clone().map(|s| here.stmt(b, s));
    let mut at: Vec<ExprId> = blocks.iter().map(|i| b.read(i.var)).collect();
    at.extend(&own);
    let zero = b.scalar(Scalar::zero(b.buf(buf).dtype));
    let init = Some(Stmt::Store { buf, index: at.clone(), value: zero, access: Access::Proven });
    let sum = b.load(buf, at.clone(), Access::Proven);
    let (of_terms, of_blocks) = (added(b, buf, at, term), added(b, *acc, own, sum));
    // Each block has a place of its own, and what adds them up takes one after another.
    let in_order = |kind: IterKind| blocks.iter().map(move |i| Iter { kind, order: LoopKind::Serial, ..i.clone() });
    let iters = spatial.iter().cloned().chain(in_order(IterKind::Spatial)).chain(inner).collect();
    let partial = Stage { name: format!("{}_block", stage.name), iters, init, body: of_terms, loc: stage.loc };
    let iters = spatial.iter().cloned().chain(in_order(IterKind::Reduce)).collect();
    let total = Stage { iters, init: start, body: of_blocks, ..stage.clone() };
    let total = part(b, &total, &stage.name, &BTreeMap::new(), &BTreeMap::new());
    Some(Pair { partial, total, blocks: blocks.len(), buf })
}

/// A place for the sum of each block of each element.
fn buffer(b: &mut Builder, acc: BufId, blocks: &[Iter]) -> BufId {
    let viewer = &mut Viewer::new(b.func());
    let mut shape: Vec<IntExpr> = blocks.iter().map(|i| viewer.int(i.extent)).collect();
    let data = b.buf(acc).clone();
    shape.extend(data.shape);
    b.buffer(&format!("{}_block", data.name), data.dtype, shape, Scope::Local)
}

/// Adds to an element.
fn added(b: &mut Builder, buf: BufId, index: Vec<ExprId>, term: ExprId) -> Stmt {
    let old = b.load(buf, index.clone(), Access::Proven);
    let value = b.add(old, term);
    Stmt::Store { buf, index, value, access: Access::Proven }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_blocks_stand_before_what_is_left() {
        assert_eq!(uneven(223, 192), (2, 108));
        assert_eq!(uneven(257, 192), (2, 128));
        assert_eq!(uneven(7, 2), (3, 2));
        for n in (193..5_000).chain([100_003]) {
            let (count, length) = uneven(n, 192);
            assert!(count > 1 && length <= 192 && (0..=192).contains(&(n - count * length)), "{n}: {count} x {length}");
        }
    }

    #[test]
    fn blocks_are_even_and_whole_turns() {
        assert_eq!(block_of(601, 192, 2), 152);
        assert_eq!((block_of(192, 192, 4), block_of(100, 192, 4)), (192, 100));
        for (n, unrolled) in (193..2_000).flat_map(|n| [(n, 1), (n, 2), (n, 4)]) {
            let block = block_of(n, 192, unrolled);
            assert!(block % unrolled == 0 && block <= 192 && n <= block * ((n + 191) / 192), "{n}: {block}");
        }
    }
}
