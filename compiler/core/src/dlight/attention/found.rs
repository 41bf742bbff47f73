//! What an attention is: two products with a softmax over rows between them, whatever stands around them element by
//! element.
//!
//! Stages that compute element by element are written out where they are read, so that neither where a scale or a mask
//! stands nor how much of a softmax is kept in memory makes a difference. What is left are four reductions: scores, the
//! greatest of a row, the sum of a row, and the result.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::tir::{
    Access, BufId, BufUse, Builder, Elem, Expr, ExprId, ExprMap, Intrinsic, IterKind, LoopKind, Param, PrimFunc, Scope,
    Stmt, VarId, substitution,
};
use tenfold_ir::{DType, Scalar};

use crate::fuse::access::{Axis, axes, names};
use crate::fuse::pattern::{covers, updated_value, whole_value};
use crate::fuse::stage::{Iter, Stage, Staged};

/// An attention, over the iterators of its second product.
pub(super) struct Attention {
    /// Of scores, sums and results.
    pub dtype: DType,
    /// Iterators that none of those below is: batches and heads.
    pub outer: Vec<Iter>,
    /// Over queries, if there are several.
    pub row: Option<Iter>,
    /// Over keys.
    pub key: Iter,
    /// Over the terms of a score.
    pub depth: Iter,
    /// Over the elements of a value.
    pub column: Iter,
    /// An element of a query.
    pub query: ExprId,
    /// An element of a key.
    pub keys: ExprId,
    /// An element of a value.
    pub values: ExprId,
    /// A score as the softmax reads it, made of the product [`Attention::dot`].
    pub score: ExprId,
    /// A scalar that stands for the product of a query and a key.
    pub dot: BufId,
    /// What weights are rounded to before they are multiplied, if they are.
    pub rounded: Option<DType>,
    /// What becomes of a row without keys that may be seen.
    pub unseen: Unseen,
    /// Where results are written, at which index, and what, made of [`Attention::sum`].
    pub out: (BufId, Vec<ExprId>, ExprId),
    /// A scalar that stands for the weighted sum of values.
    pub sum: BufId,
}

/// What a softmax makes of a row of negative infinities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unseen {
    /// No numbers, as their differences are none.
    NoNumbers,
    /// Zeros: 0 is taken from such scores, and no sum is taken for less than 1.
    Zeros,
}

/// A stage that folds terms into elements.
struct Fold {
    op: BinaryOp,
    buf: BufId,
    /// The index of the element.
    index: Vec<ExprId>,
    /// What is folded, element by element stages written out.
    term: ExprId,
    start: ExprId,
    spatial: Vec<Iter>,
    /// The one iterator over terms.
    over: Iter,
}

/// What a stage gives each element of a buffer.
struct Written {
    axes: Vec<Axis>,
    value: ExprId,
}

/// The attention that a kernel is, if it is nothing else. New buffers and expressions are added to the kernel.
pub(super) fn attention(staged: &mut Staged) -> Option<Attention> {
    if staged.b.func().strict {
        return None;
    }
    let Stages { folds, last } = stages(staged)?;
    let [scores, greatest, total, result] = <[Fold; 4]>::try_from(folds).ok()?;
    let b = &mut staged.b;
    let dtype = b.buf(scores.buf).dtype;
    let computed = [&scores, &greatest, &total, &result].map(|fold| fold.buf);
    let alike = computed.into_iter().all(|buf| b.buf(buf).dtype == dtype);
    if !alike || !matches!(dtype, DType::F32 | DType::F64) || !starts(b, &scores, &greatest, &total, &result, dtype) {
        return None;
    }
    let (weight, values) = weighted(b.func(), &result, scores.buf)?;
    let (weight, rounded) = rounded(b.func(), weight);
    let Row { power, score, unseen } = row(b, weight, &greatest, &total, &result.over)?;
    let at = only_load(b.func(), score, scores.buf)?;
    let (query, keys, row) = factors(b, &scores, &at, &result, values)?;
    let column = column(b.func(), &result, &[power, query, keys])?;
    let named = [Some(column.var), row.as_ref().map(|i| i.var)];
    let outer = result.spatial.iter().filter(|i| !named.contains(&Some(i.var))).cloned().collect();
    let (dot, score) = placeholder(b, score, scores.buf, dtype, "dot");
    let (sum, out) = written(b, &result, last, dtype)?;
    if !is_alone(b.func(), computed, &[query, keys, values, score], &out) {
        return None;
    }
    let (depth, key) = (scores.over, result.over);
    Some(Attention {
        dtype,
        outer,
        row,
        key,
        depth,
        column,
        query,
        keys,
        values,
        score,
        dot,
        rounded,
        unseen,
        out,
        sum,
    })
}

