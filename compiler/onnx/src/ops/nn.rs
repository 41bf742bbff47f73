//! Products, convolutions, pools and norms.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, Real, ReduceOp, UnaryOp};
use tenfold_ir::relax::{DataLayout, Op, PoolOp, ValueId, Window};
use tenfold_ir::{DType, Scalar};

use super::{OnnxOp, op};
use crate::call::Call;
use crate::emit::{int, product};
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

fn matmul<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (a, b) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let y = cx.emit(Op::MatMul, &[a, b])?;
    cx.one(y)
}

/// `alpha · A B + beta · C`; factors of 1 are left out.
fn gemm<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let mut product = {
        let (a, b) = (call.x(cx, 0)?, call.x(cx, 1)?);
        let a = if call.int_or("transA", 0)? != 0 { cx.transpose(a, &[1, 0])? } else { a };
        let b = if call.int_or("transB", 0)? != 0 { cx.transpose(b, &[1, 0])? } else { b };
        cx.emit(Op::MatMul, &[a, b])?
    };
    let scaled = |cx: &mut Cx<'m>, x: ValueId, factor: f32| {
        if factor == 1.0 {
            return Ok(x);
        }
        let factor = cx.like(x, f64::from(factor));
        cx.binary(BinaryOp::Mul, x, factor)
    };
    product = scaled(cx, product, call.float_or("alpha", 1.0)?)?;
    if let Some(c) = call.optional(cx, 2)? {
        let c = scaled(cx, c, call.float_or("beta", 1.0)?)?;
        product = cx.binary(BinaryOp::Add, product, c)?;
    }
    cx.one(product)
}

/// The window of a convolution or a pool over an input of these spatial extents.
pub(crate) fn window(call: &Call<'_, '_>, spatial: &[IntExpr], kernel: Vec<i64>) -> Outcome<Window> {
    let n = spatial.len();
    let list = |name: &str, default: i64, count: usize| -> Outcome<Vec<i64>> {
        let list = call.ints(name)?.unwrap_or_else(|| vec![default; count]);
        match list.len() == count && list.iter().all(|v| (0..1 << 31).contains(v)) {
            true => Ok(list),
            false => fault(format!("`{name}` is {list:?} where {count} numbers from 0 on are expected")),
        }
    };
    let (strides, dilations) = (list("strides", 1, n)?, list("dilations", 1, n)?);
    if kernel.len() != n || strides.contains(&0) || dilations.contains(&0) || kernel.iter().any(|k| *k < 1) {
        return fault(format!("expected {n} kernel extents, strides and dilations from 1 on"));
    }
    let mode = call.text("auto_pad", "NOTSET")?;
    let pads = match mode.as_str() {
        "NOTSET" | "" => list("pads", 0, 2 * n)?,
        "VALID" => vec![0; 2 * n],
        "SAME_UPPER" | "SAME_LOWER" => {
            let mut pads = vec![0; 2 * n];
            for i in 0..n {
                let Some(extent) = spatial[i].as_const() else {
                    return fault("automatic padding needs a dim with a value; bind it");
                };
                let out = (extent + strides[i] - 1) / strides[i];
                let reach = (kernel[i] - 1).saturating_mul(dilations[i]) + 1;
                let total = ((out - 1) * strides[i] + reach - extent).max(0);
                let small = total / 2;
                let upper = mode == "SAME_UPPER";
                (pads[i], pads[i + n]) = if upper { (small, total - small) } else { (total - small, small) };
            }
            pads
        }
        other => return fault(format!("the padding `{other}` is unknown")),
    };
    Ok(Window { kernel, strides, pads, dilations })
}

fn max_pool<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    super::same(cx, call, if call.wants(1) { "max_pool_with_indices" } else { "max_pool" })
}

fn global_pool<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, op: ReduceOp) -> Results {
    let x = call.x(cx, 0)?;
    let axes: Vec<usize> = (2..cx.rank(x)).collect();
    let y = cx.reduce(op, x, &axes, true)?;
    cx.one(y)
}

/// Before version 13 the axes from `axis` on are one.
fn softmax<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, log: bool) -> Results {
    let x = call.x(cx, 0)?;
    let rank = cx.rank(x);
    if call.version >= 13 {
        let axis = call.axis(-1, rank)?;
        let y = cx.emit(Op::Softmax { axis, log }, &[x])?;
        return cx.one(y);
    }
    let axis = call.axis(1, rank)?;
    let dims = cx.dims(x);
    let flat = cx.reshape(x, &[product(&dims[..axis]), product(&dims[axis..])])?;
    let y = cx.emit(Op::Softmax { axis: 1, log }, &[flat])?;
    let y = cx.reshape(y, &dims)?;
    cx.one(y)
}

