//! Products, convolutions and pools.

use super::call::{bool_attr, int_attr, ints_attr, missing, tensor, values, word_attr};
use super::check::attr_error;
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::{AttrDef, OpCall, OpDef};
use crate::arith::IntExpr;
use crate::op::ReduceOp;
use crate::relax::{Builder, ConvLayout, DataLayout, Op, PoolOp, TensorType, ValueId, Window, dim};

pub(super) const STRIDES: AttrDef = AttrDef { name: "strides", ty: "list = all 1", doc: "step per spatial axis" };
pub(super) const PADS: AttrDef =
    AttrDef { name: "pads", ty: "list = all 0", doc: "padding before each spatial axis, then after each" };
pub(super) const DILATIONS: AttrDef =
    AttrDef { name: "dilations", ty: "list = all 1", doc: "distance of window elements per spatial axis" };
pub(super) const KERNEL: AttrDef =
    AttrDef { name: "kernel_shape", ty: "list", doc: "extent of the window per spatial axis" };
pub(super) const CEIL: AttrDef =
    AttrDef { name: "ceil_mode", ty: "bool = false", doc: "whether a last, partial window counts" };

pub(super) const GROUP: AttrDef = AttrDef { name: "group", ty: "int = 1", doc: "number of groups of channels" };
pub(super) const AUTO_PAD: AttrDef = AttrDef {
    name: "auto_pad",
    ty: "\"notset\" | \"same_upper\" | \"same_lower\" | \"valid\" = \"notset\"",
    doc: "\"same_…\" pads so that ⌈extent / stride⌉ elements result, of an odd padding more behind or before; \"valid\" pads nothing",
};
/// The words of `auto_pad`.
pub(super) const AUTO_PADS: &[&str] = &["notset", "same_upper", "same_lower", "valid"];

fn matmul(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let args = values(b, call, 0)?;
    b.emit(Op::MatMul, &args)
}

/// The window's attributes, with defaults; automatic padding is not looked at.
pub(super) fn plain_window(call: &OpCall, kernel: Vec<i64>) -> Result<Window, OpError> {
    let n = kernel.len();
    Ok(Window {
        kernel,
        strides: ints_attr(call, "strides")?.unwrap_or_else(|| vec![1; n]),
        pads: ints_attr(call, "pads")?.unwrap_or_else(|| vec![0; 2 * n]),
        dilations: ints_attr(call, "dilations")?.unwrap_or_else(|| vec![1; n]),
    })
}

/// The window over an input of these spatial extents.
pub(super) fn window(call: &OpCall, spatial: &[IntExpr], kernel: Vec<i64>) -> Result<Window, OpError> {
    let mut window = plain_window(call, kernel)?;
    let (mode, n) = (word_attr(call, "auto_pad", AUTO_PADS)?, window.kernel.len());
    // what does not fit is reported with the type of the result
    let fits = spatial.len() == n && window.strides.len() == n && window.dilations.len() == n;
    if mode == 0 || !fits || window.strides.iter().any(|s| *s < 1) {
        return Ok(window);
    }
    if call.attrs.contains_key("pads") {
        let error = attr_error("pads", "the padding is given, and follows from `auto_pad` too");
        return Err(error.help("leave one of them out"));
    }
    for (i, extent) in spatial.iter().enumerate().filter(|_| mode < 3) {
        let reach = (window.kernel[i] - 1).saturating_mul(window.dilations[i]) + 1;
        let total = same_padding(extent, window.strides[i], reach)?;
        let small = total / 2;
        (window.pads[i], window.pads[i + n]) = if mode == 1 { (small, total - small) } else { (total - small, small) };
    }
    Ok(window)
}

/// The padding by which a window gives `⌈extent / stride⌉` elements.
fn same_padding(extent: &IntExpr, stride: i64, reach: i64) -> Result<i64, OpError> {
    let steps = dim::div_floor(&(extent + &dim::int(stride - 1)), stride);
    let covered = (steps - dim::int(1)) * dim::int(stride) + dim::int(reach);
    let total = dim::as_int(&(covered - extent.clone()));
    total.map(|total| total.max(0)).ok_or_else(|| {
        let error = attr_error("auto_pad", format!("the padding depends on `{extent}`"));
        error.help(format!("fix the dim, `dims({extent} = 224)`, or write `pads`"))
    })
}

