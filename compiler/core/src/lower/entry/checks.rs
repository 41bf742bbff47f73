//! Facts that are checked when the function runs.

use tenfold_ir::Scalar;
use tenfold_ir::arith::{Fact, IntExpr};
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::ExprId;

use super::Entry;

impl Entry<'_> {
    /// The fact as a condition.
    pub(super) fn fact(&mut self, fact: &Fact) -> ExprId {
        match fact {
            Fact::NonNegative(e) => self.compared(CmpOp::Ge, e),
            Fact::Zero(e) => self.compared(CmpOp::Eq, e),
            Fact::NonZero(e) => self.compared(CmpOp::Ne, e),
            Fact::Divisible(e, 0) => self.compared(CmpOp::Eq, e),
            Fact::Divisible(e, by) => self.compared(CmpOp::Eq, &e.floor_mod(&IntExpr::from(*by))),
            Fact::And(all) => self.joined(all, true),
            Fact::Or(any) => self.joined(any, false),
        }
    }

    fn compared(&mut self, op: CmpOp, e: &IntExpr) -> ExprId {
        let (e, zero) = (self.b.int_expr(e), self.b.index(0));
        self.b.compare(op, e, zero)
    }

    fn joined(&mut self, facts: &[Fact], all: bool) -> ExprId {
        let unit = self.b.scalar(Scalar::bool(all));
        facts.iter().fold(unit, |held, fact| {
            let fact = self.fact(fact);
            if all { self.b.and(held, fact) } else { self.b.or(held, fact) }
        })
    }
}
