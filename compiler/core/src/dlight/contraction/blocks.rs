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

use crate::dlight::cut::part;
use crate::dlight::tiles::balanced;
use crate::fuse::stage::{Iter, Stage, renamed};

/// The most terms of a block, where nobody asks for fewer.
pub(super) const TERMS: i64 = 192;

/// What part of the most terms a block must have, where that makes all blocks equally long: shorter ones cost more than
/// a second loop.
const FEW: i64 = 4;

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

/// Values in blocks of at most `most`: of one length that is no less than `few` if there is one, else as even as can be,
/// and a shorter one behind as many of the longest as there are. Nothing where each value is a block.
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
                let mut begin = 0;
                let spans = balanced(n, most).into_iter().map(|span| {
                    begin += span.extent;
                    numbers(begin - span.extent, span.extent / span.tile, span.tile)
                });
                Some(spans.collect())
            }
        },
    }
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
