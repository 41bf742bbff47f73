//! Products, convolutions and pools.

use super::call::{bool_attr, int_attr, ints_attr, missing, tensor, values};
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::{AttrDef, OpCall, OpDef};
use crate::op::ReduceOp;
use crate::relax::{Builder, ConvLayout, DataLayout, Op, PoolOp, TensorType, ValueId, Window, dim};

const STRIDES: AttrDef = AttrDef { name: "strides", ty: "list = all 1", doc: "step per spatial axis" };
const PADS: AttrDef =
    AttrDef { name: "pads", ty: "list = all 0", doc: "padding before each spatial axis, then after each" };
const DILATIONS: AttrDef =
    AttrDef { name: "dilations", ty: "list = all 1", doc: "distance of window elements per spatial axis" };
const KERNEL: AttrDef = AttrDef { name: "kernel_shape", ty: "list", doc: "extent of the window per spatial axis" };
const CEIL: AttrDef = AttrDef { name: "ceil_mode", ty: "bool = false", doc: "whether a last, partial window counts" };

fn matmul(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let args = values(b, call, 0)?;
    b.emit(Op::MatMul, &args)
}

/// The window's attributes, with defaults for `spatial` axes.
fn window(call: &OpCall, kernel: Vec<i64>) -> Result<Window, OpError> {
    let n = kernel.len();
    Ok(Window {
        kernel,
        strides: ints_attr(call, "strides")?.unwrap_or_else(|| vec![1; n]),
        pads: ints_attr(call, "pads")?.unwrap_or_else(|| vec![0; 2 * n]),
        dilations: ints_attr(call, "dilations")?.unwrap_or_else(|| vec![1; n]),
    })
}

/// The spatial extents of a kernel, which must be fixed.
fn kernel_of(w: &TensorType) -> Result<Vec<i64>, OpError> {
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
    let window = window(call, kernel_of(b.tensor(args[1]))?)?;
    let group = int_attr(call, "group")?.unwrap_or(1);
    b.emit(Op::Conv { window, group, layout: ConvLayout::default() }, &args)
}

fn pool(b: &mut Builder, call: &OpCall, op: PoolOp) -> Result<ValueId, OpError> {
    let (x, _) = tensor(b, call, 0)?;
    let kernel = ints_attr(call, "kernel_shape")?.ok_or_else(|| missing("kernel_shape", "[2, 2]"))?;
    let window = window(call, kernel)?;
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
        &[STRIDES, PADS, DILATIONS, AttrDef { name: "group", ty: "int = 1", doc: "number of groups of channels" },],
        conv,
        "y[n, m, i…] = bias[m] + Σ x[n, c, i · stride + k · dilation - pad…] · w[m, c, k…]; x is [N, C, spatial…], w is [M, C / group, kernel…]; outside x lie zeros."
    ),
    graph!(
        "max_pool",
        "MaxPool",
        "x",
        (1, 1),
        &[KERNEL, STRIDES, PADS, DILATIONS, CEIL],
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
