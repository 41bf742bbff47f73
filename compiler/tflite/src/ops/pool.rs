//! Windows without weights.

use tenfold_ir::DType;
use tenfold_ir::op::{BinaryOp, CmpOp, ReduceOp};
use tenfold_ir::relax::{DataLayout, Op, PoolOp, ValueId, Window};

use super::conv::{LAYOUT, is_same, padding, positive};
use super::{Activation, Family, Kind, Results, kind};
use crate::walk::{Call, Cx, Outcome, fault};

pub(super) const FAMILY: Family = &[("AVERAGE_POOL_2D", average), ("MAX_POOL_2D", max)];

/// The windows of a pool over an operand of that shape.
fn window(call: &Call<'_>, x: &[i64]) -> Outcome<Window> {
    let [_, height, width, channels] = x[..] else {
        return fault(format!("its operand must have 4 axes, found {x:?}"));
    };
    if call.options().is_none() {
        return fault("its options are missing");
    }
    if height < 1 || width < 1 || channels < 1 {
        return fault(format!("its operand {x:?} has no elements"));
    }
    let strides = vec![positive(call.option(2, 0)?, "stride")?, positive(call.option(1, 0)?, "stride")?];
    let kernel = vec![positive(call.option(4, 0)?, "window")?, positive(call.option(3, 0)?, "window")?];
    let same = is_same(call.byte(0)?)?;
    let (top, bottom) = padding(same, height, kernel[0], strides[0])?;
    let (left, right) = padding(same, width, kernel[1], strides[1])?;
    Ok(Window { kernel, strides, pads: vec![top, left, bottom, right], dilations: vec![1, 1] })
}

fn pooled(cx: &mut Cx<'_>, x: ValueId, op: PoolOp, window: Window) -> Outcome<ValueId> {
    cx.emit(Op::Pool { op, window, ceil_mode: false, layout: DataLayout::ChannelsLast }, &[x])
}

fn same_quantisation(call: &Call<'_>) -> Outcome<()> {
    match call.quant(0)? == call.out_quant()? {
        true => Ok(()),
        false => fault("its operand and its result must have one scale and one zero point"),
    }
}

fn max<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let kind = kind(call, 0)?;
    let x = call.x(cx, 0)?;
    let window = window(call, &cx.shape(x))?;
    let activation = Activation::of(call.byte(5)?)?;
    let y = pooled(cx, x, PoolOp::Max, window)?;
    if kind == Kind::Float {
        return Ok(vec![activation.floats(cx, y)?]);
    }
    same_quantisation(call)?;
    Ok(vec![clamped(cx, y, activation.integers(call.out_quant()?))?])
}

/// Integers of 8 bits within bounds.
fn clamped(cx: &mut Cx<'_>, x: ValueId, (low, high): (i32, i32)) -> Outcome<ValueId> {
    let x = if low > -128 { cx.with(BinaryOp::Max, x, i64::from(low))? } else { x };
    if high < 127 { cx.with(BinaryOp::Min, x, i64::from(high)) } else { Ok(x) }
}

/// How many elements of a window lie inside, for each place of an axis.
fn inside(extent: i64, window: &Window, axis: usize) -> Vec<i64> {
    let (before, after) = (window.pads[axis], window.pads[axis + 2]);
    let (kernel, stride) = (window.kernel[axis], window.strides[axis]);
    let count = (extent + before + after - kernel) / stride + 1;
    let at = |i: i64| ((i * stride - before + kernel).min(extent) - (i * stride - before).max(0)).max(0);
    (0..count).map(at).collect()
}

/// Extents of what is averaged over padded windows, at most: each window has a count of its own.
const MOST_PADDED: i64 = 1 << 12;

fn average<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let kind = kind(call, 0)?;
    let x = call.x(cx, 0)?;
    let shape = cx.shape(x);
    let window = window(call, &shape)?;
    let activation = Activation::of(call.byte(5)?)?;
    if kind == Kind::Float {
        let y = pooled(cx, x, PoolOp::Average { count_include_pad: false }, window)?;
        return Ok(vec![activation.floats(cx, y)?]);
    }
    same_quantisation(call)?;
    let is_padded = window.pads.iter().any(|pad| *pad != 0);
    if is_padded && shape[1..3].iter().any(|extent| *extent > MOST_PADDED) {
        return fault(format!("windows over {shape:?} are padded, and extents of {MOST_PADDED} are the most"));
    }
    let (rows, columns) = match is_padded {
        true => (inside(shape[1], &window, 0), inside(shape[2], &window, 1)),
        false => (vec![window.kernel[0]], vec![window.kernel[1]]),
    };
    let counts: Vec<i32> = rows.iter().flat_map(|r| columns.iter().map(move |c| (r * c) as i32)).collect();
    let sum = if window.kernel == shape[1..3] && !is_padded {
        // of another shape, so that what computes the operand stores its bytes, and no words
        let rows = cx.reshape(x, &[shape[0], shape[1] * shape[2], shape[3]])?;
        let wide = cx.cast(rows, DType::I32)?;
        let sum = cx.reduce(ReduceOp::Sum, wide, &[1], true)?;
        cx.reshape(sum, &[shape[0], 1, 1, shape[3]])?
    } else {
        let wide = cx.cast(x, DType::I32)?;
        let channels = shape[3];
        let [height, width] = window.kernel[..] else { return fault("a window has two axes") };
        let count = (height * width).checked_mul(channels).filter(|n| *n <= 1 << 24);
        let Some(count) = count else { return fault("its windows have more than 2^24 elements") };
        let ones = cx.computed(DType::I8, &[height, width, 1, channels], vec![1; count as usize]);
        let ones = cx.cast(ones, DType::I32)?;
        cx.emit(Op::Conv { window, group: channels, layout: LAYOUT }, &[wide, ones])?
    };
    let equal = counts.iter().all(|count| *count == counts[0]);
    let extents = if equal { vec![] } else { vec![1, rows.len() as i64, columns.len() as i64, 1] };
    let counts = if equal { vec![counts[0]] } else { counts };
    let y = mean(cx, sum, &extents, &counts)?;
    let y = cx.cast(y, DType::I8)?;
    Ok(vec![clamped(cx, y, activation.integers(call.out_quant()?))?])
}

/// Sums divided by counts, to the nearest integer with halves away from zero.
pub(super) fn mean(cx: &mut Cx<'_>, sum: ValueId, shape: &[i64], counts: &[i32]) -> Outcome<ValueId> {
    let halves: Vec<i32> = counts.iter().map(|count| count / 2).collect();
    let (counts, halves) = (cx.i32s(shape, counts), cx.i32s(shape, &halves));
    let zero = cx.int(DType::I32, 0);
    let above = cx.compare(CmpOp::Gt, sum, zero)?;
    let (up, down) = (cx.binary(BinaryOp::Add, sum, halves)?, cx.binary(BinaryOp::Sub, sum, halves)?);
    let moved = cx.select(above, up, down)?;
    cx.binary(BinaryOp::Div, moved, counts)
}