/// The spatial extents of a kernel, which must be fixed.
pub(super) fn kernel_of(w: &TensorType) -> Result<Vec<i64>, OpError> {
    let spatial = w.shape.iter().skip(2);
    spatial
        .map(|extent| {
            dim::as_int(extent).ok_or_else(|| {
                let message = format!("expected fixed kernel extents, found `{extent}` in `{}`", show_tensor(w));
                OpError::new(At::Arg(1), OpErrorKind::Dims, message)
                    .help(format!("fix the dim in the attribute: `dims({extent} = 3)`"))
            })
        })
        .collect()
}

fn conv(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let args = values(b, call, 0)?;
    let kernel = kernel_of(b.tensor(args[1]))?;
    let window = window(call, b.tensor(args[0]).shape.get(2..).unwrap_or_default(), kernel)?;
    let group = int_attr(call, "group")?.unwrap_or(1);
    b.emit(Op::Conv { window, group, layout: ConvLayout::default() }, &args)
}

fn pool(b: &mut Builder, call: &OpCall, op: PoolOp) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let kernel = ints_attr(call, "kernel_shape")?.ok_or_else(|| missing("kernel_shape", "[2, 2]"))?;
    let window = window(call, ty.shape.get(2..).unwrap_or_default(), kernel)?;
    let ceil_mode = bool_attr(call, "ceil_mode", false)?;
    b.emit(Op::Pool { op, window, ceil_mode, layout: DataLayout::default() }, &[x])
}

fn average_pool(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (_, ty) = tensor(b, call, 0)?;
    if !ty.dtype.is_float() {
        return Err(floats(&ty));
    }
    let count_include_pad = bool_attr(call, "count_include_pad", false)?;
    pool(b, call, PoolOp::Average { count_include_pad })
}

fn floats(x: &TensorType) -> OpError {
    let message = format!("expected floats, found `{}`", show_tensor(x));
    OpError::new(At::Arg(0), OpErrorKind::DType, message).help("convert first: `x as f32`")
}

/// A pool over whole spatial axes is a reduction.
fn global_pool(b: &mut Builder, call: &OpCall, op: ReduceOp) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    if ty.shape.len() < 3 {
        let message = format!("expected rank 3 or more, found `{}`", show_tensor(&ty));
        return Err(OpError::new(At::Arg(0), OpErrorKind::Rank, message)
            .help("axes are batch, channel, then one or more spatial axes"));
    }
    b.emit(Op::Reduce { op, axes: (2..ty.shape.len()).collect(), keepdims: true }, &[x])
}

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "matmul",
        "MatMul",
        "a, b",
        (2, 2),
        &[],
        matmul,
        "y[…, i, j] = Σ a[…, i, k] · b[…, k, j]. First axes broadcast; a vector is a row on the left and a column on the right. f16 and bf16 accumulate in f32."
    ),
    graph!(
        "conv",
        "Conv",
        "x, w, bias?",
        (2, 3),
        &[STRIDES, PADS, DILATIONS, AUTO_PAD, GROUP],
        conv,
        "y[n, m, i…] = bias[m] + Σ x[n, c, i · stride + k · dilation - pad…] · w[m, c, k…]; x is [N, C, spatial…], w is [M, C / group, kernel…]; outside x lie zeros."
    ),
    graph!(
        "max_pool",
        "MaxPool",
        "x",
        (1, 1),
        &[KERNEL, STRIDES, PADS, DILATIONS, CEIL, AUTO_PAD],
        |b, call| pool(b, call, PoolOp::Max),
        "The largest element of each window of the spatial axes; padding never wins."
    ),
    graph!(
        "average_pool",
        "AveragePool",
        "x",
        (1, 1),
        &[
            KERNEL,
            STRIDES,
            PADS,
            DILATIONS,
            CEIL,
            AUTO_PAD,
            AttrDef { name: "count_include_pad", ty: "bool = false", doc: "whether padding counts in the divisor" },
        ],
        average_pool,
        "The mean of each window of the spatial axes."
    ),
    graph!(
        "global_max_pool",
        "GlobalMaxPool",
        "x",
        (1, 1),
        &[],
        |b, call| global_pool(b, call, ReduceOp::Max),
        "The largest element of each channel; spatial axes stay with extent 1."
    ),
    graph!(
        "global_average_pool",
        "GlobalAveragePool",
        "x",
        (1, 1),
        &[],
        |b, call| global_pool(b, call, ReduceOp::Mean),
        "The mean of each channel; spatial axes stay with extent 1."
    ),
];
