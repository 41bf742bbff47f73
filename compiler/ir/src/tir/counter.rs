//! Which arithmetic on `i32` is exact, by the ranges of loops alone: back ends tell compilers so, which then need not
//! reckon with wrapping.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Elem, Expr, ExprId, PrimFunc, Ty, VarId};
use crate::DType;
use crate::op::BinaryOp;

/// The least and the greatest value.
type Range = (i64, i64);

/// Ranges of the variables of loops that have been entered. A variable is bound once, so none is ever left.
#[derive(Debug, Default)]
pub struct Counters {
    loops: BTreeMap<VarId, Range>,
    known: RefCell<BTreeMap<ExprId, Option<Range>>>,
}

impl Counters {
    /// Enters a loop.
    pub fn enter(&mut self, func: &PrimFunc, var: VarId, min: ExprId, extent: ExprId) {
        let (Some((first, last)), Some((_, turns))) = (self.range(func, min), self.range(func, extent)) else { return };
        self.loops.insert(var, (first, last.saturating_add(turns.max(1) - 1)));
    }

    /// Whether a sum, difference or product of type `i32` cannot wrap.
    pub fn exact(&self, func: &PrimFunc, id: ExprId) -> bool {
        is_narrow(func.exprs.ty(id)) && self.range(func, id).is_some()
    }

    /// The range of an integer, if it is known.
    fn range(&self, func: &PrimFunc, id: ExprId) -> Option<Range> {
        if let Some(known) = self.known.borrow().get(&id) {
            return *known;
        }
        let found = self.find(func, id).filter(|range| fits(func.exprs.ty(id), *range));
        self.known.borrow_mut().insert(id, found);
        found
    }

    fn find(&self, func: &PrimFunc, id: ExprId) -> Option<Range> {
        let of = |id: &ExprId| self.range(func, *id);
        match func.exprs.get(id) {
            Expr::Var(var) => self.loops.get(var).copied(),
            Expr::Cast(_, x) if matches!(func.exprs.ty(*x).elem, Elem::Scalar(DType::I32) | Elem::Index) => of(x),
            Expr::Binary(op, x, y) => combined(*op, of(x)?, of(y)?),
            Expr::Select(_, x, y) | Expr::If(_, x, y) => {
                let (x, y) = (of(x)?, of(y)?);
                Some((x.0.min(y.0), x.1.max(y.1)))
            }
            Expr::Broadcast(x, _) => of(x),
            _ => func.literal(id).map(|n| (n, n)),
        }
    }
}

fn is_narrow(ty: Ty) -> bool {
    ty.elem == Elem::Scalar(DType::I32)
}

fn fits(ty: Ty, (lo, hi): Range) -> bool {
    match ty.elem {
        Elem::Index => true,
        Elem::Scalar(_) => is_narrow(ty) && i32::try_from(lo).is_ok() && i32::try_from(hi).is_ok(),
    }
}

/// The range of a result; none where 64 bits do not hold it.
fn combined(op: BinaryOp, (a, b): Range, (c, d): Range) -> Option<Range> {
    match op {
        BinaryOp::Add => Some((a.checked_add(c)?, b.checked_add(d)?)),
        BinaryOp::Sub => Some((a.checked_sub(d)?, b.checked_sub(c)?)),
        BinaryOp::Mul => {
            let ends = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
            Some((ends.into_iter().min()?, ends.into_iter().max()?))
        }
        BinaryOp::Min => Some((a.min(c), b.min(d))),
        BinaryOp::Max => Some((a.max(c), b.max(d))),
        BinaryOp::DivEuclid if c == d && c > 0 => Some((a.div_euclid(c), b.div_euclid(c))),
        BinaryOp::RemEuclid if c == d && c > 0 => Some((0, c - 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_wrap_is_not_exact() {
        let text = "prim @f(in x: i32[4], out y: i32[4], n: i32) phase flat at 0:0 {\n  for i in 0i32 +: 4i32 serial {\n    \
                    y[i] = add(mul(i, 536870911i32), mul(i, 715827883i32))\n    y[i] = add(add(i, 1i32), add(i, n))\n  }\n}\n";
        let module = crate::Module::default();
        let func = super::super::parse(&module, text).expect("it parses").remove(0);
        let mut counters = Counters::default();
        let mut exact = Vec::new();
        func.body.walk(&mut |stmt| match stmt {
            super::super::Stmt::For { var, min, extent, .. } => counters.enter(&func, *var, *min, *extent),
            super::super::Stmt::Store { value, .. } => {
                for id in func.reachable([*value]) {
                    if matches!(func.exprs.get(id), Expr::Binary(..)) && counters.exact(&func, id) {
                        exact.push(super::super::print::expr_text(&func, id));
                    }
                }
            }
            _ => {}
        });
        assert_eq!(exact, ["mul(i, 536870911i32)", "add(i, 1i32)"]);
    }
}
