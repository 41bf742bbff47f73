//! Shapes of operators that move elements, and broadcasting.

use super::element::same_dtype;
use super::{axis_error, show};
use crate::arith::{IntExpr, Prover};
use crate::ops::{At, OpError, OpErrorKind, count, non_negative, show_shape};
use crate::relax::{PadMode, SliceAxis, TensorType, dim};

/// NumPy's broadcasting: shapes are aligned at their last axes, and an extent that IS 1 repeats. A named dim never
/// broadcasts, and two extents are equal only where that is proven.
pub fn broadcast(prover: &Prover, shapes: &[&[IntExpr]]) -> Result<Vec<IntExpr>, OpError> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut out: Vec<IntExpr> = vec![dim::int(1); rank];
    let mut from = vec![0; rank];
    for (operand, shape) in shapes.iter().enumerate() {
        let skip = rank - shape.len();
        for (axis, extent) in shape.iter().enumerate() {
            let at = skip + axis;
            if dim::is_one(extent) || dim::equal(prover, &out[at], extent) && !dim::is_one(&out[at]) {
                continue;
            }
            if !dim::is_one(&out[at]) {
                return Err(mismatch(shapes, from[at], operand, axis, &out[at]));
            }
            out[at] = extent.clone();
            from[at] = operand;
        }
    }
    Ok(out)
}

/// Two extents that neither are equal nor broadcast.
fn mismatch(shapes: &[&[IntExpr]], first: usize, second: usize, axis: usize, expected: &IntExpr) -> OpError {
    let found = &shapes[second][axis];
    let message = format!(
        "`{}` and `{}` do not broadcast: axis {axis} of the second is `{found}`, expected `{expected}`",
        show_shape(shapes[first]),
        show_shape(shapes[second]),
    );
    OpError::new(At::Arg(second), OpErrorKind::Broadcast, message)
        .also(At::Arg(first), format!("`{expected}` comes from here"))
        .help(broadcast_help(expected, found))
}

/// How to make two extents broadcast.
fn broadcast_help(a: &IntExpr, b: &IntExpr) -> String {
    match (dim::as_int(a), dim::as_int(b)) {
        (Some(_), Some(_)) => "only an extent that is 1 repeats; reshape or slice one of them".to_string(),
        (None, _) | (_, None) => format!("{}; a named dim never repeats", equal_help(a, b)),
    }
}

/// How to make two extents equal.
pub(super) fn equal_help(a: &IntExpr, b: &IntExpr) -> String {
    match (dim::as_int(a), dim::as_int(b)) {
        (Some(_), Some(_)) => "reshape, slice or transpose one of them".to_string(),
        (None, Some(n)) => format!("if they are equal, fix the dim: `dims({a} = {n})`"),
        (Some(n), None) => format!("if they are equal, fix the dim: `dims({b} = {n})`"),
        (None, None) => format!("if they are equal, state it: `dims({a} == {b})`"),
    }
}

pub(super) fn reshape(prover: &Prover, shape: &[IntExpr], x: &TensorType) -> Result<TensorType, OpError> {
    let (old, new) = (dim::product(&x.shape), dim::product(shape));
    shape.iter().try_for_each(|extent| non_negative(prover, extent, At::Call))?;
    if dim::equal(prover, &old, &new) {
        return Ok(TensorType { dtype: x.dtype, shape: shape.to_vec() });
    }
    let message = format!("expected `{old}` elements as in `{}`, found `{new}` in `{}`", show(x), show_shape(shape));
    Err(OpError::new(At::Arg(0), OpErrorKind::Dims, message)
        .help("the products of the extents must be provably equal; write one extent as -1 to have it computed"))
}

pub(super) fn transpose(perm: &[usize], x: &TensorType) -> Result<TensorType, OpError> {
    let mut seen = perm.to_vec();
    seen.sort_unstable();
    if seen.iter().copied().eq(0..x.shape.len()) {
        let shape = perm.iter().map(|axis| x.shape[*axis].clone()).collect();
        return Ok(TensorType { dtype: x.dtype, shape });
    }
    let message = format!("expected each axis of `{}` once, found {perm:?}", show(x));
    let help = format!("a permutation of 0..{} names every axis", x.shape.len());
    Err(OpError::new(At::Attr("axes".into()), OpErrorKind::Axis, message).help(help))
}