fn batch_norm<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let epsilon = Real::new(f64::from(call.float_or("epsilon", 1e-5)?));
    let x = call.x(cx, 0)?;
    let dtype = cx.dtype(x);
    let mut args = vec![x];
    for i in 1..5 {
        let arg = call.x(cx, i)?;
        args.push(cx.cast(arg, dtype)?);
    }
    if call.int_or("training_mode", 0)? == 0 {
        let y = cx.emit(Op::BatchNorm { axis: 1, epsilon }, &args)?;
        return cx.one(y);
    }
    let momentum = f64::from(call.float_or("momentum", 0.9)?);
    let axes: Vec<usize> = (0..cx.rank(x)).filter(|i| *i != 1).collect();
    let (mean, variance) = moments(cx, x, &axes, false)?;
    let y = cx.emit(Op::BatchNorm { axis: 1, epsilon }, &[x, args[1], args[2], mean, variance])?;
    let running = |cx: &mut Cx<'m>, old: ValueId, now: ValueId| {
        let (a, b) = (cx.like(old, momentum), cx.like(old, 1.0 - momentum));
        let (old, now) = (cx.binary(BinaryOp::Mul, old, a)?, cx.binary(BinaryOp::Mul, now, b)?);
        cx.binary(BinaryOp::Add, old, now)
    };
    let (running_mean, running_variance) = (running(cx, args[3], mean)?, running(cx, args[4], variance)?);
    Ok(vec![cx.plain(y), cx.plain(running_mean), cx.plain(running_variance)])
}

/// Mean and variance over axes.
pub(super) fn moments(cx: &mut Cx<'_>, x: ValueId, axes: &[usize], keepdims: bool) -> Outcome<(ValueId, ValueId)> {
    let mean = cx.reduce(ReduceOp::Mean, x, axes, true)?;
    let centred = cx.binary(BinaryOp::Sub, x, mean)?;
    let squares = cx.unary(UnaryOp::Square, centred)?;
    let variance = cx.reduce(ReduceOp::Mean, squares, axes, keepdims)?;
    let mean = if keepdims { mean } else { cx.reduce(ReduceOp::Mean, x, axes, false)? };
    Ok((mean, variance))
}

/// `(x - mean) / √(variance + epsilon)` over axes, in the type that the node asks for.
fn normalised(cx: &mut Cx<'_>, x: ValueId, axes: &[usize], epsilon: f32) -> Outcome<(ValueId, ValueId, ValueId)> {
    let (mean, variance) = moments(cx, x, axes, true)?;
    let centred = cx.binary(BinaryOp::Sub, x, mean)?;
    let epsilon = cx.like(x, f64::from(epsilon));
    let moved = cx.binary(BinaryOp::Add, variance, epsilon)?;
    let scale = cx.unary(UnaryOp::Rsqrt, moved)?;
    Ok((cx.binary(BinaryOp::Mul, centred, scale)?, mean, scale))
}

fn layer_norm<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let axis = call.axis(-1, cx.rank(x))?;
    let epsilon = call.float_or("epsilon", 1e-5)?;
    let mut args = vec![x, call.x(cx, 1)?];
    args.extend(call.optional(cx, 2)?);
    let dims = cx.dims(x);
    let whole = args[1..].iter().all(|a| cx.dims(*a) == dims[axis..]);
    if whole && !call.wants(1) && !call.wants(2) {
        let y = cx.emit(Op::LayerNorm { axis, epsilon: Real::new(f64::from(epsilon)) }, &args)?;
        return cx.one(y);
    }
    let own = cx.dtype(x);
    let wide = if own == DType::F64 { own } else { DType::F32 };
    let x = cx.cast(x, wide)?;
    let axes: Vec<usize> = (axis..dims.len()).collect();
    let (y, mean, scale) = normalised(cx, x, &axes, epsilon)?;
    let mut y = cx.cast(y, own)?;
    y = cx.binary(BinaryOp::Mul, y, args[1])?;
    if let Some(bias) = args.get(2) {
        y = cx.binary(BinaryOp::Add, y, *bias)?;
    }
    Ok(vec![cx.plain(y), cx.plain(mean), cx.plain(scale)])
}

