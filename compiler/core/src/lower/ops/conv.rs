//! Convolution, as one block, in every layout.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::relax::{Binding, ConvLayout, Part, Window, plain_shape};
use tenfold_ir::tir::ExprId;
use tenfold_ir::{DType, Scalar};

use super::contract::{Nest, contract};
use crate::lower::{Finished, Kernel};

/// What each axis of the operands counts, and their extents in plain order.
struct Axes {
    x: Vec<Part>,
    w: Vec<Part>,
    out: Vec<Part>,
    x_shape: Vec<IntExpr>,
    w_shape: Vec<IntExpr>,
    group: i64,
}

/// ONNX Conv. Indices that padding adds are skipped by a condition; `PadConv` removes them from the loops.
pub(super) fn conv(mut k: Kernel<'_>, binding: &Binding, window: &Window, group: i64, layout: ConvLayout) -> Finished {
    let (x, w) = (binding.args[0], binding.args[1]);
    let (xs, ws, ty) = (k.tensor(x).shape, k.tensor(w).shape, k.tensor(binding.out));
    let axes = axes(layout, group, window.kernel.len(), (&xs, &ws));
    let out = k.output(&ty);
    let spatial = k.vars("o", &ty.shape);
    let inner = axes.w.iter().zip(&ws).filter(|(part, _)| part.axis() != 0).map(|(_, extent)| extent.clone());
    let taps = k.vars("r", &inner.collect::<Vec<_>>());
    let nest = Nest { name: "conv", spatial: &spatial, inner: &taps };
    let bias = |k: &mut Kernel<'_>, at: &[ExprId], dtype: DType| match binding.args.get(2) {
        Some(bias) => {
            let channel = whole(k, &axes.out, at, 1);
            let value = k.element(*bias, &[channel]);
            k.b.cast(dtype, value)
        }
        None => k.b.scalar(Scalar::zero(dtype)),
    };
    contract(&mut k, out, &ty, &nest, &bias, &|k, at, tap| {
        let weight = weight_index(&axes, at, tap);
        let (source, inside) = source_index(k, &axes, window, at, &weight);
        let weight = k.element(w, &weight);
        let loaded = k.element(x, &source);
        let value = match inside {
            None => loaded,
            Some(ok) => {
                let loaded = k.b.cast(ty.dtype, loaded);
                let zero = k.b.scalar(Scalar::zero(ty.dtype));
                k.b.if_(ok, loaded, zero)
            }
        };
        (value, weight)
    });
    k.finish(out)
}

fn axes(layout: ConvLayout, group: i64, spatial: usize, (xs, ws): (&[IntExpr], &[IntExpr])) -> Axes {
    let (x, w) = (layout.data.parts(spatial), layout.kernel.parts(spatial));
    let out = layout.result().unwrap_or_default().parts(spatial);
    let (x_shape, w_shape) = (plain_shape(&x, xs), plain_shape(&w, ws));
    Axes { x, w, out, x_shape, w_shape, group }
}

/// The index along a plain axis, of the indices of its parts.
fn whole(k: &mut Kernel<'_>, parts: &[Part], at: &[ExprId], axis: usize) -> ExprId {
    let of = |wanted: fn(&Part) -> bool| {
        let found = parts.iter().zip(at).find(|(part, _)| part.axis() == axis && wanted(part));
        found.map(|(part, at)| (*part, *at))
    };
    match (of(|p| !matches!(p, Part::Inner(..))), of(|p| matches!(p, Part::Inner(..)))) {
        (Some((_, outer)), Some((Part::Inner(_, block), inner))) => {
            let block = k.b.index(block);
            let first = k.b.mul(outer, block);
            k.b.add(first, inner)
        }
        (Some((_, whole)), _) => whole,
        (None, _) => k.b.index(0),
    }
}

/// The index of a weight: its output channel is the result's, in the same parts; the rest are taps.
fn weight_index(axes: &Axes, at: &[ExprId], tap: &[ExprId]) -> Vec<ExprId> {
    let mut taps = tap.iter();
    let channels: Vec<ExprId> = axes.out.iter().zip(at).filter(|(p, _)| p.axis() == 1).map(|(_, at)| *at).collect();
    let own = |part: &Part| match part {
        Part::Whole(0) | Part::Outer(0, _) => channels.first().copied(),
        Part::Inner(0, _) => channels.last().copied(),
        Part::Whole(_) | Part::Outer(..) | Part::Inner(..) => taps.next().copied(),
    };
    axes.w.iter().filter_map(own).collect()
}

