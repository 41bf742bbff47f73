//! Activations as compositions of the operators that define them, over plain and over bounded scalars alike.

use crate::DType;
use crate::op::{Activation, BinaryOp, CmpOp, UnaryOp};

/// Scalars that can be computed with.
pub(super) trait Ops {
    /// A scalar.
    type Value: Copy;
    /// A constant of a dtype.
    fn real(&self, dtype: DType, value: f64) -> Self::Value;
    /// dtype of a scalar.
    fn dtype(&self, x: Self::Value) -> DType;
    /// An operator of one value.
    fn unary(&self, op: UnaryOp, x: Self::Value) -> Self::Value;
    /// An operator of two values.
    fn binary(&self, op: BinaryOp, a: Self::Value, b: Self::Value) -> Self::Value;
    /// A comparison.
    fn compare(&self, op: CmpOp, a: Self::Value, b: Self::Value) -> Self::Value;
    /// A choice.
    fn select(&self, c: Self::Value, t: Self::Value, f: Self::Value) -> Self::Value;
}

/// The activation of `x`; each operator rounds to x's dtype.
pub(super) fn activation<O: Ops>(ops: &O, op: Activation, x: O::Value) -> O::Value {
    Composer { ops, x }.activation(op)
}

struct Composer<'o, O: Ops> {
    ops: &'o O,
    x: O::Value,
}

impl<O: Ops> Composer<'_, O> {
    fn real(&self, value: f64) -> O::Value {
        self.ops.real(self.ops.dtype(self.x), value)
    }

    fn mul(&self, a: O::Value, b: O::Value) -> O::Value {
        self.ops.binary(BinaryOp::Mul, a, b)
    }

    fn add(&self, a: O::Value, b: O::Value) -> O::Value {
        self.ops.binary(BinaryOp::Add, a, b)
    }

    fn clip(&self, x: O::Value, lo: f64, hi: f64) -> O::Value {
        let low = self.ops.binary(BinaryOp::Max, x, self.real(lo));
        self.ops.binary(BinaryOp::Min, low, self.real(hi))
    }

    /// x where x >= 0, else `below`; NaN takes `below`.
    fn keep_positive(&self, below: O::Value) -> O::Value {
        let positive = self.ops.compare(CmpOp::Ge, self.x, self.real(0.0));
        self.ops.select(positive, self.x, below)
    }

    fn elu(&self, alpha: f64) -> O::Value {
        let below = self.mul(self.real(alpha), self.ops.unary(UnaryOp::Expm1, self.x));
        self.keep_positive(below)
    }

    /// x/2 (1 + g).
    fn half_gate(&self, g: O::Value) -> O::Value {
        let gate = self.add(self.real(1.0), g);
        self.mul(self.mul(self.real(0.5), self.x), gate)
    }

    /// max(x, 0) + log1p(exp(-|x|)), which neither overflows nor cancels.
    fn softplus(&self) -> O::Value {
        let abs = self.ops.unary(UnaryOp::Abs, self.x);
        let small = self.ops.unary(UnaryOp::Exp, self.ops.unary(UnaryOp::Neg, abs));
        let above = self.ops.binary(BinaryOp::Max, self.x, self.real(0.0));
        self.add(above, self.ops.unary(UnaryOp::Log1p, small))
    }

    fn hard_sigmoid(&self, alpha: f64, beta: f64) -> O::Value {
        let line = self.add(self.mul(self.real(alpha), self.x), self.real(beta));
        self.clip(line, 0.0, 1.0)
    }

    fn activation(&self, op: Activation) -> O::Value {
        let x = self.x;
        match op {
            Activation::Relu => self.ops.binary(BinaryOp::Max, x, self.real(0.0)),
            Activation::Relu6 => self.clip(x, 0.0, 6.0),
            Activation::LeakyRelu { alpha } => self.keep_positive(self.mul(self.real(alpha.get()), x)),
            Activation::Elu { alpha } => self.elu(alpha.get()),
            Activation::Celu { alpha } => {
                let a = self.real(alpha.get());
                let scaled = self.ops.binary(BinaryOp::Div, x, a);
                self.keep_positive(self.mul(a, self.ops.unary(UnaryOp::Expm1, scaled)))
            }
            Activation::Selu { alpha, gamma } => self.mul(self.real(gamma.get()), self.elu(alpha.get())),
            Activation::ThresholdedRelu { alpha } => {
                let above = self.ops.compare(CmpOp::Gt, x, self.real(alpha.get()));
                self.ops.select(above, x, self.real(0.0))
            }
            Activation::Gelu => {
                let scaled = self.mul(x, self.real(std::f64::consts::FRAC_1_SQRT_2));
                self.half_gate(self.ops.unary(UnaryOp::Erf, scaled))
            }
            Activation::GeluTanh => {
                let cube = self.mul(self.mul(x, x), x);
                let sum = self.add(x, self.mul(self.real(0.044715), cube));
                let inner = self.mul(self.real((2.0 / std::f64::consts::PI).sqrt()), sum);
                self.half_gate(self.ops.unary(UnaryOp::Tanh, inner))
            }
            Activation::Silu => self.mul(x, self.ops.unary(UnaryOp::Sigmoid, x)),
            Activation::Softplus => self.softplus(),
            Activation::Softsign => {
                let below = self.add(self.real(1.0), self.ops.unary(UnaryOp::Abs, x));
                self.ops.binary(BinaryOp::Div, x, below)
            }
            Activation::HardSigmoid { alpha, beta } => self.hard_sigmoid(alpha.get(), beta.get()),
            Activation::HardSwish => self.mul(x, self.hard_sigmoid(1.0 / 6.0, 0.5)),
            Activation::Mish => self.mul(x, self.ops.unary(UnaryOp::Tanh, self.softplus())),
        }
    }
}
