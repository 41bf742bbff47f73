//! Pools beyond the greatest and the mean of a window: places of the greatest, norms, and windows that adapt.

use super::call::{bool_attr, int_attr, ints_attr, missing, shape, tensor};
use super::check::{attr_error, floats, integers, non_negative, not_empty, numbers, rank_at_least};
use super::compose::{binary, call_of, full, reduce, reshape, unary, with, working};
use super::error::{At, OpError, OpErrorKind, show_shape};
use super::kernel::{Buf, Ex, Kernel};
use super::nn::{AUTO_PAD, CEIL, DILATIONS, KERNEL, PADS, STRIDES, window};
use super::{AttrDef, AttrValue, OpCall, OpDef};
use crate::arith::IntExpr;
use crate::op::{BinaryOp, ReduceOp, UnaryOp};
use crate::relax::{Builder, DataLayout, Op, PadMode, PoolOp, TensorType, ValueId, Window, dim};
use crate::{DType, Scalar};

type Made = Result<ValueId, OpError>;

/// The windows that a call's attributes say, and the maximum pool over them, which checks them.
fn windows(b: &mut Builder, call: &OpCall, x: ValueId) -> Result<(Window, ValueId), OpError> {
    let ty = b.tensor(x).clone();
    rank_at_least(0, &ty, 3)?;
    let kernel = ints_attr(call, "kernel_shape")?.ok_or_else(|| missing("kernel_shape", "[2, 2]"))?;
    let window = window(call, &ty.shape[2..], kernel)?;
    let ceil_mode = bool_attr(call, "ceil_mode", false)?;
    let op = Op::Pool { op: PoolOp::Max, window: window.clone(), ceil_mode, layout: DataLayout::default() };
    let greatest = b.emit(op, &[x])?;
    Ok((window, greatest))
}

/// Every element of the window at a place of the result, in row-major order, that is not padding.
fn each_of_window<'k>(k: &'k Kernel, from: Buf<'k>, window: &Window, at: &[Ex<'k>], f: impl FnOnce(&[Ex<'k>])) {
    let extents: Vec<Ex<'k>> = window.kernel.iter().map(|n| k.int(*n)).collect();
    k.for_all("k", &extents, |inner| {
        let place = |i: usize| at[i + 2] * window.strides[i] + inner[i] * window.dilations[i] - window.pads[i];
        let places: Vec<Ex<'k>> = (0..inner.len()).map(place).collect();
        let inside = places.iter().enumerate().map(|(i, p)| p.ge(0).and(p.lt(from.dim(i + 2)))).reduce(Ex::and);
        let body = || f(&[&at[..2], &places].concat());
        match inside {
            Some(inside) => k.if_(inside, body),
            None => body(),
        }
    });
}

/// The greatest element of each window, and where in x it stands.
fn max_pool_with_indices(b: &mut Builder, call: &OpCall) -> Made {
    let (x, ty) = tensor(b, call, 0)?;
    numbers(0, &ty)?;
    let (window, greatest) = windows(b, call, x)?;
    let by_columns = bool_attr(call, "storage_order", false)?;
    let shape = b.tensor(greatest).shape.clone();
    let k = Kernel::new(b, "max_pool_with_indices");
    let from = k.input(b, x);
    let out = k.output(TensorType { dtype: DType::I64, shape });
    k.block("max_pool_with_indices", &out.shape(), |at| {
        let found = k.cell("found", k.int(-1));
        let best = k.cell("best", from.zero());
        each_of_window(&k, from, &window, at, |index| {
            let value = from.at(index).bound("value");
            let better = value.gt(best.now()).or(value.is_nan().and(best.now().is_nan().not()));
            k.if_(found.now().lt(0).or(better), || {
                best.set(value);
                found.set(flat(&k, from, index, by_columns));
            });
        });
        out.put(at, found.now().cast(DType::I64));
    });
    let indices = k.finish(b)?;
    b.emit(Op::Tuple, &[greatest, indices])
}

/// The place of an element among all of x; `by_columns` turns the order of spatial axes round.
fn flat<'k>(k: &'k Kernel, x: Buf<'k>, index: &[Ex<'k>], by_columns: bool) -> Ex<'k> {
    let spatial: Vec<usize> = if by_columns { (2..index.len()).rev().collect() } else { (2..index.len()).collect() };
    let axes = [0, 1].into_iter().chain(spatial);
    axes.fold(k.int(0), |at, axis| at * x.dim(axis) + index[axis])
}