/// The index of the operand's element that a weight meets, and the condition that it is no padding, if there is any.
fn source_index(
    k: &mut Kernel<'_>,
    axes: &Axes,
    window: &Window,
    at: &[ExprId],
    weight: &[ExprId],
) -> (Vec<ExprId>, Option<ExprId>) {
    let channel = input_channel(k, axes, at, weight);
    let (mut source, mut inside) = (Vec::new(), None);
    for part in &axes.x {
        let index = match *part {
            Part::Whole(0) => whole(k, &axes.out, at, 0),
            Part::Whole(axis) if axis >= 2 => {
                let (o, tap) = (whole(k, &axes.out, at, axis), whole(k, &axes.w, weight, axis));
                let (i, ok) = window_index(k, window, axis - 2, o, tap, &axes.x_shape[axis]);
                inside = match (inside, ok) {
                    (Some(all), Some(ok)) => Some(k.b.and(all, ok)),
                    (one, None) | (None, one) => one,
                };
                i
            }
            Part::Whole(_) | Part::Outer(..) => channel.0,
            Part::Inner(..) => channel.1,
        };
        source.push(index);
    }
    (source, inside)
}

/// The operand's channel: its block and the place inside, the same twice where channels are whole.
///
/// Blocks that are the weights' own need no arithmetic, nor do those of the result where each channel meets its own.
fn input_channel(k: &mut Kernel<'_>, axes: &Axes, at: &[ExprId], weight: &[ExprId]) -> (ExprId, ExprId) {
    let block = axes.x.iter().find_map(|p| if let Part::Inner(1, block) = p { Some(*block) } else { None });
    let Some(block) = block else {
        let channel = plain_channel(k, axes, at, weight);
        return (channel, channel);
    };
    let pair = |parts: &[Part], index: &[ExprId], inner: Part| {
        let at = |wanted: Part| parts.iter().position(|p| *p == wanted).map(|i| index[i]);
        Some((at(Part::Outer(1, block))?, at(inner)?))
    };
    let inner = Part::Inner(1, block);
    let own = if axes.group == 1 { pair(&axes.w, weight, inner) } else { None };
    let same = if depthwise(axes) { pair(&axes.out, at, inner) } else { None };
    own.or(same).unwrap_or_else(|| {
        let channel = plain_channel(k, axes, at, weight);
        let block = k.b.index(block);
        (k.b.binary(BinaryOp::DivEuclid, channel, block), k.b.binary(BinaryOp::RemEuclid, channel, block))
    })
}

/// Whether every channel of the result is made of the channel of its number alone.
fn depthwise(axes: &Axes) -> bool {
    let group = IntExpr::from(axes.group);
    axes.w_shape[1].as_const() == Some(1) && axes.w_shape[0] == group && axes.x_shape[1] == group
}

/// `group of the output channel * channels per group + tap`.
fn plain_channel(k: &mut Kernel<'_>, axes: &Axes, at: &[ExprId], weight: &[ExprId]) -> ExprId {
    let tap = whole(k, &axes.w, weight, 1);
    if axes.group == 1 {
        return tap;
    }
    if depthwise(axes) {
        return whole(k, &axes.out, at, 1);
    }
    let per_group = axes.w_shape[0].trunc_div(&IntExpr::from(axes.group));
    let (per_group, channels) = (k.b.int_expr(&per_group), k.b.int_expr(&axes.w_shape[1]));
    let out = whole(k, &axes.out, at, 1);
    let g = k.b.div(out, per_group);
    let first = k.b.mul(g, channels);
    k.b.add(first, tap)
}

/// The operand's index of a window's tap, and the condition that it is no padding, if there is any.
pub(super) fn window_index(
    k: &mut Kernel<'_>,
    window: &Window,
    axis: usize,
    out: ExprId,
    tap: ExprId,
    extent: &IntExpr,
) -> (ExprId, Option<ExprId>) {
    let scaled = scale(k, out, window.strides[axis]);
    let reach = scale(k, tap, window.dilations[axis]);
    let sum = k.b.add(scaled, reach);
    let before = window.pads[axis];
    let after = window.pads[axis + window.pads.len() / 2];
    if before == 0 && after == 0 {
        return (sum, None);
    }
    let shift = k.b.index(before);
    let at = if before == 0 { sum } else { k.b.sub(sum, shift) };
    let extent = k.b.int_expr(extent);
    let ok = k.within(at, extent);
    (at, Some(ok))
}

fn scale(k: &mut Kernel<'_>, e: ExprId, by: i64) -> ExprId {
    if by == 1 {
        return e;
    }
    let by = k.b.index(by);
    k.b.mul(e, by)
}