/// Where a kernel that is a softmax of rows, and nothing else, keeps the greatest of each. What is NaN in a row is so in its
/// sum, and all results of the row are: it makes no difference whether the greatest is NaN too.
pub(in crate::dlight) fn greatest_of_softmax(mut staged: Staged) -> Option<BufId> {
    let Stages { folds, last } = stages(&mut staged)?;
    let [greatest, total] = <[Fold; 2]>::try_from(folds).ok()?;
    let b = &mut staged.b;
    let (_, _, value) = last?;
    let value = if let Expr::Cast(_, wide) = b.func().exprs.get(value) { *wide } else { value };
    let dtype = b.buf(greatest.buf).dtype;
    let (zero, least) = (b.scalar(Scalar::zero(dtype)), b.scalar(Scalar::least(dtype)));
    let begun = greatest.op == BinaryOp::Max && greatest.start == least;
    let summed = total.op == BinaryOp::Add && total.start == zero && total.over.extent == greatest.over.extent;
    let keys = staged.stages.last()?.iters.iter().filter(|i| i.extent == total.over.extent);
    let found = begun && summed && keys.clone().any(|key| row(b, value, &greatest, &total, key).is_some());
    found.then_some(greatest.buf)
}

/// Whether nothing else needs what is computed, of which no more than a tile is ever there, or what results are written
/// into, unless each is made of the element that it takes the place of.
fn is_alone(func: &PrimFunc, computed: [BufId; 4], operands: &[ExprId], (out, index, value): &Stored) -> bool {
    let written = |p: &Param| matches!(p, Param::Buffer(buf, BufUse::Out | BufUse::InOut) if buf != out);
    let others = operands.iter().chain(index);
    let apart = |buf: BufId| !others.clone().any(|id| reads(func, *id, buf));
    let used = |buf: BufId| buf != *out && reads(func, *value, buf);
    let own = !reads(func, *value, *out) || only_load(func, *value, *out).as_ref() == Some(index);
    !func.params.iter().any(written) && computed.into_iter().all(|buf| apart(buf) && !used(buf)) && apart(*out) && own
}

/// What the stages of a kernel are.
struct Stages {
    folds: Vec<Fold>,
    /// What is stored into the result, if that is no fold itself.
    last: Option<Stored>,
}

fn stages(staged: &mut Staged) -> Option<Stages> {
    let mut known: BTreeMap<BufId, Written> = BTreeMap::new();
    let mut all = Stages { folds: Vec::new(), last: None };
    let mut written = BTreeSet::new();
    for stage in staged.stages.clone() {
        let b = &mut staged.b;
        let Stmt::Store { buf, index, .. } = &stage.body else { return None };
        let begun = begun(b.func(), &stage, (*buf, index), &mut known, &mut all.last);
        if begun.is_none() && !written.insert(*buf) || all.last.is_some() {
            return None;
        }
        if let Some(start) = begun.or_else(|| own_start(&stage)) {
            all.folds.push(fold(b, &stage, start, &known)?);
            continue;
        }
        if b.buf(*buf).scope == Scope::Param {
            let value = updated_value(b.func(), &stage)?;
            all.last = Some((*buf, index.clone(), expanded(b, &known, value)));
        } else {
            let value = whole_value(b.func(), &stage)?;
            let value = expanded(b, &known, value);
            known.insert(*buf, Written { axes: axes(b.func(), index), value });
        }
    }
    Some(all)
}

