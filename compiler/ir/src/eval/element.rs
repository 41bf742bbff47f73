//! Elementwise operators on scalars that carry bounds.

use super::bounded::{self, Bounded};
use super::scalar_ops;
use crate::Scalar;
use crate::op::{BinaryOp, CmpOp, Compose, ElementOp, UnaryOp, activation};

/// Composition over bounded scalars.
struct Composition;

impl Compose for Composition {
    type Value = Bounded;
    fn real(&self, like: Bounded, value: f64) -> Bounded {
        // For an integer dtype too: the constants of its activations are whole.
        Bounded::exact(Scalar::float(like.value.dtype, value))
    }
    fn unary(&self, op: UnaryOp, x: Bounded) -> Bounded {
        bounded::unary(op, x)
    }
    fn binary(&self, op: BinaryOp, a: Bounded, b: Bounded) -> Bounded {
        bounded::binary(op, a, b)
    }
    fn compare(&self, op: CmpOp, a: Bounded, b: Bounded) -> Bounded {
        bounded::compare(op, a, b)
    }
    fn select(&self, c: Bounded, t: Bounded, f: Bounded) -> Bounded {
        bounded::select(c, t, f)
    }
}

/// The result of an elementwise operator; `args` are as many as the operator takes.
pub fn element(op: ElementOp, args: &[Bounded]) -> Bounded {
    let x = args[0];
    match op {
        ElementOp::Unary(op) => bounded::unary(op, x),
        ElementOp::Binary(op) => bounded::binary(op, x, args[1]),
        ElementOp::Compare(op) => bounded::compare(op, x, args[1]),
        ElementOp::Activation(op) => activation(&Composition, op, x),
        ElementOp::Cast(to) => bounded::cast(to, x),
        ElementOp::Select => bounded::select(x, args[1], args[2]),
        ElementOp::Clip => {
            let low = bounded::binary(BinaryOp::Max, x, args[1]);
            bounded::binary(BinaryOp::Min, low, args[2])
        }
        ElementOp::Prelu => {
            let below = bounded::binary(BinaryOp::Mul, args[1], x);
            let zero = Composition.real(x, 0.0);
            bounded::select(bounded::compare(CmpOp::Ge, x, zero), x, below)
        }
        ElementOp::NearestInt => bounded::nearest_int(x),
        ElementOp::QMultiplyShift => {
            let value = Bounded::exact(scalar_ops::q_multiply_shift(x.value, args[1].value, args[2].value));
            if args.iter().all(|arg| arg.is_exact()) { value } else { value.unknown() }
        }
    }
}