pub(super) fn broadcast_to(prover: &Prover, shape: &[IntExpr], x: &TensorType) -> Result<TensorType, OpError> {
    let fits = x.shape.len() <= shape.len()
        && x.shape.iter().rev().zip(shape.iter().rev()).all(|(a, b)| dim::is_one(a) || dim::equal(prover, a, b));
    if fits {
        shape.iter().try_for_each(|extent| non_negative(prover, extent, At::Call))?;
        return Ok(TensorType { dtype: x.dtype, shape: shape.to_vec() });
    }
    let message = format!("`{}` does not broadcast to `{}`", show(x), show_shape(shape));
    Err(OpError::new(At::Arg(0), OpErrorKind::Broadcast, message)
        .help("axes align at the last; each extent is 1 or provably equal; a named dim never repeats"))
}

pub(super) fn concat(prover: &Prover, axis: usize, args: &[TensorType]) -> Result<TensorType, OpError> {
    let Some(first) = args.first() else {
        return Err(OpError::new(At::Call, OpErrorKind::Arity, "expected 1 tensor or more, found none"));
    };
    if axis >= first.shape.len() {
        return Err(axis_error(At::Arg(0), axis, first).help("`stack` joins along a new axis"));
    }
    let mut total = first.shape[axis].clone();
    for (i, arg) in args.iter().enumerate().skip(1) {
        same_dtype(0, i, args)?;
        if arg.shape.len() != first.shape.len() {
            let message = format!("expected rank {}, found `{}`", first.shape.len(), show(arg));
            return Err(OpError::new(At::Arg(i), OpErrorKind::Rank, message)
                .also(At::Arg(0), format!("the first is `{}`", show(first))));
        }
        for other in (0..first.shape.len()).filter(|other| *other != axis) {
            let (a, b) = (&first.shape[other], &arg.shape[other]);
            if !dim::equal(prover, a, b) {
                let message = format!("expected `{a}` at axis {other}, found `{b}` in `{}`", show(arg));
                return Err(OpError::new(At::Arg(i), OpErrorKind::Dims, message)
                    .also(At::Arg(0), format!("`{a}` comes from `{}`", show(first)))
                    .help(format!("only axis {axis} may differ; {}", equal_help(a, b))));
            }
        }
        total = &total + &arg.shape[axis];
    }
    let mut shape = first.shape.clone();
    shape[axis] = total;
    Ok(TensorType { dtype: first.dtype, shape })
}

/// The shape of a slice, with every index proven inside.
fn sliced(prover: &Prover, axes: &[SliceAxis], drop: &[usize], x: &TensorType) -> Result<Vec<IntExpr>, OpError> {
    if axes.len() != x.shape.len() {
        let message = format!("expected {} indices for `{}`, found {}", x.shape.len(), show(x), axes.len());
        return Err(OpError::new(At::Arg(0), OpErrorKind::Rank, message).help("`..` keeps a whole axis"));
    }
    let mut shape = Vec::new();
    for (axis, part) in axes.iter().enumerate() {
        slice_inside(prover, part, axis, x)?;
        if !drop.contains(&axis) {
            shape.push(part.extent.clone());
        } else if !dim::is_one(&part.extent) {
            let message = format!("axis {axis} is dropped but has extent `{}`", part.extent);
            return Err(OpError::new(At::Call, OpErrorKind::Axis, message));
        }
    }
    Ok(shape)
}

/// An error unless the first and the last index of a part lie inside the axis and its extent is not negative.
fn slice_inside(prover: &Prover, part: &SliceAxis, axis: usize, x: &TensorType) -> Result<(), OpError> {
    if part.step == 0 {
        return Err(OpError::new(At::Call, OpErrorKind::Range, "a step of 0 never ends").help("step by 1 or more"));
    }
    non_negative(prover, &part.extent, At::Call)?;
    if dim::as_int(&part.extent) == Some(0) {
        return Ok(());
    }
    let extent = &x.shape[axis];
    let end = &part.begin + &(&(&part.extent - &dim::int(1)) * &dim::int(part.step));
    let (low, high) = if part.step > 0 { (&part.begin, &end) } else { (&end, &part.begin) };
    let inside = dim::at_most(prover, &dim::int(0), low) && dim::at_most(prover, &(high + &dim::int(1)), extent);
    if inside {
        return Ok(());
    }
    let message =
        format!("indices `{low}` to `{high}` are not proven to lie in `0..{extent}`, axis {axis} of `{}`", show(x));
    Err(OpError::new(At::Arg(0), OpErrorKind::Range, message).help("state a fact that bounds them, or slice less"))
}

