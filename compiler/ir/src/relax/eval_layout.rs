//! Convolutions and pools in any layout: as the plain ones, on operands in plain order.

use super::layout::{in_plain_order, inverse, permutation};
use super::{ConvLayout, DataLayout, Part, PoolOp, Window, eval_ops};
use crate::eval::Value;

/// The tensor in plain order.
fn plain(parts: &[Part], x: &Value) -> Value {
    let sorted = eval_ops::transpose(&inverse(&permutation(parts)), x);
    let mut shape = vec![1; parts.iter().map(|p| p.axis() + 1).max().unwrap_or(0)];
    for (part, extent) in in_plain_order(parts).iter().zip(&sorted.shape) {
        shape[part.axis()] *= extent;
    }
    Value { shape, ..sorted }
}

/// A tensor in plain order as it is stored.
fn stored(parts: &[Part], x: Value) -> Value {
    let extent = |part: &Part| match *part {
        Part::Whole(axis) => x.shape[axis],
        Part::Outer(axis, block) => x.shape[axis] / block as usize,
        Part::Inner(_, block) => block as usize,
    };
    let shape = in_plain_order(parts).iter().map(extent).collect();
    eval_ops::transpose(&permutation(parts), &Value { shape, ..x })
}

pub(super) fn conv(window: &Window, group: i64, layout: ConvLayout, args: &[&Value]) -> Value {
    let spatial = window.kernel.len();
    let Some(result) = layout.result().filter(|_| layout != ConvLayout::default()) else {
        return eval_ops::conv(window, group, args);
    };
    let (x, w) = (plain(&layout.data.parts(spatial), args[0]), plain(&layout.kernel.parts(spatial), args[1]));
    let all: Vec<&Value> = [&x, &w].into_iter().chain(args[2..].iter().copied()).collect();
    stored(&result.parts(spatial), eval_ops::conv(window, group, &all))
}

pub(super) fn pool(op: PoolOp, window: &Window, layout: DataLayout, shape: &[usize], x: &Value) -> Value {
    let parts = layout.parts(window.kernel.len());
    let mut plain_out = vec![1; window.kernel.len() + 2];
    parts.iter().zip(shape).for_each(|(part, extent)| plain_out[part.axis()] *= extent);
    stored(&parts, eval_ops::pool(op, window, &plain_out, &plain(&parts, x)))
}
