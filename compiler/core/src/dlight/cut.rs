//! Stages cut into rectangles, so that every tile of a part has the same size.
//!
//! A part of a stage runs over a range of some of its iterators and does there what the stage does; the parts of a
//! stage whose instances are independent do together what it does, in any order.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, Stmt, VarId, substitution};

use crate::fuse::loops::redirected;
use crate::fuse::stage::{Iter, Stage};

/// A range of an iterator.
#[derive(Clone, Debug)]
pub(super) struct Range {
    /// Where it begins.
    pub begin: ExprId,
    /// How far it goes.
    pub extent: ExprId,
    /// The same as an integer expression.
    pub size: IntExpr,
}

/// What stands for a buffer in a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instead {
    /// The other buffer.
    pub buf: BufId,
    /// Whether it has room for the part alone, so that indices count from where the part begins.
    pub own: bool,
}

/// The stage over ranges of some iterators; buffers in `bufs` become others.
pub(super) fn part(
    b: &mut Builder,
    stage: &Stage,
    name: &str,
    ranges: &BTreeMap<VarId, Range>,
    bufs: &BTreeMap<BufId, Instead>,
) -> Stage {
    let mut to: BTreeMap<VarId, ExprId> = BTreeMap::new();
    let mut iters = Vec::new();
    for iter in &stage.iters {
        let base = b.sym(iter.var).to_string();
        let var = b.index_var(&base);
        let read = b.read(var);
        let range = ranges.get(&iter.var);
        let value = match range {
            Some(r) if *b.func().exprs.get(r.begin) != Expr::Index(0) => b.add(read, r.begin),
            Some(_) | None => read,
        };
        to.insert(iter.var, value);
        iters.push(Iter { var, extent: range.map_or(iter.extent, |r| r.extent), ..iter.clone() });
    }
    let mut renamed = substitution(&to);
    let mut over = |b: &mut Builder, stmt: &Stmt| {
        let stmt = renamed.stmt(b, stmt.clone());
        redirected(b, stmt, &|b, buf, index| {
            let to = bufs.get(&buf)?;
            let at = |i: &ExprId| if to.own { without_begin(b, *i) } else { *i };
            Some((to.buf, index.iter().map(at).collect()))
        })
    };
    let init = stage.init.as_ref().map(|s| over(b, s));
    let body = over(b, &stage.body);
    Stage { name: name.to_string(), iters, init, body, loc: stage.loc }
}

/// The iterator of an index that counts from where its range begins.
fn without_begin(b: &Builder, index: ExprId) -> ExprId {
    match b.func().exprs.get(index) {
        Expr::Binary(BinaryOp::Add, iter, _) => *iter,
        _ => index,
    }
}

/// A buffer like another one.
pub(super) fn buffer_like(b: &mut Builder, buf: BufId) -> BufId {
    let data = b.buf(buf).clone();
    b.buffer(&data.name, data.dtype, data.shape, data.scope)
}
