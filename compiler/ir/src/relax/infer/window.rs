//! Shapes of convolutions and pools: NC, then spatial axes, as ONNX has them.

use super::element::same_dtype;
use super::show;
use crate::arith::{IntExpr, Prover};
use crate::ops::{At, OpError, OpErrorKind, count};
use crate::relax::{TensorType, Window, dim};

/// `expected rank …, found …`
fn rank_error(i: usize, expected: &str, arg: &TensorType) -> OpError {
    let message = format!("expected rank {expected}, found `{}`", show(arg));
    OpError::new(At::Arg(i), OpErrorKind::Rank, message)
        .help("axes are batch, channel, then one or more spatial axes; `expand_dims` and `reshape` add an axis")
}

/// An error unless every list of the window has an entry per spatial axis, and strides, dilations and extents are
/// positive, and no padding reaches a whole window.
fn check_window(window: &Window, spatial: usize) -> Result<(), OpError> {
    let lists = [
        ("kernel_shape", &window.kernel, spatial, 1),
        ("strides", &window.strides, spatial, 1),
        ("dilations", &window.dilations, spatial, 1),
        ("pads", &window.pads, 2 * spatial, 0),
    ];
    for (name, list, len, least) in lists {
        let at = || At::Attr(name.to_string());
        if list.len() != len {
            let message = format!("expected {len} numbers in `{name}`, found {}", list.len());
            return Err(OpError::new(at(), OpErrorKind::Attribute, message).help(match name {
                "pads" => "one per spatial axis before it, then one per spatial axis after it",
                _ => "one per spatial axis",
            }));
        }
        if let Some(bad) = list.iter().find(|n| **n < least) {
            let message = format!("expected {least} or more in `{name}`, found {bad}");
            return Err(OpError::new(at(), OpErrorKind::Attribute, message));
        }
        if let Some(bad) = list.iter().find(|n| **n > 1 << 31) {
            let message = format!("expected at most 2147483648 in `{name}`, found {bad}");
            return Err(OpError::new(at(), OpErrorKind::Attribute, message));
        }
    }
    Ok(())
}

/// Extent of the result along spatial axis `i`: `(in + pads - reach) / stride + 1`.
fn spatial_extent(prover: &Prover, window: &Window, i: usize, x: &TensorType) -> Result<IntExpr, OpError> {
    let spatial = x.shape.len() - 2;
    let extent = &x.shape[2 + i];
    let pads = window.pads[i] + window.pads[i + spatial];
    let need = window.reach(i) - pads;
    if !dim::at_most(prover, &dim::int(need), extent) {
        let message = format!(
            "axis {} of `{}` is not proven to hold a window: it needs {need} or more, found `{extent}`",
            i + 2,
            show(x)
        );
        let help = match dim::as_int(extent) {
            Some(_) => "pad more, or take a smaller window".to_string(),
            None => format!("state a fact: `dims({extent} >= {need})`"),
        };
        return Err(OpError::new(At::Arg(0), OpErrorKind::Range, message).help(help));
    }
    Ok(&dim::div_floor(&(extent - &dim::int(need)), window.strides[i]) + &dim::int(1))
}

pub(super) fn conv(prover: &Prover, window: &Window, group: i64, args: &[TensorType]) -> Result<TensorType, OpError> {
    if !(2..=3).contains(&args.len()) {
        let message = format!("expected x, w and maybe bias, found {}", count(args.len(), "operand"));
        return Err(OpError::new(At::Call, OpErrorKind::Arity, message));
    }
    let (x, w) = (&args[0], &args[1]);
    if x.dtype.is_bool() {
        let message = format!("expected numbers, found `{}`", show(x));
        return Err(OpError::new(At::Arg(0), OpErrorKind::DType, message).help("convert first: `x as u8`"));
    }
    if x.shape.len() < 3 {
        return Err(rank_error(0, "3 or more", x));
    }
    if w.shape.len() != x.shape.len() {
        return Err(rank_error(1, &x.shape.len().to_string(), w).also(At::Arg(0), format!("as in `{}`", show(x))));
    }
    for i in 1..args.len() {
        same_dtype(0, i, args)?;
    }
    check_window(window, x.shape.len() - 2)?;
    for (i, kernel) in window.kernel.iter().enumerate() {
        if !dim::equal(prover, &dim::int(*kernel), &w.shape[2 + i]) {
            let message = format!("expected `{kernel}` at axis {} of `{}`", 2 + i, show(w));
            return Err(OpError::new(At::Arg(1), OpErrorKind::Dims, message));
        }
    }
    channels(prover, group, args)?;
    let mut shape = vec![x.shape[0].clone(), w.shape[0].clone()];
    for i in 0..window.kernel.len() {
        shape.push(spatial_extent(prover, window, i, x)?);
    }
    Ok(TensorType { dtype: x.dtype, shape })
}

