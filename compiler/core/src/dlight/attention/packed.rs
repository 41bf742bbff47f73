//! Keys and values laid out anew, once for all tiles of queries: keys in panels, for each term as many neighbouring
//! keys as a tile of scores has; values row by row.
//!
//! Heads that share keys share the copy.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, ExprMap, LoopKind, Scope, VarId, Viewer, operands};

use super::found::Attention;
use super::plan::Plan;
use crate::dlight::emit::{Places, at, each, load, plus, times};
use crate::dlight::movement::STEP;
use crate::dlight::walk::straight;
use crate::fuse::access::names;
use crate::fuse::stage::Iter;

/// An axis of a copy: what copies go over, and where a reader finds its own.
struct Axis {
    extent: IntExpr,
    read: ExprId,
    var: VarId,
    /// What the iterator is divided by wherever it is named.
    by: Option<ExprId>,
}

/// An element of a key as tiles read it; where it is copied, the copies are added.
pub(super) fn keys(b: &mut Builder, found: &Attention, plan: &Plan) -> ExprId {
    if !plan.pack_keys {
        return found.keys;
    }
    let width = plan.panel();
    let outer = axes(b, found, found.keys);
    let count = Viewer::new(b.func()).int(found.key.extent);
    let (whole, rest) = parts(&count, width, plan.block);
    let panels = if rest.as_const() == Some(0) { whole.clone() } else { &whole + 1 };
    let buf = buffer(b, found, "keys", &outer, &[panels, plan.depth.into(), width.into()]);
    let along = straight(b.func(), found.keys, found.key.var);
    let step = STEP / found.dtype.size_bytes() as i64;
    let last = &count - &rest;
    let all = [(0.into(), 0.into(), whole.clone(), width.into()), (whole, last, 1.into(), rest)];
    let some = |n: &IntExpr| n.as_const() != Some(0);
    for (first, begin, panels, keys) in all.into_iter().filter(|(.., panels, keys)| some(panels) && some(keys)) {
        over(b, &outer, Places::new(), &mut |b, places, index| {
            each(b, "p", &panels, LoopKind::Serial, &mut |b, p| {
                let (first, begin) = (b.int_expr(&first), b.int_expr(&begin));
                let begin = {
                    let offset = times(b, p, width);
                    plus(b, begin, offset)
                };
                let p = plus(b, first, p);
                let mut copy = |b: &mut Builder, d: ExprId, j: ExprId| {
                    let key = plus(b, begin, j);
                    let mut places = places.clone();
                    places.extend([(found.key.var, key), (found.depth.var, d)]);
                    let value = copied(b, found.keys, &places, &outer, index);
                    b.store(buf, [index, &[p, d, j]].concat(), value);
                };
                let steps = keys.as_const().filter(|n| !along && plan.lanes >= step && n % step == 0);
                if let Some(n) = steps {
                    let step = if n % plan.lanes == 0 { plan.lanes } else { step };
                    return turned(b, (n, step), plan.depth, &mut copy);
                }
                let kind = if along { LoopKind::Vectorized } else { LoopKind::Serial };
                each(b, "d", &plan.depth.into(), LoopKind::Serial, &mut |b, d| {
                    each(b, "j", &keys, kind, &mut |b, j| copy(b, d, j));
                });
            });
        });
    }
    let (key, depth, width) = (b.read(found.key.var), b.read(found.depth.var), b.index(width));
    let (panel, place) = (b.binary(BinaryOp::DivEuclid, key, width), b.binary(BinaryOp::RemEuclid, key, width));
    let mut index: Vec<ExprId> = outer.iter().map(|axis| axis.read).collect();
    index.extend([panel, depth, place]);
    load(b, buf, &index)
}

/// A panel of `keys` rows that lie one behind the other, `step` of them at a time: what is written of these lies side by
/// side, and each of their cache lines is used up before the next one.
fn turned(b: &mut Builder, (keys, step): (i64, i64), depth: i64, copy: &mut dyn FnMut(&mut Builder, ExprId, ExprId)) {
    each(b, "s", &(keys / step).into(), LoopKind::Serial, &mut |b, s| {
        let first = times(b, s, step);
        each(b, "d", &depth.into(), LoopKind::Serial, &mut |b, d| {
            each(b, "l", &step.into(), LoopKind::Vectorized, &mut |b, l| {
                let j = plus(b, first, l);
                copy(b, d, j);
            });
        });
    });
}

