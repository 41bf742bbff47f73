//! Operators that move elements and change shapes.

use super::call::{
    axes_attr, axis_attr, extents, float_attr, int_attr, ints_attr, list, missing, new_axis_attr, pairs_attr, shape,
    tensor, word_attr,
};
use super::compose::whole;
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::{AttrDef, AttrValue, OpCall, OpDef};
use crate::Scalar;
use crate::arith::IntExpr;
use crate::relax::{Builder, Op, PadMode, TensorType, ValueId, dim};

fn reshape(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let mut shape = extents(call, 1)?;
    let open: Vec<usize> = (0..shape.len()).filter(|i| dim::as_int(&shape[*i]) == Some(-1)).collect();
    match open.as_slice() {
        [] => {}
        [one] => shape[*one] = open_extent(b, &ty, &shape, *one)?,
        _ => {
            let error = OpError::new(At::Arg(1), OpErrorKind::Operand, "two extents are -1");
            return Err(error.help("only one extent can be computed from the others"));
        }
    }
    b.emit(Op::Reshape { shape }, &[x]).map_err(|error| at_shape(error, &ty))
}

/// Errors about a shape point at it and show what it is for.
fn at_shape(mut error: OpError, x: &TensorType) -> OpError {
    error.at = At::Arg(1);
    error.also(At::Arg(0), format!("this is `{}`", show_tensor(x)))
}

/// The extent that makes the number of elements fit: what is left of `x`'s extents once those written are taken out.
fn open_extent(b: &Builder, x: &TensorType, shape: &[IntExpr], open: usize) -> Result<IntExpr, OpError> {
    let mut left = x.shape.clone();
    let mut divisor = 1i64;
    let mut unknown = false;
    for extent in shape.iter().enumerate().filter(|(i, _)| *i != open).map(|(_, extent)| extent) {
        if let Some(at) = left.iter().position(|l| dim::equal(&b.prover, l, extent)) {
            left.remove(at);
        } else if let Some(n) = dim::as_int(extent) {
            divisor = divisor.saturating_mul(n);
        } else {
            unknown = true;
        }
    }
    let product = dim::product(&left);
    let quotient = match (divisor, dim::as_int(&product)) {
        _ if unknown => None,
        (1, _) => Some(product),
        (n, Some(p)) if n > 0 && p % n == 0 => Some(dim::int(p / n)),
        (n, None) if n > 0 => Some(dim::div_floor(&product, n)),
        _ => None,
    };
    quotient.ok_or_else(|| {
        let message = format!("the extents written do not divide the elements of `{}`", show_tensor(x));
        OpError::new(At::Arg(1), OpErrorKind::Dims, message).help("write every extent")
    })
}

fn flatten(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let rank = ty.shape.len() as i64;
    let axis = int_attr(call, "axis")?.unwrap_or(1);
    if !(-rank..=rank).contains(&axis) {
        let message = format!("`{}` has no axis {axis}: its rank is {rank}", show_tensor(&ty));
        return Err(OpError::new(At::Attr("axis".into()), OpErrorKind::Axis, message)
            .help(format!("axes go from {} to {rank}", -rank)));
    }
    let axis = if axis < 0 { axis + rank } else { axis } as usize;
    let shape = vec![dim::product(&ty.shape[..axis]), dim::product(&ty.shape[axis..])];
    b.emit(Op::Reshape { shape }, &[x])
}

fn transpose(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let perm = axes_attr(call, "axes", &ty, 0)?.unwrap_or_else(|| (0..ty.shape.len()).rev().collect());
    b.emit(Op::Transpose { perm }, &[x])
}

fn squeeze(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let named = axes_attr(call, "axis", &ty, 0)?;
    let axes = named.unwrap_or_else(|| (0..ty.shape.len()).filter(|i| dim::is_one(&ty.shape[*i])).collect());
    if let Some(axis) = axes.iter().find(|axis| !dim::equal(&b.prover, &ty.shape[**axis], &dim::int(1))) {
        let message =
            format!("expected extent 1 at axis {axis} of `{}`, found `{}`", show_tensor(&ty), ty.shape[*axis]);
        return Err(OpError::new(At::Attr("axis".into()), OpErrorKind::Dims, message)
            .help("index the axis to take one element of it"));
    }
    let keep = (0..ty.shape.len()).filter(|i| !axes.contains(i));
    let shape = keep.map(|i| ty.shape[i].clone()).collect();
    b.emit(Op::Reshape { shape }, &[x])
}

fn expand_dims(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let extra = match call.attrs.get("axis") {
        None => return Err(missing("axis", "0")),
        Some(AttrValue::List(items)) => items.len(),
        Some(_) => 1,
    };
    let axes = axes_attr(call, "axis", &ty, extra)?.unwrap_or_default();
    let mut old = ty.shape.iter().cloned();
    let shape = (0..ty.shape.len() + extra)
        .map(|i| if axes.contains(&i) { dim::int(1) } else { old.next().unwrap_or_else(|| dim::int(1)) })
        .collect();
    b.emit(Op::Reshape { shape }, &[x])
}

