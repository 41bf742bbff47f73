//! The element operators that are compositions, written out over tir expressions.

use std::cell::RefCell;

use super::{Builder, ExprId, Intrinsic, Ty};
use crate::DType;
use crate::op::{BinaryOp, CmpOp, Compose, ElementOp, UnaryOp, activation};

impl Builder {
    /// An element operator applied to scalars. `args` has as many as the operator takes, of agreeing types.
    pub fn element(&mut self, op: ElementOp, args: &[ExprId]) -> ExprId {
        match (op, args) {
            (ElementOp::Unary(op), [a]) => self.unary(op, *a),
            (ElementOp::Binary(op), [a, b]) => self.binary(op, *a, *b),
            (ElementOp::Compare(op), [a, b]) => self.compare(op, *a, *b),
            (ElementOp::Activation(op), [a]) => activation(&Expressions(RefCell::new(self)), op, *a),
            (ElementOp::Cast(dtype), [a]) => self.cast(dtype, *a),
            (ElementOp::Select, [c, t, f]) => self.select(*c, *t, *f),
            (ElementOp::Clip, [x, lo, hi]) => {
                let low = self.binary(BinaryOp::Max, *x, *lo);
                self.binary(BinaryOp::Min, low, *hi)
            }
            (ElementOp::Prelu, [x, slope]) => {
                let scaled = self.mul(*slope, *x);
                self.by_sign(*x, *x, scaled)
            }
            (ElementOp::QMultiplyShift, [x, m, s]) => {
                self.call(Intrinsic::QMultiplyShift, vec![*x, *m, *s], Ty::scalar(DType::I32))
            }
            (ElementOp::NearestInt, [x]) => self.call(Intrinsic::NearestInt, vec![*x], Ty::scalar(DType::I32)),
            // The front ends check the number of operands; a wrong one is a bug that the verifier reports.
            _ => args.first().copied().unwrap_or_else(|| self.index(0)),
        }
    }

    /// A float literal of `like`'s dtype.
    fn real(&mut self, like: ExprId, value: f64) -> ExprId {
        match self.ty(like).elem {
            super::Elem::Scalar(dtype) => self.float(dtype, value),
            super::Elem::Index => self.index(value as i64),
        }
    }

    /// `above` where x >= 0, else `below`; NaN takes `below`.
    fn by_sign(&mut self, x: ExprId, above: ExprId, below: ExprId) -> ExprId {
        let zero = self.real(x, 0.0);
        let cond = self.compare(CmpOp::Ge, x, zero);
        self.select(cond, above, below)
    }
}

/// A builder that activations are composed over.
struct Expressions<'b>(RefCell<&'b mut Builder>);

impl Compose for Expressions<'_> {
    type Value = ExprId;
    fn real(&self, like: ExprId, value: f64) -> ExprId {
        self.0.borrow_mut().real(like, value)
    }
    fn unary(&self, op: UnaryOp, x: ExprId) -> ExprId {
        self.0.borrow_mut().unary(op, x)
    }
    fn binary(&self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        self.0.borrow_mut().binary(op, a, b)
    }
    fn compare(&self, op: CmpOp, a: ExprId, b: ExprId) -> ExprId {
        self.0.borrow_mut().compare(op, a, b)
    }
    fn select(&self, c: ExprId, t: ExprId, f: ExprId) -> ExprId {
        self.0.borrow_mut().select(c, t, f)
    }
}