fn rms_norm<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, scale) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let axis = call.axis(-1, cx.rank(x))?;
    let (own, result) = (cx.dtype(x), cx.dtype(scale));
    let wide = if own == DType::F64 { own } else { DType::F32 };
    let x = cx.cast(x, wide)?;
    let axes: Vec<usize> = (axis..cx.rank(x)).collect();
    let squares = cx.unary(UnaryOp::Square, x)?;
    let mean = cx.reduce(ReduceOp::Mean, squares, &axes, true)?;
    let epsilon = cx.like(x, f64::from(call.float_or("epsilon", 1e-5)?));
    let moved = cx.binary(BinaryOp::Add, mean, epsilon)?;
    let factor = cx.unary(UnaryOp::Rsqrt, moved)?;
    let y = cx.binary(BinaryOp::Mul, x, factor)?;
    let y = cx.cast(y, result)?;
    let y = cx.binary(BinaryOp::Mul, y, scale)?;
    cx.one(y)
}

fn instance_norm<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, scale, bias) = (call.x(cx, 0)?, call.x(cx, 1)?, call.x(cx, 2)?);
    let dims = cx.dims(x);
    let [n, channels, spatial @ ..] = dims.as_slice() else { return fault("expected batch and channels") };
    // A channel of an image is a row.
    let rows = cx.reshape(x, &[n.clone(), channels.clone(), product(spatial)])?;
    let (y, _, _) = normalised(cx, rows, &[2], call.float_or("epsilon", 1e-5)?)?;
    let (scale, bias) = (cx.per_channel(scale, 3)?, cx.per_channel(bias, 3)?);
    let y = cx.binary(BinaryOp::Mul, y, scale)?;
    let y = cx.binary(BinaryOp::Add, y, bias)?;
    let y = cx.reshape(y, &dims)?;
    cx.one(y)
}

/// Before version 21 scale and bias are one number per group.
fn group_norm<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, scale, bias) = (call.x(cx, 0)?, call.x(cx, 1)?, call.x(cx, 2)?);
    let dims = cx.dims(x);
    let groups = call.int_or("num_groups", 1)?;
    let [n, channels, ..] = dims.as_slice() else { return fault("expected batch and channels") };
    if channels.as_const().is_none_or(|c| groups < 1 || c % groups != 0) {
        return fault(format!("{groups} groups do not divide {channels} channels"));
    }
    let own = cx.dtype(x);
    let wide = if own == DType::F64 { own } else { DType::F32 };
    let x = cx.cast(x, wide)?;
    // Where the spatial axes are one, a channel is a row, as vectors have it.
    let each = channels.floor_div(&int(groups));
    let grouped = cx.reshape(x, &[n.clone(), int(groups), each.clone(), product(&dims[2..])])?;
    let (y, _, _) = normalised(cx, grouped, &[2, 3], call.float_or("epsilon", 1e-5)?)?;
    let mut y = cx.cast(y, own)?;
    let per_group = cx.dims(scale) == [int(groups)] && call.version < 21;
    let shape = [int(groups), if per_group { int(1) } else { each }, int(1)];
    let (scale, bias) = (cx.reshape(scale, &shape)?, cx.reshape(bias, &shape)?);
    y = cx.binary(BinaryOp::Mul, y, scale)?;
    y = cx.binary(BinaryOp::Add, y, bias)?;
    y = cx.reshape(y, &dims)?;
    cx.one(y)
}

/// `x / (bias + alpha / size · Σ x²)^beta`, the sum over `size` channels about each.
fn lrn<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let dims = cx.dims(x);
    let Some(size) = call.int("size")?.filter(|n| (1..1 << 20).contains(n)) else {
        return fault("its size is missing");
    };
    let squares = cx.unary(UnaryOp::Square, x)?;
    // A pool over the channels as one spatial axis: [N, 1, C, everything else].
    let rest = product(&dims[2..]);
    let planes = cx.reshape(squares, &[dims[0].clone(), int(1), dims[1].clone(), rest])?;
    let (before, after) = ((size - 1) / 2, size - 1 - (size - 1) / 2);
    let window =
        Window { kernel: vec![size, 1], strides: vec![1, 1], pads: vec![before, 0, after, 0], dilations: vec![1, 1] };
    let op = PoolOp::Average { count_include_pad: true };
    let mean = cx.emit(Op::Pool { op, window, ceil_mode: false, layout: DataLayout::ChannelsFirst }, &[planes])?;
    let mean = cx.reshape(mean, &dims)?;
    let alpha = cx.like(x, f64::from(call.float_or("alpha", 1e-4)?));
    let bias = cx.like(x, f64::from(call.float_or("bias", 1.0)?));
    let beta = cx.like(x, f64::from(call.float_or("beta", 0.75)?));
    let scaled = cx.binary(BinaryOp::Mul, mean, alpha)?;
    let base = cx.binary(BinaryOp::Add, scaled, bias)?;
    let divisor = cx.binary(BinaryOp::Pow, base, beta)?;
    let y = cx.binary(BinaryOp::Div, x, divisor)?;
    cx.one(y)
}