fn broadcast_to(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    b.emit(Op::BroadcastTo { shape: shape(b, call, 1)? }, &[x]).map_err(|error| at_shape(error, &ty))
}

/// The operands of a list, or an error if there are none.
fn some(b: &Builder, call: &OpCall) -> Result<(Vec<ValueId>, TensorType), OpError> {
    let args = list(b, call, 0)?;
    match args.first() {
        Some(first) => {
            let ty = b.tensor(*first).clone();
            Ok((args, ty))
        }
        None => Err(OpError::new(At::Arg(0), OpErrorKind::Arity, "expected 1 tensor or more, found none")),
    }
}

/// Errors about an element of the list point at the list and say which element.
fn in_list(mut error: OpError) -> OpError {
    if let At::Arg(i) = error.at {
        error.message = format!("tensor {i} of the list: {}", error.message);
        error.at = At::Arg(0);
        error.also = None;
    }
    error
}

fn concat(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (args, first) = some(b, call)?;
    let axis = axis_attr(call, &first, 0)?;
    b.emit(Op::Concat { axis }, &args).map_err(in_list)
}

fn stack(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (args, first) = some(b, call)?;
    let axis = new_axis_attr(call, &first, 0)?;
    let mut parts = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        let ty = b.tensor(*arg).clone();
        if !dim::same_shape(&b.prover, &first.shape, &ty.shape) {
            let message =
                format!("tensor {i} of the list: expected `{}`, found `{}`", show_tensor(&first), show_tensor(&ty));
            return Err(
                OpError::new(At::Arg(0), OpErrorKind::Dims, message).help("`concat` joins along an axis that is there")
            );
        }
        let mut shape = ty.shape;
        shape.insert(axis, dim::int(1));
        parts.push(b.emit(Op::Reshape { shape }, &[*arg])?);
    }
    b.emit(Op::Concat { axis }, &parts).map_err(in_list)
}

fn flip(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let axes = axes_attr(call, "axis", &ty, 0)?.unwrap_or_else(|| (0..ty.shape.len()).collect());
    let mut parts = whole(&ty);
    for axis in axes {
        parts[axis].begin = &ty.shape[axis] - &dim::int(1);
        parts[axis].step = -1;
    }
    b.emit(Op::Slice { axes: parts, drop: Vec::new() }, &[x])
}

/// NumPy's split: `sections = n` equal parts, or a list of the indices at which a new part begins.
fn split(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let axis = axis_attr(call, &ty, 0)?;
    let extent = ty.shape[axis].clone();
    let mut bounds = vec![dim::int(0)];
    match call.attrs.get("sections") {
        None => return Err(missing("sections", "2")),
        Some(AttrValue::List(_)) => {
            bounds.extend(ints_attr(call, "sections")?.unwrap_or_default().into_iter().map(dim::int));
        }
        Some(_) => {
            let n = int_attr(call, "sections")?.unwrap_or(1);
            let part = dim::div_floor(&extent, n.max(1));
            if n < 1 || !dim::equal(&b.prover, &(&part * &dim::int(n)), &extent) {
                let message =
                    format!("axis {axis} of `{}` is not proven to split into {n} equal parts", show_tensor(&ty));
                return Err(OpError::new(At::Attr("sections".into()), OpErrorKind::Dims, message)
                    .help("give the indices at which parts begin: `sections = [2, 5]`"));
            }
            bounds.extend((1..n).map(|i| &part * &dim::int(i)));
        }
    }
    bounds.push(extent);
    let mut parts = Vec::new();
    for pair in bounds.windows(2) {
        let mut axes = whole(&ty);
        axes[axis].begin = pair[0].clone();
        axes[axis].extent = &pair[1] - &pair[0];
        parts.push(b.emit(Op::Slice { axes, drop: Vec::new() }, &[x])?);
    }
    b.emit(Op::Tuple, &parts)
}

fn pad(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let pairs = pairs_attr(call, "pad_width")?.ok_or_else(|| missing("pad_width", "[[1, 1], [0, 0]]"))?;
    let (before, after) = pairs.into_iter().unzip();
    let modes = [PadMode::Constant, PadMode::Edge, PadMode::Reflect, PadMode::Wrap];
    let mode = modes[word_attr(call, "mode", &["constant", "edge", "reflect", "wrap"])?];
    let mut args = vec![x];
    if mode == PadMode::Constant {
        args.push(pad_value(b, call, &ty)?);
    } else if call.attrs.contains_key("constant_values") {
        let message = "`constant_values` has a meaning for `mode = \"constant\"` only";
        return Err(OpError::new(At::Attr("constant_values".into()), OpErrorKind::Attribute, message).help("remove it"));
    }
    b.emit(Op::Pad { mode, before, after }, &args)
}