/// What a fold starts with that a stage of its own has written, as one does where there may be no terms: everywhere, as
/// what is not folded keeps it.
fn begun(
    func: &PrimFunc,
    stage: &Stage,
    (buf, index): (BufId, &[ExprId]),
    known: &mut BTreeMap<BufId, Written>,
    last: &mut Option<Stored>,
) -> Option<ExprId> {
    let folds = stage.init.is_none() && stage.iters.iter().any(|i| i.kind == IterKind::Reduce);
    if !folds || !covers(func, stage, buf, &axes(func, index)) {
        return None;
    }
    let number = |value: ExprId| matches!(func.exprs.get(value), Expr::Const(_)).then_some(value);
    match known.remove(&buf) {
        Some(written) => number(written.value),
        None => last.take_if(|(of, ..)| *of == buf).and_then(|(_, _, value)| number(value)),
    }
}

/// What a fold starts with itself, wherever its element is.
fn own_start(stage: &Stage) -> Option<ExprId> {
    let Some(Stmt::Store { buf: begun, index: first, value, .. }) = &stage.init else { return None };
    let Stmt::Store { buf, index, .. } = &stage.body else { return None };
    (begun == buf && first == index).then_some(*value)
}

/// An expression with elements that are known written out.
fn expanded(b: &mut Builder, known: &BTreeMap<BufId, Written>, id: ExprId) -> ExprId {
    let mut map = ExprMap::new(|b: &mut Builder, id: ExprId| {
        let Expr::Load { buf, index, .. } = b.func().exprs.get(id).clone() else { return id };
        let Some(Written { axes, value }) = known.get(&buf) else { return id };
        let to = axes.iter().zip(index).filter_map(|(axis, at)| match axis {
            Axis::Iter(var, _) => Some((*var, at)),
            Axis::Fixed(_) | Axis::Other => None,
        });
        let to = to.collect();
        substitution(&to).expr(b, *value)
    });
    map.expr(b, id)
}

fn fold(b: &mut Builder, stage: &Stage, start: ExprId, known: &BTreeMap<BufId, Written>) -> Option<Fold> {
    let Stmt::Store { buf, index, value, access: Access::Proven } = &stage.body else { return None };
    let Expr::Binary(op, old, term) = *b.func().exprs.get(*value) else { return None };
    let own = matches!(b.func().exprs.get(old), Expr::Load { buf: from, index: at, .. } if from == buf && at == index);
    let (spatial, mut over): (Vec<Iter>, Vec<Iter>) =
        stage.iters.iter().cloned().partition(|i| i.kind == IterKind::Spatial);
    // What a user folds keeps its order.
    let one = over.len() == 1 && over[0].kind == IterKind::Reduce && over[0].order == LoopKind::Reduction;
    if !own || !one || reads(b.func(), term, *buf) {
        return None;
    }
    let each = |i: &Iter| axes(b.func(), index).iter().filter(|a| **a == Axis::Iter(i.var, 0)).count() == 1;
    let plain = axes(b.func(), index).iter().all(|a| matches!(a, Axis::Iter(_, 0) | Axis::Fixed(0)));
    if !plain || !spatial.iter().all(each) {
        return None;
    }
    let (buf, index) = (*buf, index.clone());
    let term = expanded(b, known, term);
    Some(Fold { op, buf, index, term, start, spatial, over: over.remove(0) })
}

/// Whether the folds are sums but for one, and begin as these do.
fn starts(b: &mut Builder, scores: &Fold, greatest: &Fold, total: &Fold, result: &Fold, dtype: DType) -> bool {
    let (zero, least) = (b.scalar(Scalar::zero(dtype)), b.scalar(Scalar::least(dtype)));
    let sums = [scores, total, result].into_iter().all(|fold| fold.op == BinaryOp::Add && fold.start == zero);
    let extent = result.over.extent;
    let rows = greatest.over.extent == extent && total.over.extent == extent;
    sums && rows && greatest.op == BinaryOp::Max && greatest.start == least
}

