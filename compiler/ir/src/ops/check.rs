//! What operators ask of their operands, each with its error text.

use super::error::{At, OpError, OpErrorKind, show_shape, show_tensor};
use crate::arith::{IntExpr, Prover};
use crate::relax::{Builder, TensorType, dim};

/// An operand of the wrong dtype.
pub(super) fn dtype_error(i: usize, expected: &str, x: &TensorType) -> OpError {
    let message = format!("expected {expected}, found `{}`", show_tensor(x));
    OpError::new(At::Arg(i), OpErrorKind::DType, message)
}

/// An operand of the wrong rank.
pub(super) fn rank_error(i: usize, expected: &str, x: &TensorType) -> OpError {
    let message = format!("expected rank {expected}, found `{}`", show_tensor(x));
    OpError::new(At::Arg(i), OpErrorKind::Rank, message)
}

/// An error unless operand `i` holds floats.
pub(super) fn floats(i: usize, x: &TensorType) -> Result<(), OpError> {
    if x.dtype.is_float() { Ok(()) } else { Err(dtype_error(i, "floats", x).help("convert first: `x as f32`")) }
}

/// An error unless operand `i` holds integers.
pub(super) fn integers(i: usize, x: &TensorType) -> Result<(), OpError> {
    if x.dtype.is_int() { Ok(()) } else { Err(dtype_error(i, "integers", x).help("convert first: `x as i64`")) }
}

/// An error if operand `i` holds elements that are stored and not computed with.
pub(crate) fn computed(i: usize, x: &TensorType) -> Result<(), OpError> {
    if x.dtype.is_stored() {
        let message = format!("`{}` is stored, and no operator computes with its elements", show_tensor(x));
        return Err(OpError::new(At::Arg(i), OpErrorKind::DType, message).help("convert first: `x as f32`"));
    }
    Ok(())
}

/// An error if operand `i` holds bools.
pub(super) fn numbers(i: usize, x: &TensorType) -> Result<(), OpError> {
    if x.dtype.is_bool() || x.dtype.is_stored() {
        return Err(dtype_error(i, "numbers", x).help("convert first: `x as u8`"));
    }
    Ok(())
}

/// An error unless operand `i` has the dtype of operand 0.
pub(super) fn same_dtype(i: usize, x: &TensorType, first: &TensorType) -> Result<(), OpError> {
    if x.dtype == first.dtype {
        return Ok(());
    }
    let error = dtype_error(i, &format!("`{}`", first.dtype), x);
    Err(error.help(format!("convert it: `as {}`", first.dtype)))
}

/// An error unless operand `i` has that rank.
pub(super) fn rank(i: usize, x: &TensorType, expected: usize) -> Result<(), OpError> {
    if x.shape.len() == expected { Ok(()) } else { Err(rank_error(i, &expected.to_string(), x)) }
}

/// An error unless operand `i` has that rank or more.
pub(super) fn rank_at_least(i: usize, x: &TensorType, expected: usize) -> Result<(), OpError> {
    if x.shape.len() >= expected { Ok(()) } else { Err(rank_error(i, &format!("{expected} or more"), x)) }
}

/// An error unless axis `axis` of operand `i` provably has that extent.
pub(super) fn extent(b: &Builder, i: usize, x: &TensorType, axis: usize, expected: &IntExpr) -> Result<(), OpError> {
    let found = &x.shape[axis];
    if dim::equal(&b.prover, found, expected) {
        return Ok(());
    }
    let message = format!("expected `{expected}` at axis {axis}, found `{found}` in `{}`", show_tensor(x));
    let error = OpError::new(At::Arg(i), OpErrorKind::Dims, message);
    let fixed = dim::as_int(found).is_some() && dim::as_int(expected).is_some();
    Err(if fixed { error } else { error.help(format!("state a fact: `dims({found} == {expected})`")) })
}

/// An error unless operand `i` has that shape.
pub(super) fn shape(b: &Builder, i: usize, x: &TensorType, expected: &[IntExpr]) -> Result<(), OpError> {
    if x.shape.len() != expected.len() {
        let message = format!("expected the shape `{}`, found `{}`", show_shape(expected), show_tensor(x));
        return Err(OpError::new(At::Arg(i), OpErrorKind::Dims, message));
    }
    (0..expected.len()).try_for_each(|axis| extent(b, i, x, axis, &expected[axis]))
}

/// An error unless the last two axes of operand `i` are equal.
pub(super) fn square(b: &Builder, i: usize, x: &TensorType) -> Result<(), OpError> {
    rank_at_least(i, x, 2)?;
    let rank = x.shape.len();
    if dim::equal(&b.prover, &x.shape[rank - 2], &x.shape[rank - 1]) {
        return Ok(());
    }
    let message = format!("expected a square matrix, found `{}`", show_tensor(x));
    Err(OpError::new(At::Arg(i), OpErrorKind::Dims, message))
}

/// Whether an axis surely has an element.
pub(super) fn some(b: &Builder, extent: &IntExpr) -> bool {
    dim::at_most(&b.prover, &dim::int(1), extent)
}

/// A wrong value of an attribute.
pub(super) fn attr_error(name: &str, message: impl Into<String>) -> OpError {
    OpError::new(At::Attr(name.to_string()), OpErrorKind::Attribute, message)
}

/// An error unless an extent that is asked for is proven not negative.
pub(crate) fn non_negative(prover: &Prover, extent: &IntExpr, at: At) -> Result<(), OpError> {
    if dim::at_most(prover, &dim::int(0), extent) {
        return Ok(());
    }
    let (message, help) = match dim::as_int(extent) {
        Some(n) => (format!("the extent {n} is below 0"), "an extent is 0 or more".into()),
        None => {
            let message = format!("extent `{extent}` is not proven to be 0 or more");
            (message, format!("state a fact: `dims({extent} >= 0)`"))
        }
    };
    Err(OpError::new(at, OpErrorKind::Range, message).help(help))
}

/// An error unless an extent of operand `i` is proven to be 1 or more.
pub(super) fn not_empty(b: &Builder, i: usize, x: &TensorType, extent: &IntExpr) -> Result<(), OpError> {
    if some(b, extent) {
        return Ok(());
    }
    let message = format!("`{extent}` of `{}` is not proven to be 1 or more", show_tensor(x));
    Err(OpError::new(At::Arg(i), OpErrorKind::Range, message).help(format!("state a fact: `dims({extent} >= 1)`")))
}