fn mean_variance_norm<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let rank = cx.rank(x);
    let axes = call.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    let axes = axes.into_iter().map(|a| crate::call::axis_of(a, rank)).collect::<Outcome<Vec<_>>>()?;
    let (mean, variance) = moments(cx, x, &axes, true)?;
    let centred = cx.binary(BinaryOp::Sub, x, mean)?;
    let deviation = cx.unary(UnaryOp::Sqrt, variance)?;
    let epsilon = cx.like(x, 1e-9);
    let divisor = cx.binary(BinaryOp::Add, deviation, epsilon)?;
    let y = cx.binary(BinaryOp::Div, centred, divisor)?;
    cx.one(y)
}

/// One where the index is the class, the class along a new axis. Indices outside give no one.
fn one_hot<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (indices, values) = (call.x(cx, 0)?, call.x(cx, 2)?);
    let depth = cx.i64s(call.value(1)?)?.first().copied().unwrap_or(0);
    let rank = cx.rank(indices);
    let axis = crate::call::axis_of(call.int_or("axis", -1)?, rank + 1)?;
    let index = cx.cast(indices, DType::I64)?;
    let zero = cx.b.scalar(Scalar::zero(DType::I64));
    let below = cx.compare(tenfold_ir::op::CmpOp::Lt, index, zero)?;
    let width = cx.b.scalar(Scalar::int(DType::I64, i128::from(depth)));
    let wrapped = cx.binary(BinaryOp::Add, index, width)?;
    let index = cx.select(below, wrapped, index)?;
    let index = cx.expand_dims(index, axis)?;
    let classes = Op::Arange { start: int(0), step: int(1), extent: int(depth), dtype: DType::I64 };
    let classes = cx.emit(classes, &[])?;
    let mut shape = vec![int(1); rank + 1];
    shape[axis] = int(depth);
    let classes = cx.reshape(classes, &shape)?;
    let hit = cx.compare(tenfold_ir::op::CmpOp::Eq, index, classes)?;
    let off = cx.part(values, 0, int(0), int(1))?;
    let on = cx.part(values, 0, int(1), int(1))?;
    let (off, on) = (cx.reshape(off, &[])?, cx.reshape(on, &[])?);
    let y = cx.select(hit, on, off)?;
    cx.one(y)
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("AveragePool", 1, |cx, call| super::same(cx, call, "average_pool")),
    op("BatchNormalization", 7, batch_norm),
    op("Conv", 1, |cx, call| super::same(cx, call, "conv")),
    op("ConvTranspose", 1, |cx, call| super::same(cx, call, "conv_transpose")),
    op("DeformConv", 19, |cx, call| super::same(cx, call, "deform_conv")),
    op("Einsum", 12, |cx, call| super::same(cx, call, "einsum")),
    op("Gemm", 7, gemm),
    op("GlobalAveragePool", 1, |cx, call| global_pool(cx, call, ReduceOp::Mean)),
    op("GlobalLpPool", 2, |cx, call| super::same(cx, call, "global_lp_pool")),
    op("GlobalMaxPool", 1, |cx, call| global_pool(cx, call, ReduceOp::Max)),
    op("GroupNormalization", 18, group_norm),
    op("InstanceNormalization", 6, instance_norm),
    op("LRN", 1, lrn),
    op("LayerNormalization", 17, layer_norm),
    op("LogSoftmax", 1, |cx, call| softmax(cx, call, true)),
    op("LpPool", 2, |cx, call| super::same(cx, call, "lp_pool")),
    op("MatMul", 1, matmul),
    op("MaxPool", 1, max_pool),
    op("MeanVarianceNormalization", 9, mean_variance_norm),
    op("OneHot", 9, one_hot),
    op("RMSNormalization", 23, rms_norm),
    op("Softmax", 1, |cx, call| softmax(cx, call, false)),
];
