//! What a statement reads and writes, and how its indices are made of iterators.

use std::collections::BTreeSet;

use tenfold_ir::Scalar;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Expr, ExprId, PrimFunc, Stmt, VarId};

use super::stage::Stage;

/// An access of a stage to a buffer that is not its own.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// The buffer.
    pub buf: BufId,
    /// One index per axis.
    pub index: Vec<ExprId>,
    /// Whether it is written.
    pub write: bool,
}

/// One axis of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Axis {
    /// An iterator, plus a number.
    Iter(VarId, i64),
    /// A number.
    Fixed(i64),
    /// Anything else.
    Other,
}

/// All accesses of a stage, reads and writes, to buffers that outlive a point of it.
pub(crate) fn accesses(func: &PrimFunc, stage: &Stage) -> Vec<Access> {
    let (mut own, mut out, mut roots) = (BTreeSet::new(), Vec::new(), Vec::new());
    for part in stage.init.iter().chain([&stage.body]) {
        part.walk(&mut |stmt| {
            roots.extend(stmt.exprs());
            match stmt {
                Stmt::Alloc { buf, .. } => {
                    own.insert(*buf);
                }
                Stmt::Store { buf, index, .. } => out.push(Access { buf: *buf, index: index.clone(), write: true }),
                _ => {}
            }
        });
    }
    out.extend(loads(func, roots));
    out.retain(|a| !own.contains(&a.buf));
    out
}

/// The loads in expressions, each once.
pub(crate) fn loads(func: &PrimFunc, roots: impl IntoIterator<Item = ExprId>) -> Vec<Access> {
    let load = |id: ExprId| match func.exprs.get(id) {
        Expr::Load { buf, index, .. } => Some(Access { buf: *buf, index: index.clone(), write: false }),
        _ => None,
    };
    func.reachable(roots).into_iter().filter_map(load).collect()
}

/// How an index is made.
pub(crate) fn axis(func: &PrimFunc, id: ExprId) -> Axis {
    let get = |id| func.exprs.get(id);
    match get(id) {
        Expr::Var(v) => Axis::Iter(*v, 0),
        Expr::Index(c) => Axis::Fixed(*c),
        Expr::Binary(op, a, b) => match (op, get(*a), get(*b)) {
            (BinaryOp::Add, Expr::Var(v), Expr::Index(c)) | (BinaryOp::Add, Expr::Index(c), Expr::Var(v)) => {
                Axis::Iter(*v, *c)
            }
            (BinaryOp::Sub, Expr::Var(v), Expr::Index(c)) => Axis::Iter(*v, -*c),
            // Of an axis of extent 1, whose variable is gone.
            (BinaryOp::Add, Expr::Index(a), Expr::Index(b)) => Axis::Fixed(a + b),
            _ => Axis::Other,
        },
        _ => Axis::Other,
    }
}

/// Every axis of an access.
pub(crate) fn axes(func: &PrimFunc, index: &[ExprId]) -> Vec<Axis> {
    index.iter().map(|i| axis(func, *i)).collect()
}

/// Whether an expression names a variable.
pub(crate) fn names(func: &PrimFunc, id: ExprId, var: VarId) -> bool {
    func.reachable([id]).into_iter().any(|e| *func.exprs.get(e) == Expr::Var(var))
}

/// The conditions of which one asks for all, in order.
pub(crate) fn conjuncts(func: &PrimFunc, cond: ExprId) -> Vec<ExprId> {
    match func.exprs.get(cond) {
        Expr::If(a, b, c) if *func.exprs.get(*c) == Expr::Const(Scalar::bool(false)) => {
            let mut all = conjuncts(func, *a);
            all.extend(conjuncts(func, *b));
            all
        }
        _ => vec![cond],
    }
}
