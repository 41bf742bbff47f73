//! The sums of a tile that a thread keeps in registers: what they begin with, and what is done with them behind.

use std::collections::BTreeMap;

use tenfold_ir::Scalar;
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::{Access, BufId, Expr, ExprId, ExprMap, Scope, Stmt, VarId, substitution};

use super::Bind;
use super::product::{Product, is_own};
use crate::tir_passes::kernel::constant;

/// Sums of a thread.
pub(super) struct Sums<'p> {
    pub product: &'p Product,
    /// Where they are.
    pub buf: BufId,
    /// How many rows the result has, and a tile of it.
    pub rows: (ExprId, i64),
    pub cols: (ExprId, i64),
}

impl Sums<'_> {
    /// The sum `at` begins with what the element in a row and a column begins with.
    pub(super) fn init(&self, bind: &mut Bind<'_>, at: ExprId, (row, col): (ExprId, ExprId)) -> Stmt {
        let value = self.product.init;
        let mut to = BTreeMap::new();
        to.extend(bind.places(row, &self.product.rows));
        to.extend(bind.places(col, &self.product.cols));
        let inside = self.inside(bind, (row, col));
        let value = substitution(&to).expr(bind.b, value);
        let zero = bind.b.func().loads(value).then(|| bind.b.scalar(Scalar::zero(bind.b.buf(self.buf).dtype)));
        let value = match (inside, zero) {
            (Some(inside), Some(zero)) => bind.b.if_(inside, value, zero),
            _ => value,
        };
        store(self.buf, at, value)
    }

    /// What is done behind the sum `at`, and the sum itself where it is the result.
    pub(super) fn last(&self, bind: &mut Bind<'_>, at: ExprId, (row, col): (ExprId, ExprId)) -> Stmt {
        let p = self.product;
        let mut all: Vec<Stmt> = p.after.iter().map(|s| in_tile(bind, s.clone(), p.acc, (self.buf, at))).collect();
        if !is_own(bind.b, p.acc) {
            let value = bind.b.load(self.buf, vec![at], Access::Proven);
            all.push(Stmt::Store { buf: p.acc, index: p.index.clone(), value, access: Access::Proven });
        }
        let values: Vec<(VarId, ExprId)> =
            bind.places(row, &p.rows).into_iter().chain(bind.places(col, &p.cols)).collect();
        let body = values.into_iter().fold(Stmt::seq(all), |body, (var, value)| Stmt::Let {
            var,
            value,
            body: Box::new(body),
        });
        match self.inside(bind, (row, col)) {
            Some(cond) => Stmt::If { cond, then: Box::new(body), otherwise: None },
            None => body,
        }
    }

    /// Whether an element lies in the result; nothing where all do.
    fn inside(&self, bind: &mut Bind<'_>, (row, col): (ExprId, ExprId)) -> Option<ExprId> {
        let mut all = None;
        for (at, (limit, by)) in [(row, self.rows), (col, self.cols)] {
            if constant(bind.b.func(), limit).is_none_or(|n| n % by != 0) {
                let one = bind.b.compare(CmpOp::Lt, at, limit);
                all = Some(all.map_or(one, |before| bind.b.and(before, one)));
            }
        }
        all
    }
}

/// A statement with the sum's element in a register.
fn in_tile(bind: &mut Bind<'_>, stmt: Stmt, acc: BufId, (sum, at): (BufId, ExprId)) -> Stmt {
    let value = bind.b.load(sum, vec![at], Access::Proven);
    let mut map = ExprMap::new(|b: &mut tenfold_ir::tir::Builder, id| match b.func().exprs.get(id) {
        Expr::Load { buf, .. } if *buf == acc => value,
        _ => id,
    });
    let stmt = map.stmt(bind.b, stmt);
    stmt.map(&mut |s| match s {
        Stmt::Store { buf, value, access, .. } if buf == acc => {
            Stmt::Store { buf: sum, index: vec![at], value, access }
        }
        other => other,
    })
}

/// The term of a product made of these values of its factors is added to the sum `at`.
pub(super) fn added(bind: &mut Bind<'_>, product: &Product, [x, y]: [ExprId; 2], (sum, at): (BufId, ExprId)) -> Stmt {
    let mut map = ExprMap::new(|_: &mut _, id| match id {
        id if id == product.x => x,
        id if id == product.y => y,
        id => id,
    });
    let term = map.expr(bind.b, product.term);
    let old = bind.b.load(sum, vec![at], Access::Proven);
    let new = bind.b.add(old, term);
    store(sum, at, new)
}

/// All threads of the group wait for each other.
pub(super) fn wait() -> Stmt {
    Stmt::Barrier(Scope::Shared.into())
}

/// A store of an element of memory with one axis.
pub(super) fn store(buf: BufId, at: ExprId, value: ExprId) -> Stmt {
    Stmt::Store { buf, index: vec![at], value, access: Access::Proven }
}