/// Elements at their places in a larger tensor of zeros.
fn max_unpool(b: &mut Builder, call: &OpCall) -> Made {
    let ((x, ty), (at, places)) = (tensor(b, call, 0)?, tensor(b, call, 1)?);
    rank_at_least(0, &ty, 3)?;
    integers(1, &places)?;
    super::check::shape(b, 1, &places, &ty.shape)?;
    let own = unpooled(call, &ty)?;
    for extent in &own {
        let help = "`kernel_shape`, `strides` and `pads` are those of the pool that found the places";
        non_negative(&b.prover, extent, At::Attr("pads".into())).map_err(|error| error.help(help))?;
    }
    let flat = [dim::product(&ty.shape)];
    let (flat_x, flat_at) = (reshape(b, x, &flat)?, reshape(b, at, &flat)?);
    let empty = full(b, &[dim::product(&own)], Scalar::zero(ty.dtype))?;
    let y = call_of(b, "put_along_axis", &[empty, flat_at, flat_x], &[("axis", AttrValue::Int(dim::int(0)))])?;
    let y = reshape(b, y, &own)?;
    if call.args.len() < 3 {
        return Ok(y);
    }
    let wanted = shape(b, call, 2)?;
    let fits = wanted.len() == own.len() && own.iter().zip(&wanted).all(|(n, w)| dim::at_most(&b.prover, n, w));
    if !fits {
        let message = format!("`{}` is not proven to hold `{}`", show_shape(&wanted), show_shape(&own));
        return Err(OpError::new(At::Arg(2), OpErrorKind::Dims, message).help("zeros lie behind what is put back"));
    }
    let after = wanted.iter().zip(&own).map(|(w, n)| w - n).collect();
    let zero = b.scalar(Scalar::zero(ty.dtype));
    let before = vec![dim::int(0); wanted.len()];
    b.emit(Op::Pad { mode: PadMode::Constant, before, after }, &[y, zero])
}

/// The shape of what a maximum pool was taken of.
fn unpooled(call: &OpCall, ty: &TensorType) -> Result<Vec<IntExpr>, OpError> {
    let n = ty.shape.len() - 2;
    let kernel = ints_attr(call, "kernel_shape")?.ok_or_else(|| missing("kernel_shape", "[2, 2]"))?;
    let strides = ints_attr(call, "strides")?.unwrap_or_else(|| vec![1; n]);
    let pads = ints_attr(call, "pads")?.unwrap_or_else(|| vec![0; 2 * n]);
    if kernel.len() != n || strides.len() != n || pads.len() != 2 * n {
        return Err(attr_error("kernel_shape", format!("expected {n} kernel extents and strides, and {} pads", 2 * n)));
    }
    let spatial = (0..n).map(|i| {
        let last = (&ty.shape[i + 2] - &dim::int(1)) * dim::int(strides[i]);
        last + dim::int(kernel[i] - pads[i] - pads[i + n])
    });
    Ok(ty.shape[..2].iter().cloned().chain(spatial).collect())
}

/// The exponent of a norm.
fn exponent(call: &OpCall) -> Result<f64, OpError> {
    match int_attr(call, "p")?.unwrap_or(2) {
        p if p > 0 => Ok(p as f64),
        p => Err(attr_error("p", format!("expected 1 or more for `p`, found {p}"))),
    }
}

/// `|x|^p`.
fn power<'k>(x: Ex<'k>, p: f64) -> Ex<'k> {
    let x = x.unary(UnaryOp::Abs);
    match p {
        1.0 => x,
        2.0 => x * x,
        _ => x.binary(BinaryOp::Pow, p),
    }
}

/// The pth root.
fn root<'k>(x: Ex<'k>, p: f64) -> Ex<'k> {
    match p {
        1.0 => x,
        2.0 => x.unary(UnaryOp::Sqrt),
        _ => x.binary(BinaryOp::Pow, 1.0 / p),
    }
}