/// The weight of a value, which alone reads scores, and an element of it.
fn weighted(func: &PrimFunc, result: &Fold, scores: BufId) -> Option<(ExprId, ExprId)> {
    let Expr::Binary(BinaryOp::Mul, x, y) = *func.exprs.get(result.term) else { return None };
    match (reads(func, x, scores), reads(func, y, scores)) {
        (true, false) => Some((x, y)),
        (false, true) => Some((y, x)),
        (true, true) | (false, false) => None,
    }
}

/// What is rounded, and to which halves, if it is.
fn rounded(func: &PrimFunc, weight: ExprId) -> (ExprId, Option<DType>) {
    let Expr::Cast(_, narrow) = *func.exprs.get(weight) else { return (weight, None) };
    match (func.exprs.get(narrow), func.exprs.ty(narrow).elem) {
        (Expr::Cast(_, wide), Elem::Scalar(dtype @ (DType::F16 | DType::BF16))) => (*wide, Some(dtype)),
        _ => (weight, None),
    }
}

/// A row of a softmax.
struct Row {
    /// `exp(score - greatest)`.
    power: ExprId,
    score: ExprId,
    unseen: Unseen,
}

/// A weight taken apart: `exp(score - greatest) / total`, where both numbers of a row are what the folds compute of it.
fn row(b: &mut Builder, weight: ExprId, greatest: &Fold, total: &Fold, key: &Iter) -> Option<Row> {
    let (power, sum) = quotient(b.func(), weight)?;
    let shifted = match b.func().exprs.get(power) {
        Expr::Unary(UnaryOp::Exp, shifted) => *shifted,
        Expr::Call(Intrinsic::ExpNonpositive, args, _) => args[0],
        _ => return None,
    };
    let Expr::Binary(BinaryOp::Sub, score, most) = *b.func().exprs.get(shifted) else { return None };
    let (sum, most, unseen) = match (at_least_one(b.func(), sum), unless_masked(b.func(), most)) {
        (None, None) => (sum, most, Unseen::NoNumbers),
        (Some(sum), Some(most)) => (sum, most, Unseen::Zeros),
        (Some(_), None) | (None, Some(_)) => return None,
    };
    let of_total = as_read(b, total, sum, key)?;
    let of_greatest = as_read(b, greatest, most, key)?;
    (of_total == power && of_greatest == score).then_some(Row { power, score, unseen })
}

/// `x` of `maximum(x, 1)`.
fn at_least_one(func: &PrimFunc, id: ExprId) -> Option<ExprId> {
    let Expr::Binary(BinaryOp::Max, x, one) = *func.exprs.get(id) else { return None };
    is(func, one, Scalar::one).then_some(x)
}

/// `x` of `x == -inf ? 0 : x`.
fn unless_masked(func: &PrimFunc, id: ExprId) -> Option<ExprId> {
    let (Expr::Select(cond, zero, x) | Expr::If(cond, zero, x)) = *func.exprs.get(id) else { return None };
    let Expr::Compare(CmpOp::Eq, y, least) = *func.exprs.get(cond) else { return None };
    (x == y && is(func, zero, Scalar::zero) && is(func, least, Scalar::least)).then_some(x)
}

/// Whether an expression is that number of its dtype.
pub(super) fn is(func: &PrimFunc, id: ExprId, number: fn(DType) -> Scalar) -> bool {
    matches!(func.exprs.get(id), Expr::Const(s) if *s == number(s.dtype))
}

