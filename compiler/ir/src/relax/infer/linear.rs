//! Shapes of products and normalisations.

use super::element::same_dtype;
use super::shape::{broadcast, equal_help};
use super::{axis_error, show};
use crate::arith::Prover;
use crate::ops::{At, OpError, OpErrorKind, count};
use crate::relax::{TensorType, dim};

/// NumPy's matmul: a vector on the left is a row, on the right a column, and its axis is dropped from the result.
pub(super) fn matmul(prover: &Prover, args: &[TensorType; 2]) -> Result<TensorType, OpError> {
    let [a, b] = args;
    for (i, arg) in args.iter().enumerate() {
        if arg.dtype.is_bool() {
            let message = format!("expected numbers, found `{}`", show(arg));
            return Err(OpError::new(At::Arg(i), OpErrorKind::DType, message).help("convert first: `x as u8`"));
        }
        if arg.shape.is_empty() {
            let message = format!("expected rank 1 or more, found `{}`", show(arg));
            return Err(OpError::new(At::Arg(i), OpErrorKind::Rank, message).help("`*` multiplies by a scalar"));
        }
    }
    same_dtype(0, 1, args)?;
    let (ra, rb) = (a.shape.len(), b.shape.len());
    let inner_b = if rb == 1 { 0 } else { rb - 2 };
    let (ka, kb) = (&a.shape[ra - 1], &b.shape[inner_b]);
    if !dim::equal(prover, ka, kb) {
        let message = format!(
            "`{}` and `{}` do not multiply: expected `{ka}` at axis {inner_b} of the second, found `{kb}`",
            show(a),
            show(b)
        );
        return Err(OpError::new(At::Arg(1), OpErrorKind::Dims, message)
            .also(At::Arg(0), format!("`{ka}` is the last axis of `{}`", show(a)))
            .help(inner_help(prover, args)));
    }
    let batch_a = &a.shape[..ra.saturating_sub(2)];
    let batch_b = &b.shape[..rb.saturating_sub(2)];
    let mut shape = broadcast(prover, &[batch_a, batch_b])?;
    if ra > 1 {
        shape.push(a.shape[ra - 2].clone());
    }
    if rb > 1 {
        shape.push(b.shape[rb - 1].clone());
    }
    Ok(TensorType { dtype: a.dtype, shape })
}

/// If the second operand would fit transposed, that is the likely mistake.
fn inner_help(prover: &Prover, args: &[TensorType; 2]) -> String {
    let [a, b] = args;
    let (ka, last) = (&a.shape[a.shape.len() - 1], &b.shape[b.shape.len() - 1]);
    if b.shape.len() == 2 && dim::equal(prover, ka, last) {
        return "the second operand fits transposed: `matmul(a, transpose(b))`".to_string();
    }
    let inner = b.shape.len().saturating_sub(2);
    equal_help(ka, &b.shape[inner])
}

fn floats(i: usize, arg: &TensorType) -> Result<(), OpError> {
    if arg.dtype.is_float() {
        return Ok(());
    }
    let message = format!("expected floats, found `{}`", show(arg));
    Err(OpError::new(At::Arg(i), OpErrorKind::DType, message).help("convert first: `x as f32`"))
}

pub(super) fn softmax(axis: usize, x: TensorType) -> Result<TensorType, OpError> {
    floats(0, &x)?;
    if axis >= x.shape.len() {
        return Err(axis_error(At::Arg(0), axis, &x));
    }
    Ok(x)
}

pub(super) fn layer_norm(prover: &Prover, axis: usize, args: &[TensorType]) -> Result<TensorType, OpError> {
    if !(2..=3).contains(&args.len()) {
        let message = format!("expected x, scale and maybe bias, found {}", count(args.len(), "operand"));
        return Err(OpError::new(At::Call, OpErrorKind::Arity, message));
    }
    let x = &args[0];
    floats(0, x)?;
    if axis >= x.shape.len() {
        return Err(axis_error(At::Arg(0), axis, x));
    }
    for (i, arg) in args.iter().enumerate().skip(1) {
        same_dtype(0, i, args)?;
        let fits = arg.shape.len() <= x.shape.len()
            && arg
                .shape
                .iter()
                .rev()
                .zip(x.shape.iter().rev())
                .all(|(a, b)| dim::is_one(a) || dim::equal(prover, a, b));
        if !fits {
            let message = format!("`{}` does not broadcast to `{}`", show(arg), show(x));
            return Err(OpError::new(At::Arg(i), OpErrorKind::Broadcast, message)
                .also(At::Arg(0), "its shape comes from here")
                .help(format!("expected the extents of axes {axis}.. of the first operand")));
        }
    }
    Ok(x.clone())
}

/// x with four vectors of its channels.
pub(super) fn batch_norm(prover: &Prover, axis: usize, args: &[TensorType]) -> Result<TensorType, OpError> {
    let Some((x, channels)) = args.split_first().filter(|_| args.len() == 5) else {
        let message = format!("expected x, scale, bias, mean and variance, found {}", count(args.len(), "operand"));
        return Err(OpError::new(At::Call, OpErrorKind::Arity, message));
    };
    floats(0, x)?;
    if axis >= x.shape.len() {
        return Err(axis_error(At::Arg(0), axis, x));
    }
    for (i, arg) in channels.iter().enumerate() {
        same_dtype(0, i + 1, args)?;
        if !dim::same_shape(prover, &arg.shape, &x.shape[axis..=axis]) {
            let message = format!("expected the shape `[{}]`, found `{}`", x.shape[axis], show(arg));
            return Err(OpError::new(At::Arg(i + 1), OpErrorKind::Dims, message)
                .also(At::Arg(0), format!("axis {axis} of `{}`", show(x)))
                .help("one element per channel"));
        }
    }
    Ok(x.clone())
}
