//! Windows that leave the operand, and those that do not.

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::{Builder, ExprId, LoopKind, Stmt};

use super::window::{Axis, Pool};

/// The most elements of a window that are written out one by one.
pub(super) const WRITTEN_OUT: usize = 64;

/// Where a window begins along each axis, and which axes are gone over.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub begins: &'a [IntExpr],
    pub over: &'a [usize],
}

/// The elements of a window along some axes, in order: how far behind where it begins.
pub(super) fn offsets(pool: &Pool, over: &[usize]) -> Option<Vec<Vec<i64>>> {
    let count = over.iter().try_fold(1_usize, |n, axis| n.checked_mul(pool.axes[*axis].taps as usize))?;
    if count > WRITTEN_OUT {
        return None;
    }
    let mut all = vec![Vec::new()];
    for axis in over.iter().map(|n| &pool.axes[*n]) {
        let next = |before: &Vec<i64>| {
            let before = before.clone();
            (0..axis.taps).map(move |tap| [&before[..], &[tap * axis.dilation]].concat())
        };
        all = all.iter().flat_map(next).collect();
    }
    Some(all)
}

impl Places<'_> {
    /// Where an element stands: along other axes than those gone over, where the window begins.
    pub(super) fn at(&self, offsets: &[i64]) -> Vec<IntExpr> {
        let mut at = self.begins.to_vec();
        self.over.iter().zip(offsets).for_each(|(axis, by)| at[*axis] = &at[*axis] + *by);
        at
    }

    /// What holds of windows whose elements are all there; nothing where that is so of every one.
    pub(super) fn all_inside(&self, b: &mut Builder, pool: &Pool) -> Option<ExprId> {
        let whole = |axis: &Axis, begin: &IntExpr| [begin.clone(), begin + (axis.reach() - 1)];
        self.conditions(b, pool, &|n| whole(&pool.axes[n], &self.begins[n]))
    }

    /// What holds of an element that is there, at such places.
    pub(super) fn inside(&self, b: &mut Builder, pool: &Pool, at: &[IntExpr]) -> Option<ExprId> {
        self.conditions(b, pool, &|n| [at[n].clone(), at[n].clone()])
    }

    /// Whether the first and the last of places along each axis are there.
    fn conditions(&self, b: &mut Builder, pool: &Pool, ends: &dyn Fn(usize) -> [IntExpr; 2]) -> Option<ExprId> {
        let mut all: Option<ExprId> = None;
        for n in self.over {
            let Some(extent) = &pool.axes[*n].extent else { continue };
            let [first, last] = ends(*n);
            for (op, at, end) in [(CmpOp::Ge, first, IntExpr::from(0)), (CmpOp::Lt, last, extent.clone())] {
                // What numbers decide needs no instruction, but has to be said.
                let held = (&at - &end).as_const().map(|by| if op == CmpOp::Ge { by >= 0 } else { by < 0 });
                let one = match held {
                    Some(true) => continue,
                    Some(false) => b.scalar(Scalar::bool(false)),
                    None => {
                        let (at, end) = (b.int_expr(&at), b.int_expr(&end));
                        b.compare(op, at, end)
                    }
                };
                all = Some(all.map_or(one, |all| b.and(all, one)));
            }
        }
        all
    }

    /// Does `f` for each element that is there.
    pub(super) fn each(
        &self,
        b: &mut Builder,
        pool: &Pool,
        f: &mut dyn FnMut(&mut Builder, &[IntExpr]) -> Stmt,
    ) -> Stmt {
        let mut at = self.begins.to_vec();
        let mut loops = Vec::new();
        for n in self.over {
            let (axis, tap) = (&pool.axes[*n], b.index_var("tap"));
            at[*n] = &at[*n] + &(&IntExpr::var(b.sym(tap).clone()) * axis.dilation);
            loops.push((tap, b.index(axis.taps)));
        }
        let cond = self.inside(b, pool, &at);
        let mut body = f(b, &at);
        if let Some(cond) = cond {
            body = Stmt::If { cond, then: Box::new(body), otherwise: None };
        }
        let min = b.index(0);
        for (tap, extent) in loops.into_iter().rev() {
            body = Stmt::loop_(tap, min, extent, LoopKind::Serial, body);
        }
        body
    }
}
