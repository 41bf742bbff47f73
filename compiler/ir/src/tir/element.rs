//! The element operators that are compositions, written out over tir expressions.

use super::{Builder, ExprId, Intrinsic, Ty};
use crate::DType;
use crate::op::{Activation, BinaryOp, CmpOp, ElementOp, UnaryOp};

impl Builder {
    /// An element operator applied to scalars. `args` has as many as the operator takes, of agreeing types.
    pub fn element(&mut self, op: ElementOp, args: &[ExprId]) -> ExprId {
        match (op, args) {
            (ElementOp::Unary(op), [a]) => self.unary(op, *a),
            (ElementOp::Binary(op), [a, b]) => self.binary(op, *a, *b),
            (ElementOp::Compare(op), [a, b]) => self.compare(op, *a, *b),
            (ElementOp::Activation(f), [a]) => self.activation(f, *a),
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

    fn activation(&mut self, f: Activation, x: ExprId) -> ExprId {
        match f {
            Activation::Relu => {
                let zero = self.real(x, 0.0);
                self.binary(BinaryOp::Max, x, zero)
            }
            Activation::Relu6 => {
                let (zero, six) = (self.real(x, 0.0), self.real(x, 6.0));
                self.element(ElementOp::Clip, &[x, zero, six])
            }
            Activation::LeakyRelu { alpha } => {
                let a = self.real(x, alpha.get());
                let below = self.mul(a, x);
                self.by_sign(x, x, below)
            }
            Activation::Elu { alpha } => self.elu(x, alpha.get()),
            Activation::Celu { alpha } => {
                let a = self.real(x, alpha.get());
                let scaled = self.div(x, a);
                let grown = self.unary(UnaryOp::Expm1, scaled);
                let below = self.mul(a, grown);
                self.by_sign(x, x, below)
            }
            Activation::Selu { alpha, gamma } => {
                let inner = self.elu(x, alpha.get());
                let g = self.real(x, gamma.get());
                self.mul(g, inner)
            }
            Activation::ThresholdedRelu { alpha } => {
                let (a, zero) = (self.real(x, alpha.get()), self.real(x, 0.0));
                let cond = self.compare(CmpOp::Gt, x, a);
                self.select(cond, x, zero)
            }
            Activation::Gelu => {
                let c = self.real(x, std::f64::consts::FRAC_1_SQRT_2);
                let scaled = self.mul(x, c);
                let erf = self.unary(UnaryOp::Erf, scaled);
                self.half_gate(x, erf)
            }
            Activation::GeluTanh => {
                let (c, k) = (self.real(x, 0.044715), self.real(x, (2.0 / std::f64::consts::PI).sqrt()));
                let square = self.mul(x, x);
                let cube = self.mul(square, x);
                let cubic = self.mul(c, cube);
                let sum = self.add(x, cubic);
                let inner = self.mul(k, sum);
                let tanh = self.unary(UnaryOp::Tanh, inner);
                self.half_gate(x, tanh)
            }
            Activation::Silu => {
                let gate = self.unary(UnaryOp::Sigmoid, x);
                self.mul(x, gate)
            }
            Activation::Softplus => self.softplus(x),
            Activation::Softsign => {
                let (one, abs) = (self.real(x, 1.0), self.unary(UnaryOp::Abs, x));
                let below = self.add(one, abs);
                self.div(x, below)
            }
            Activation::HardSigmoid { alpha, beta } => self.hard_sigmoid(x, alpha.get(), beta.get()),
            Activation::HardSwish => {
                let gate = self.hard_sigmoid(x, 1.0 / 6.0, 0.5);
                self.mul(x, gate)
            }
            Activation::Mish => {
                let soft = self.softplus(x);
                let gate = self.unary(UnaryOp::Tanh, soft);
                self.mul(x, gate)
            }
        }
    }

    /// x (1 + g) / 2.
    fn half_gate(&mut self, x: ExprId, g: ExprId) -> ExprId {
        let (one, half) = (self.real(x, 1.0), self.real(x, 0.5));
        let gate = self.add(one, g);
        let halved = self.mul(half, x);
        self.mul(halved, gate)
    }

    fn elu(&mut self, x: ExprId, alpha: f64) -> ExprId {
        let a = self.real(x, alpha);
        let grown = self.unary(UnaryOp::Expm1, x);
        let below = self.mul(a, grown);
        self.by_sign(x, x, below)
    }

    /// log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which neither overflows nor cancels.
    fn softplus(&mut self, x: ExprId) -> ExprId {
        let (zero, abs) = (self.real(x, 0.0), self.unary(UnaryOp::Abs, x));
        let neg = self.unary(UnaryOp::Neg, abs);
        let exp = self.unary(UnaryOp::Exp, neg);
        let log = self.unary(UnaryOp::Log1p, exp);
        let above = self.binary(BinaryOp::Max, x, zero);
        self.add(above, log)
    }

    fn hard_sigmoid(&mut self, x: ExprId, alpha: f64, beta: f64) -> ExprId {
        let (a, b) = (self.real(x, alpha), self.real(x, beta));
        let scaled = self.mul(a, x);
        let line = self.add(scaled, b);
        let (zero, one) = (self.real(x, 0.0), self.real(x, 1.0));
        self.element(ElementOp::Clip, &[line, zero, one])
    }
}