/// An element of a value as tiles read it.
pub(super) fn values(b: &mut Builder, found: &Attention, plan: &Plan) -> ExprId {
    if !plan.pack_values {
        return found.values;
    }
    let outer = axes(b, found, found.values);
    let count = Viewer::new(b.func()).int(found.key.extent);
    let buf = buffer(b, found, "values", &outer, &[count.clone(), plan.columns.into()]);
    let vectors = straight(b.func(), found.values, found.column.var);
    let kind = if vectors { LoopKind::Vectorized } else { LoopKind::Serial };
    over(b, &outer, Places::new(), &mut |b, places, index| {
        each(b, "k", &count, LoopKind::Serial, &mut |b, k| {
            each(b, "c", &plan.columns.into(), kind, &mut |b, c| {
                let mut places = places.clone();
                places.extend([(found.key.var, k), (found.column.var, c)]);
                let value = copied(b, found.values, &places, &outer, index);
                b.store(buf, [index, &[k, c]].concat(), value);
            });
        });
    });
    let mut index: Vec<ExprId> = outer.iter().map(|axis| axis.read).collect();
    index.extend([b.read(found.key.var), b.read(found.column.var)]);
    load(b, buf, &index)
}

/// Whole panels, and how many keys are left behind them. They are counted as tiles go over an unknown number of keys, in
/// blocks and what is left of one, so that what these read is proven to be there.
fn parts(count: &IntExpr, width: i64, block: i64) -> (IntExpr, IntExpr) {
    let left = count.floor_mod(&IntExpr::from(block));
    let of_left = left.floor_div(&IntExpr::from(width));
    let whole = &(&count.floor_div(&IntExpr::from(block)) * (block / width)) + &of_left;
    (whole, &left - &(&of_left * width))
}

fn buffer(b: &mut Builder, found: &Attention, name: &str, outer: &[Axis], inner: &[IntExpr]) -> BufId {
    let shape = outer.iter().map(|axis| axis.extent.clone()).chain(inner.iter().cloned()).collect();
    b.alloc(name, found.dtype, shape, Scope::Global)
}

/// The outer axes of an operand.
fn axes(b: &mut Builder, found: &Attention, operand: ExprId) -> Vec<Axis> {
    let named: Vec<&Iter> = found.outer.iter().filter(|i| names(b.func(), operand, i.var)).collect();
    named.into_iter().map(|iter| axis(b, iter, operand)).collect()
}

fn axis(b: &mut Builder, iter: &Iter, operand: ExprId) -> Axis {
    let extent = Viewer::new(b.func()).int(iter.extent);
    let func = b.func();
    let is_var = |id: &ExprId| *func.exprs.get(*id) == Expr::Var(iter.var);
    let mut users = func.reachable([operand]).into_iter().filter(|e| operands(func.exprs.get(*e)).iter().any(is_var));
    let (first, more) = (users.next(), users.next());
    let divided = first.filter(|_| more.is_none()).and_then(|e| match func.exprs.get(e) {
        Expr::Binary(BinaryOp::DivEuclid | BinaryOp::Div, _, by) => Some((e, func.literal(*by).filter(|n| *n > 0)?)),
        _ => None,
    });
    match divided {
        Some((quotient, by)) => {
            let extent = (&extent + (by - 1)).floor_div(&IntExpr::from(by));
            Axis { extent, read: quotient, var: iter.var, by: Some(quotient) }
        }
        None => Axis { extent, read: b.read(iter.var), var: iter.var, by: None },
    }
}

/// Loops over the outer axes of an operand; `f` is given what stands for its iterators, and the index of the copy.
fn over(b: &mut Builder, outer: &[Axis], places: Places, f: &mut dyn FnMut(&mut Builder, &Places, &[ExprId])) {
    fn inside(
        b: &mut Builder,
        outer: &[Axis],
        places: Places,
        index: &[ExprId],
        f: &mut dyn FnMut(&mut Builder, &Places, &[ExprId]),
    ) {
        let Some((axis, rest)) = outer.split_first() else { return f(b, &places, index) };
        each(b, "h", &axis.extent, LoopKind::Serial, &mut |b, h| {
            let mut places = places.clone();
            places.insert(axis.var, h);
            inside(b, rest, places, &[index, &[h]].concat(), f);
        });
    }
    inside(b, outer, places, &[], f);
}

/// An element of an operand for its copy: an axis that counts quotients stands for these themselves.
fn copied(b: &mut Builder, operand: ExprId, places: &Places, outer: &[Axis], index: &[ExprId]) -> ExprId {
    let quotients: Vec<(ExprId, ExprId)> = outer.iter().zip(index).filter_map(|(a, h)| Some((a.by?, *h))).collect();
    // Before iterators have values: afterwards a quotient is another expression.
    let mut map = ExprMap::new(|_: &mut Builder, id: ExprId| {
        quotients.iter().find(|(quotient, _)| *quotient == id).map_or(id, |(_, h)| *h)
    });
    let operand = map.expr(b, operand);
    at(b, operand, places, None)
}