/// `(Σ |x|^p)^(1/p)` over windows.
fn lp_pool(b: &mut Builder, call: &OpCall) -> Made {
    let (x, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    let p = exponent(call)?;
    let (window, greatest) = windows(b, call, x)?;
    let (wide, shape) = (working(ty.dtype), b.tensor(greatest).shape.clone());
    let k = Kernel::new(b, "lp_pool");
    let from = k.input(b, x);
    let out = k.output(TensorType { dtype: ty.dtype, shape });
    k.block("lp_pool", &out.shape(), |at| {
        let sum = k.cell("sum", k.lit(wide, 0.0));
        each_of_window(&k, from, &window, at, |index| sum.set(sum.now() + power(from.at(index).cast(wide), p)));
        out.put(at, root(sum.now(), p).cast(ty.dtype));
    });
    k.finish(b)
}

/// `(Σ |x|^p)^(1/p)` over whole spatial axes.
fn global_lp_pool(b: &mut Builder, call: &OpCall) -> Made {
    let (x, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    rank_at_least(0, &ty, 3)?;
    let p = exponent(call)?;
    let axes: Vec<usize> = (2..ty.shape.len()).collect();
    let x = super::compose::cast(b, working(ty.dtype), x)?;
    let size = unary(b, UnaryOp::Abs, x)?;
    let powers = match p {
        1.0 => size,
        2.0 => binary(b, BinaryOp::Mul, size, size)?,
        _ => with(b, BinaryOp::Pow, size, p)?,
    };
    let sum = reduce(b, ReduceOp::Sum, powers, &axes, true)?;
    let y = match p {
        1.0 => sum,
        2.0 => unary(b, UnaryOp::Sqrt, sum)?,
        _ => with(b, BinaryOp::Pow, sum, 1.0 / p)?,
    };
    super::compose::cast(b, ty.dtype, y)
}

/// A window per element of the result: from ⌊i · n / out⌋ to ⌈(i + 1) · n / out⌉ along each spatial axis.
fn adaptive(b: &mut Builder, call: &OpCall, average: bool) -> Made {
    let (x, ty) = tensor(b, call, 0)?;
    if average {
        floats(0, &ty)?
    } else {
        numbers(0, &ty)?
    }
    rank_at_least(0, &ty, 3)?;
    let spatial = shape(b, call, 1)?;
    if spatial.len() + 2 != ty.shape.len() {
        let message = format!("expected {} spatial extents, found {}", ty.shape.len() - 2, spatial.len());
        return Err(OpError::new(At::Arg(1), OpErrorKind::Rank, message).help("write one for each spatial axis"));
    }
    ty.shape[2..].iter().try_for_each(|extent| not_empty(b, 0, &ty, extent))?;
    let wide = if average { working(ty.dtype) } else { ty.dtype };
    let k = Kernel::new(b, if average { "adaptive_average_pool" } else { "adaptive_max_pool" });
    let from = k.input(b, x);
    let out = k.output(TensorType { dtype: ty.dtype, shape: [&ty.shape[..2], &spatial].concat() });
    k.block("adaptive_pool", &out.shape(), |at| {
        let ends = |axis: usize| {
            let (n, parts) = (from.dim(axis), out.dim(axis));
            let low = k.cell("low", at[axis] * n / parts).now();
            let high = k.cell("high", ((at[axis] + 1) * n + parts - 1) / parts).now();
            (low, high)
        };
        let ends: Vec<(Ex<'_>, Ex<'_>)> = (2..at.len()).map(ends).collect();
        let (sum, count) = (k.cell("sum", k.lit(wide, 0.0)), k.cell("count", k.int(0)));
        nested(&k, &ends, &mut Vec::new(), &mut |places| {
            let inside = places.iter().enumerate().map(|(i, place)| k.clamped(*place, from.dim(i + 2)));
            let index: Vec<Ex<'_>> = at[..2].iter().copied().chain(inside).collect();
            let value = from.at(&index).cast(wide).bound("value");
            if average {
                sum.set(sum.now() + value);
            } else {
                let first = count.now().equals(0);
                sum.set(first.select(value, sum.now().max(value)));
            }
            count.set(count.now() + 1);
        });
        let y = if average { sum.now() / count.now().cast(wide) } else { sum.now() };
        out.put(at, y.cast(ty.dtype));
    });
    k.finish(b)
}

/// Loops from one end to the other of each axis.
fn nested<'k>(k: &'k Kernel, ends: &[(Ex<'k>, Ex<'k>)], places: &mut Vec<Ex<'k>>, f: &mut dyn FnMut(&[Ex<'k>])) {
    match ends.split_first() {
        None => f(places),
        Some(((low, high), rest)) => k.for_in("p", *low, *high, |place| {
            places.push(place);
            nested(k, rest, places, f);
            places.pop();
        }),
    }
}

const P: AttrDef = AttrDef { name: "p", ty: "int = 2", doc: "the exponent" };

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "max_pool_with_indices",
        "MaxPool",
        "x",
        1,
        &[
            KERNEL,
            STRIDES,
            PADS,
            DILATIONS,
            CEIL,
            AUTO_PAD,
            AttrDef {
                name: "storage_order",
                ty: "bool = false",
                doc: "whether places count the first spatial axis fastest, else the last"
            },
        ],
        max_pool_with_indices,
        "(y, indices): max_pool, and where among all elements of x, in row-major order, the first of the greatest stands, as i64; -1 where a window holds padding alone."
    ),
    graph!(
        "max_unpool",
        "MaxUnpool",
        "x, indices, shape?",
        (2, 3),
        &[KERNEL, STRIDES, PADS],
        max_unpool,
        "Zeros of the shape that a max_pool was taken of, with the elements of x at their indices; a larger shape has zeros behind."
    ),
    graph!(
        "lp_pool",
        "LpPool",
        "x",
        1,
        &[KERNEL, STRIDES, PADS, DILATIONS, CEIL, AUTO_PAD, P],
        lp_pool,
        "(Σ |x|^p)^(1/p) over each window of the spatial axes."
    ),
    graph!(
        "global_lp_pool",
        "GlobalLpPool",
        "x",
        1,
        &[P],
        global_lp_pool,
        "(Σ |x|^p)^(1/p) of each channel; spatial axes stay with extent 1."
    ),
    graph!(
        "adaptive_average_pool",
        "",
        "x, shape",
        2,
        &[],
        |b, call| adaptive(b, call, true),
        "The mean of windows that cover x whatever its extents: element i of n along a spatial axis takes ⌊i · extent / n⌋ to ⌈(i + 1) · extent / n⌉. The shape has the spatial extents of the result."
    ),
    graph!(
        "adaptive_max_pool",
        "",
        "x, shape",
        2,
        &[],
        |b, call| adaptive(b, call, false),
        "The largest element of the windows of adaptive_average_pool."
    ),
];