/// An error unless the channels of x, w and bias fit.
fn channels(prover: &Prover, group: i64, args: &[TensorType]) -> Result<(), OpError> {
    let (x, w) = (&args[0], &args[1]);
    let at_group = || At::Attr("group".to_string());
    if group < 1 {
        let message = format!("expected 1 or more in `group`, found {group}");
        return Err(OpError::new(at_group(), OpErrorKind::Attribute, message));
    }
    let expected = &w.shape[1] * &dim::int(group);
    if !dim::equal(prover, &x.shape[1], &expected) {
        let groups = if group == 1 { String::new() } else { format!(" in each of {group} groups") };
        let message = format!(
            "`{}` takes `{}` channels{groups}: expected `{expected}` at axis 1 of `{}`, found `{}`",
            show(w),
            w.shape[1],
            show(x),
            x.shape[1]
        );
        return Err(OpError::new(At::Arg(1), OpErrorKind::Dims, message)
            .also(At::Arg(0), format!("`{}` comes from `{}`", x.shape[1], show(x)))
            .help("the second operand is [out channels, in channels / group, kernel…]"));
    }
    if group > 1 && dim::as_int(&w.shape[0]).is_none_or(|out| out % group != 0) {
        let message = format!("expected a multiple of {group} output channels, found `{}`", w.shape[0]);
        return Err(OpError::new(At::Arg(1), OpErrorKind::Dims, message));
    }
    if let Some(bias) = args.get(2)
        && (bias.shape.len() != 1 || !dim::equal(prover, &bias.shape[0], &w.shape[0]))
    {
        let message = format!("expected a bias of shape `[{}]`, found `{}`", w.shape[0], show(bias));
        return Err(OpError::new(At::Arg(2), OpErrorKind::Dims, message)
            .also(At::Arg(1), format!("`{}` is axis 0 of `{}`", w.shape[0], show(w))));
    }
    Ok(())
}

pub(super) fn pool(prover: &Prover, window: &Window, ceil_mode: bool, x: &TensorType) -> Result<TensorType, OpError> {
    if x.dtype.is_bool() {
        let message = format!("expected numbers, found `{}`", show(x));
        return Err(OpError::new(At::Arg(0), OpErrorKind::DType, message).help("convert first: `x as u8`"));
    }
    if x.shape.len() < 3 {
        return Err(rank_error(0, "3 or more", x));
    }
    let spatial = x.shape.len() - 2;
    check_window(window, spatial)?;
    let mut shape = x.shape[..2].to_vec();
    for i in 0..spatial {
        if window.pads[i] >= window.reach(i) || window.pads[i + spatial] >= window.reach(i) {
            let message = format!("padding of spatial axis {i} holds a whole window of {}", window.kernel[i]);
            return Err(OpError::new(At::Attr("pads".into()), OpErrorKind::Attribute, message)
                .help("pad less than the window's extent"));
        }
        let floor = spatial_extent(prover, window, i, x)?;
        shape.push(if ceil_mode { ceil_extent(window, i, spatial, x)? } else { floor });
    }
    Ok(TensorType { dtype: x.dtype, shape })
}

/// ONNX's rounding up: a last, partial window counts if it begins inside the input or the padding before it.
fn ceil_extent(window: &Window, i: usize, spatial: usize, x: &TensorType) -> Result<IntExpr, OpError> {
    let Some(extent) = dim::as_int(&x.shape[2 + i]) else {
        let message = format!("`ceil_mode` needs a fixed extent, found `{}`", x.shape[2 + i]);
        return Err(OpError::new(At::Attr("ceil_mode".into()), OpErrorKind::Attribute, message)
            .help("fix the dim, or pad by hand"));
    };
    let stride = window.strides[i];
    let room = extent + window.pads[i] + window.pads[i + spatial] - window.reach(i);
    let mut out = (room + stride - 1).div_euclid(stride) + 1;
    if (out - 1) * stride >= extent + window.pads[i] {
        out -= 1;
    }
    Ok(dim::int(out))
}
