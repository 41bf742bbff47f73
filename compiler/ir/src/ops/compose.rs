//! Short forms for operators that are compositions of others.

use super::error::{At, OpError, OpErrorKind};
use super::{Arg, AttrValue, OpCall};
use crate::arith::IntExpr;
use crate::op::{BinaryOp, CmpOp, ElementOp, ReduceOp, UnaryOp};
use crate::relax::{Builder, Op, SliceAxis, TensorType, ValueId, dim};
use crate::{DType, Scalar};

type Made = Result<ValueId, OpError>;

/// One operand.
pub(super) fn unary(b: &mut Builder, op: UnaryOp, x: ValueId) -> Made {
    b.element(ElementOp::Unary(op), &[x])
}

/// Two operands, broadcast.
pub(super) fn binary(b: &mut Builder, op: BinaryOp, x: ValueId, y: ValueId) -> Made {
    b.element(ElementOp::Binary(op), &[x, y])
}

/// `x + y`.
pub(super) fn add(b: &mut Builder, x: ValueId, y: ValueId) -> Made {
    binary(b, BinaryOp::Add, x, y)
}

/// `x - y`.
pub(super) fn sub(b: &mut Builder, x: ValueId, y: ValueId) -> Made {
    binary(b, BinaryOp::Sub, x, y)
}

/// `x * y`.
pub(super) fn mul(b: &mut Builder, x: ValueId, y: ValueId) -> Made {
    binary(b, BinaryOp::Mul, x, y)
}

/// `x / y`.
pub(super) fn div(b: &mut Builder, x: ValueId, y: ValueId) -> Made {
    binary(b, BinaryOp::Div, x, y)
}

/// A comparison.
pub(super) fn compare(b: &mut Builder, op: CmpOp, x: ValueId, y: ValueId) -> Made {
    b.element(ElementOp::Compare(op), &[x, y])
}

/// `x` where the condition holds, else `y`.
pub(super) fn select(b: &mut Builder, cond: ValueId, x: ValueId, y: ValueId) -> Made {
    b.element(ElementOp::Select, &[cond, x, y])
}

/// `x op number`, the number being of x's dtype.
pub(super) fn with(b: &mut Builder, op: BinaryOp, x: ValueId, number: f64) -> Made {
    let number = b.scalar(Scalar::float(b.tensor(x).dtype, number));
    binary(b, op, x, number)
}

/// Conversion as Rust's `as`; nothing where it has the dtype.
pub(super) fn cast(b: &mut Builder, dtype: DType, x: ValueId) -> Made {
    if b.tensor(x).dtype == dtype { Ok(x) } else { b.element(ElementOp::Cast(dtype), &[x]) }
}

/// Another shape; nothing where it has the shape.
pub(super) fn reshape(b: &mut Builder, x: ValueId, shape: &[IntExpr]) -> Made {
    if b.tensor(x).shape == shape { Ok(x) } else { b.emit(Op::Reshape { shape: shape.to_vec() }, &[x]) }
}

/// Axes permuted; nothing where they stay.
pub(super) fn transpose(b: &mut Builder, x: ValueId, perm: &[usize]) -> Made {
    let stays = perm.iter().enumerate().all(|(i, axis)| i == *axis);
    if stays { Ok(x) } else { b.emit(Op::Transpose { perm: perm.to_vec() }, &[x]) }
}

/// A reduction.
pub(super) fn reduce(b: &mut Builder, op: ReduceOp, x: ValueId, axes: &[usize], keepdims: bool) -> Made {
    b.emit(Op::Reduce { op, axes: axes.to_vec(), keepdims }, &[x])
}

/// `0, 1, …` along one axis.
pub(super) fn arange(b: &mut Builder, dtype: DType, extent: &IntExpr) -> Made {
    b.emit(Op::Arange { start: dim::int(0), step: dim::int(1), extent: extent.clone(), dtype }, &[])
}

/// An index value as a scalar.
pub(super) fn index_value(b: &mut Builder, dtype: DType, expr: &IntExpr) -> Made {
    match dim::as_int(expr) {
        Some(n) => Ok(b.scalar(Scalar::float(dtype, n as f64))),
        None => b.emit(Op::IndexValue { expr: expr.clone(), dtype }, &[]),
    }
}

/// What halves are computed in, and every other dtype as it is.
pub(super) fn working(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}

/// An axis moved to another place: what `transpose` takes, and what takes it back.
pub(super) fn moved(rank: usize, from: usize, to: usize) -> (Vec<usize>, Vec<usize>) {
    let mut perm: Vec<usize> = (0..rank).filter(|axis| *axis != from).collect();
    perm.insert(to, from);
    let mut back = vec![0; rank];
    for (i, axis) in perm.iter().enumerate() {
        back[*axis] = i;
    }
    (perm, back)
}

/// Every axis whole.
pub(super) fn whole(x: &TensorType) -> Vec<SliceAxis> {
    let axis = |extent: &IntExpr| SliceAxis { begin: dim::int(0), extent: extent.clone(), step: 1 };
    x.shape.iter().map(axis).collect()
}

/// `begin..begin + extent` of one axis.
pub(super) fn part(b: &mut Builder, x: ValueId, axis: usize, begin: &IntExpr, extent: &IntExpr) -> Made {
    let mut axes = whole(b.tensor(x));
    axes[axis] = SliceAxis { begin: begin.clone(), extent: extent.clone(), step: 1 };
    b.emit(Op::Slice { axes, drop: Vec::new() }, &[x])
}

/// One axis in reverse order.
pub(super) fn flip(b: &mut Builder, x: ValueId, axis: usize) -> Made {
    let mut axes = whole(b.tensor(x));
    axes[axis] = SliceAxis { begin: &axes[axis].extent - &dim::int(1), extent: axes[axis].extent.clone(), step: -1 };
    b.emit(Op::Slice { axes, drop: Vec::new() }, &[x])
}

/// Tensors joined along an axis.
pub(super) fn concat(b: &mut Builder, axis: usize, parts: &[ValueId]) -> Made {
    b.emit(Op::Concat { axis }, parts)
}

/// Elements repeated: `apart` has an axis of one element for each axis that is longer in `wide`, and belongs to the axis before it
/// in `out`.
pub(super) fn repeat(b: &mut Builder, x: ValueId, apart: &[IntExpr], wide: Vec<IntExpr>, out: &[IntExpr]) -> Made {
    let x = reshape(b, x, apart)?;
    let x = b.emit(Op::BroadcastTo { shape: wide }, &[x])?;
    reshape(b, x, out)
}

/// One number all over.
pub(super) fn full(b: &mut Builder, shape: &[IntExpr], value: Scalar) -> Made {
    let value = b.scalar(value);
    b.emit(Op::Full { shape: shape.to_vec() }, &[value])
}

/// An operator by its name, on tensors.
pub(super) fn call_of(b: &mut Builder, name: &str, args: &[ValueId], attrs: &[(&str, AttrValue)]) -> Made {
    let Some(def) = super::lookup(name) else {
        return Err(OpError::new(At::Call, OpErrorKind::Operand, format!("there is no operator `{name}`")));
    };
    let args = args.iter().map(|arg| Arg::Value(*arg)).collect();
    let attrs = attrs.iter().map(|(name, value)| ((*name).to_string(), value.clone())).collect();
    super::apply(b, def, &OpCall { args, attrs, dtype: None })
}