pub(super) fn slice(
    prover: &Prover,
    axes: &[SliceAxis],
    drop: &[usize],
    x: &TensorType,
) -> Result<TensorType, OpError> {
    Ok(TensorType { dtype: x.dtype, shape: sliced(prover, axes, drop, x)? })
}

pub(super) fn slice_update(
    prover: &Prover,
    axes: &[SliceAxis],
    drop: &[usize],
    args: &[TensorType; 2],
) -> Result<TensorType, OpError> {
    let [dst, src] = args;
    let shape = sliced(prover, axes, drop, dst)?;
    same_dtype(0, 1, args)?;
    if !src.shape.is_empty() && !dim::same_shape(prover, &shape, &src.shape) {
        let message = format!("expected shape `{}`, found `{}`", show_shape(&shape), show(src));
        return Err(OpError::new(At::Arg(1), OpErrorKind::Dims, message)
            .help("the value has the shape of the part it replaces, or is a scalar"));
    }
    Ok(dst.clone())
}

pub(super) fn pad(
    prover: &Prover,
    mode: PadMode,
    before: &[IntExpr],
    after: &[IntExpr],
    args: &[TensorType],
) -> Result<TensorType, OpError> {
    let wanted = if mode == PadMode::Constant { 2 } else { 1 };
    if args.len() != wanted {
        let message = format!("expected {}, found {}", count(wanted, "operand"), args.len());
        return Err(OpError::new(At::Call, OpErrorKind::Arity, message));
    }
    let x = &args[0];
    if before.len() != x.shape.len() || after.len() != x.shape.len() {
        let message = format!("expected a width per axis of `{}`, found {}", show(x), before.len());
        return Err(OpError::new(At::Attr("pad_width".into()), OpErrorKind::Rank, message)
            .help("write `pad_width = [[before, after], …]`, one pair per axis"));
    }
    if let [_, value] = args {
        same_dtype(0, 1, args)?;
        if !value.shape.is_empty() {
            let message = format!("expected a scalar to pad with, found `{}`", show(value));
            return Err(OpError::new(At::Arg(1), OpErrorKind::Rank, message));
        }
    }
    let mut shape = Vec::new();
    for (axis, extent) in x.shape.iter().enumerate() {
        pad_widths(prover, mode, axis, &before[axis], &after[axis], x)?;
        shape.push(&(&before[axis] + extent) + &after[axis]);
    }
    Ok(TensorType { dtype: x.dtype, shape })
}

/// An error unless both widths are proven not negative and the mode has elements to fill with.
fn pad_widths(
    prover: &Prover,
    mode: PadMode,
    axis: usize,
    before: &IntExpr,
    after: &IntExpr,
    x: &TensorType,
) -> Result<(), OpError> {
    let at = || At::Attr("pad_width".into());
    for width in [before, after] {
        if !dim::at_most(prover, &dim::int(0), width) {
            let message = format!("width `{width}` of axis {axis} is not proven to be 0 or more");
            return Err(OpError::new(at(), OpErrorKind::Range, message).help("slice to remove elements"));
        }
        if dim::as_int(width) == Some(0) {
            continue;
        }
        let extent = &x.shape[axis];
        let least = match mode {
            PadMode::Constant => continue,
            PadMode::Edge | PadMode::Wrap => dim::int(1),
            PadMode::Reflect => dim::int(2),
        };
        if !dim::at_most(prover, &least, extent) {
            let message = format!("axis {axis} of `{}` is not proven to have {least} elements to fill from", show(x));
            return Err(OpError::new(At::Arg(0), OpErrorKind::Range, message)
                .help(format!("state a fact: `dims({extent} >= {least})`")));
        }
    }
    Ok(())
}