/// The scalar that a constant padding fills with.
fn pad_value(b: &mut Builder, call: &OpCall, x: &TensorType) -> Result<ValueId, OpError> {
    let at = || At::Attr("constant_values".into());
    let fail = |found: String| {
        let message = format!("expected a value of dtype `{}` for `constant_values`, found {found}", x.dtype);
        Err(OpError::new(at(), OpErrorKind::DType, message))
    };
    match call.attrs.get("constant_values") {
        None => Ok(b.scalar(Scalar::zero(x.dtype))),
        Some(AttrValue::Scalar(value)) if value.dtype == x.dtype => Ok(b.scalar(*value)),
        Some(AttrValue::Scalar(value)) => fail(format!("`{}`", value.dtype)),
        Some(AttrValue::Bool(value)) if x.dtype.is_bool() => Ok(b.scalar(Scalar::bool(*value))),
        Some(AttrValue::Bool(value)) => fail(format!("`{value}`")),
        Some(AttrValue::Int(_)) if !x.dtype.is_float() => {
            let n = int_attr(call, "constant_values")?.unwrap_or(0);
            let value = Scalar::int(x.dtype, i128::from(n));
            if value.to_i128() != i128::from(n) { fail(format!("`{n}`")) } else { Ok(b.scalar(value)) }
        }
        Some(AttrValue::Float(value)) if !x.dtype.is_float() => fail(format!("`{value:?}`")),
        Some(_) => {
            let value = float_attr(call, "constant_values", 0.0)?;
            Ok(b.scalar(Scalar::float(x.dtype, value.get())))
        }
    }
}

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "reshape",
        "Reshape",
        "x, shape",
        (2, 2),
        &[],
        reshape,
        "The elements of x, in row-major order, in another shape. One extent may be -1 and is computed."
    ),
    graph!(
        "flatten",
        "Flatten",
        "x",
        (1, 1),
        &[AttrDef { name: "axis", ty: "int = 1", doc: "first axis of the second part" }],
        flatten,
        "A matrix: the axes before `axis` become one, and those from `axis` on become one."
    ),
    graph!(
        "transpose",
        "Transpose",
        "x",
        (1, 1),
        &[AttrDef { name: "axes", ty: "list = reversed", doc: "which axis of x each axis of the result is" }],
        transpose,
        "Axes permuted: y[i…] has axis k of y along axis axes[k] of x."
    ),
    graph!(
        "squeeze",
        "Squeeze",
        "x",
        (1, 1),
        &[AttrDef { name: "axis", ty: "int | list = all of extent 1", doc: "axes to remove" }],
        squeeze,
        "x without axes of extent 1."
    ),
    graph!(
        "expand_dims",
        "Unsqueeze",
        "x",
        (1, 1),
        &[AttrDef { name: "axis", ty: "int | list", doc: "places of the new axes in the result" }],
        expand_dims,
        "x with new axes of extent 1."
    ),
    graph!(
        "broadcast_to",
        "Expand",
        "x, shape",
        (2, 2),
        &[],
        broadcast_to,
        "x repeated along axes of extent 1 and along new first axes."
    ),
    graph!(
        "concat",
        "Concat",
        "[x, …]",
        (1, 1),
        &[AttrDef { name: "axis", ty: "int = 0", doc: "the axis to join along" }],
        concat,
        "Tensors joined along an axis; all other extents are equal."
    ),
    graph!(
        "stack",
        "",
        "[x, …]",
        (1, 1),
        &[AttrDef { name: "axis", ty: "int = 0", doc: "place of the new axis in the result" }],
        stack,
        "Tensors of one shape joined along a new axis."
    ),
    graph!(
        "split",
        "Split",
        "x",
        (1, 1),
        &[
            AttrDef {
                name: "sections",
                ty: "int | list",
                doc: "number of equal parts, or the indices at which parts begin"
            },
            AttrDef { name: "axis", ty: "int = 0", doc: "the axis to cut" },
        ],
        split,
        "A tuple of parts of x along an axis."
    ),
    graph!(
        "flip",
        "",
        "x",
        (1, 1),
        &[AttrDef { name: "axis", ty: "int | list = all", doc: "axes to turn round" }],
        flip,
        "x with the order of elements reversed along axes."
    ),
    graph!(
        "pad",
        "Pad",
        "x",
        (1, 1),
        &[
            AttrDef { name: "pad_width", ty: "list of pairs", doc: "elements before and after, per axis" },
            AttrDef {
                name: "mode",
                ty: "\"constant\" | \"edge\" | \"reflect\" | \"wrap\" = \"constant\"",
                doc: "what to fill with"
            },
            AttrDef { name: "constant_values", ty: "scalar = 0", doc: "the value of mode constant" },
        ],
        pad,
        "x with elements added around it: a constant, the nearest element, mirrored without the edge, or periodic."
    ),
];