/// The two parts of `x / y` or `x * (1 / y)`.
fn quotient(func: &PrimFunc, id: ExprId) -> Option<(ExprId, ExprId)> {
    let inverse = |id: ExprId| match func.exprs.get(id) {
        Expr::Binary(BinaryOp::Div, one, y) => is(func, *one, Scalar::one).then_some(*y),
        _ => None,
    };
    match *func.exprs.get(id) {
        Expr::Binary(BinaryOp::Div, x, y) => Some((x, y)),
        Expr::Binary(BinaryOp::Mul, x, y) => match (inverse(x), inverse(y)) {
            (_, Some(sum)) => Some((x, sum)),
            (Some(sum), None) => Some((y, sum)),
            (None, None) => None,
        },
        _ => None,
    }
}

/// What a fold folds for the element that `load` is, its terms being counted by `key`.
fn as_read(b: &mut Builder, fold: &Fold, load: ExprId, key: &Iter) -> Option<ExprId> {
    let Expr::Load { buf, index, .. } = b.func().exprs.get(load).clone() else { return None };
    if buf != fold.buf || reads(b.func(), fold.term, buf) {
        return None;
    }
    let mut to = places(b, fold, &index)?;
    let at = b.read(key.var);
    to.insert(fold.over.var, at);
    Some(substitution(&to).expr(b, fold.term))
}

/// What stands for the spatial iterators of a fold where its element at an index is read.
fn places(b: &Builder, fold: &Fold, index: &[ExprId]) -> Option<BTreeMap<VarId, ExprId>> {
    let mut to = BTreeMap::new();
    for (axis, at) in axes(b.func(), &fold.index).into_iter().zip(index) {
        match axis {
            Axis::Iter(var, 0) => {
                to.insert(var, *at);
            }
            Axis::Fixed(0) if *b.func().exprs.get(*at) == Expr::Index(0) => {}
            Axis::Iter(..) | Axis::Fixed(_) | Axis::Other => return None,
        }
    }
    Some(to)
}

/// The index at which alone an expression reads a buffer.
fn only_load(func: &PrimFunc, id: ExprId, of: BufId) -> Option<Vec<ExprId>> {
    let mut all = func.reachable([id]).into_iter().filter_map(|e| match func.exprs.get(e) {
        Expr::Load { buf, index, .. } if *buf == of => Some(index.clone()),
        _ => None,
    });
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

/// The factors of a score, those of the query first, and the iterator over queries: one that values and keys ignore.
fn factors(
    b: &mut Builder,
    scores: &Fold,
    at: &[ExprId],
    result: &Fold,
    values: ExprId,
) -> Option<(ExprId, ExprId, Option<Iter>)> {
    let to = places(b, scores, at)?;
    let term = substitution(&to).expr(b, scores.term);
    let Expr::Binary(BinaryOp::Mul, x, y) = *b.func().exprs.get(term) else { return None };
    let func = b.func();
    let key = result.over.var;
    let (query, keys) = match (names(func, x, key), names(func, y, key)) {
        (false, true) => (x, y),
        (true, false) => (y, x),
        (true, true) | (false, false) => return None,
    };
    let of_query = |v: VarId| names(func, query, v) && !names(func, keys, v) && !names(func, values, v);
    let row = result.spatial.iter().rfind(|i| of_query(i.var)).cloned();
    let depth = scores.over.var;
    let deep = names(func, query, depth) && names(func, keys, depth) && names(func, values, key);
    deep.then_some((query, keys, row))
}

/// The one iterator that values alone name.
fn column(func: &PrimFunc, result: &Fold, others: &[ExprId]) -> Option<Iter> {
    let mut all = result.spatial.iter().filter(|i| !others.iter().any(|e| names(func, *e, i.var)));
    let (first, more) = (all.next()?, all.next());
    (more.is_none() && names(func, result.term, first.var)).then(|| first.clone())
}

/// A scalar in the place of every element of a buffer that an expression reads.
fn placeholder(b: &mut Builder, id: ExprId, of: BufId, dtype: DType, name: &str) -> (BufId, ExprId) {
    let scalar = b.buffer(name, dtype, Vec::new(), Scope::Local);
    let instead = b.load(scalar, Vec::new(), Access::Proven);
    let mut map = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id) {
        Expr::Load { buf, .. } if *buf == of => instead,
        _ => id,
    });
    (scalar, map.expr(b, id))
}

/// A buffer, an index of it, and what is written there.
type Stored = (BufId, Vec<ExprId>, ExprId);

/// What becomes of a result: what is stored where, over the iterators of the second product.
fn written(b: &mut Builder, result: &Fold, last: Option<Stored>, dtype: DType) -> Option<(BufId, Stored)> {
    let Some((out, index, value)) = last else {
        let sum = b.buffer("result", dtype, Vec::new(), Scope::Local);
        let value = b.load(sum, Vec::new(), Access::Proven);
        let stored = (result.buf, result.index.clone(), value);
        return (b.buf(result.buf).scope == Scope::Param).then_some((sum, stored));
    };
    let at = only_load(b.func(), value, result.buf)?;
    let to = inverted(b, result, &at)?;
    let index = substitution(&to).exprs(b, &index);
    let value = substitution(&to).expr(b, value);
    let (sum, value) = placeholder(b, value, result.buf, dtype, "result");
    let own: BTreeSet<VarId> = result.spatial.iter().map(|i| i.var).collect();
    let known = b.func().reachable(index.iter().copied().chain([value])).into_iter().all(|e| {
        let Expr::Var(v) = b.func().exprs.get(e) else { return true };
        own.contains(v) || b.func().params.contains(&Param::Value(*v))
    });
    known.then_some((sum, (out, index, value)))
}

/// The iterators of the stage that reads a result at an index, made of those of the stage that computes it: an index is
/// an iterator, or its quotient or remainder by a number where both are there.
fn inverted(b: &mut Builder, result: &Fold, index: &[ExprId]) -> Option<BTreeMap<VarId, ExprId>> {
    let mut parts: BTreeMap<VarId, Parts> = BTreeMap::new();
    for (axis, at) in axes(b.func(), &result.index).into_iter().zip(index) {
        let own = match axis {
            Axis::Iter(var, 0) => var,
            Axis::Fixed(0) if *b.func().exprs.get(*at) == Expr::Index(0) => continue,
            Axis::Iter(..) | Axis::Fixed(_) | Axis::Other => return None,
        };
        let extent = result.spatial.iter().find(|i| i.var == own).and_then(|i| b.func().literal(i.extent));
        let (var, part, by) = match *b.func().exprs.get(*at) {
            Expr::Var(v) => (v, 0, 1),
            Expr::Binary(op @ (BinaryOp::DivEuclid | BinaryOp::RemEuclid), x, by) => {
                let (Expr::Var(v), Some(by)) = (b.func().exprs.get(x), b.func().literal(by)) else { return None };
                (*v, if op == BinaryOp::DivEuclid { 1 } else { 2 }, by)
            }
            _ => return None,
        };
        // A remainder must take all of its values.
        if part == 2 && extent != Some(by) {
            return None;
        }
        let parts = parts.entry(var).or_default();
        if parts.0[part].replace((own, by)).is_some() {
            return None;
        }
    }
    let mut to = BTreeMap::new();
    for (var, Parts(parts)) in parts {
        let value = match parts {
            [Some((own, _)), None, None] => b.read(own),
            [None, Some((outer, n)), Some((inner, m))] if n == m => {
                let (outer, n, inner) = (b.read(outer), b.index(n), b.read(inner));
                let first = b.mul(outer, n);
                b.add(first, inner)
            }
            _ => return None,
        };
        to.insert(var, value);
    }
    Some(to)
}

/// What of an iterator is an index: all of it, its quotient, its remainder; each with the iterator that it is and the
/// number that it is divided by.
#[derive(Default)]
struct Parts([Option<(VarId, i64)>; 3]);

/// Whether an expression reads a buffer.
fn reads(func: &PrimFunc, id: ExprId, of: BufId) -> bool {
    func.reachable([id]).into_iter().any(|e| matches!(func.exprs.get(e), Expr::Load { buf, .. } if *buf == of))
}
