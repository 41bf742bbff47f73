//! Contractions: matmul and convolution, as one block each.
//!
//! Where sums are wider than the result (halves), they have a buffer of their own and are rounded once.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::relax::{Binding, TensorType, Window};
use tenfold_ir::tir::{Access, BufId, ExprId, VarId};
use tenfold_ir::{DType, Scalar};

use super::reduce::accumulator;
use crate::lower::kernel::Accumulate;
use crate::lower::{Finished, Kernel};

type Vars = [(VarId, ExprId)];
/// The two factors at an index of the output and of the reduction.
type Factors<'f> = dyn Fn(&mut Kernel<'_>, &[ExprId], &[ExprId]) -> (ExprId, ExprId) + 'f;
/// What a sum starts at, for an index of the output.
type Start<'f> = dyn Fn(&mut Kernel<'_>, &[ExprId], DType) -> ExprId + 'f;

/// A contraction's loops.
struct Nest<'v> {
    name: &'static str,
    spatial: &'v Vars,
    inner: &'v Vars,
}

fn contract(
    k: &mut Kernel<'_>,
    out: BufId,
    ty: &TensorType,
    nest: &Nest<'_>,
    start: &Start<'_>,
    factors: &Factors<'_>,
) {
    let wide = accumulator(ty.dtype);
    let target = if wide == ty.dtype { out } else { k.between("acc", wide, &ty.shape) };
    let sum = Accumulate {
        name: nest.name,
        target,
        at: &|_, i| i.to_vec(),
        op: BinaryOp::Add,
        spatial: nest.spatial,
        reduced: nest.inner,
    };
    k.accumulate(&sum, &|k, i| start(k, i, wide), &|k, i, r| {
        let (a, b) = factors(k, i, r);
        let (a, b) = (k.b.cast(wide, a), k.b.cast(wide, b));
        k.b.mul(a, b)
    });
    if target != out {
        let vars = k.again(nest.spatial);
        k.spatial("round", &vars, |k| {
            let at = k.read_all(&vars);
            let value = k.b.load(target, at.clone(), Access::Proven);
            let value = k.b.cast(ty.dtype, value);
            k.b.store(out, at, value);
        });
    }
}

/// NumPy's matmul: the last two axes contract, the others broadcast; a vector lacks its row or column axis.
pub(super) fn matmul(mut k: Kernel<'_>, binding: &Binding) -> Finished {
    let (x, w) = (binding.args[0], binding.args[1]);
    let (xs, ws, ty) = (k.tensor(x).shape, k.tensor(w).shape, k.tensor(binding.out));
    let out = k.output(&ty);
    let (has_row, has_column) = (xs.len() > 1, ws.len() > 1);
    let outer = ty.shape.len() - usize::from(has_column);
    let batch = outer - usize::from(has_row);
    let rows = k.vars("i", &ty.shape[..outer]);
    let columns = k.vars("j", &ty.shape[outer..]);
    let inner = k.vars("k", &xs[xs.len() - 1..]);
    let spatial = [rows, columns].concat();
    let nest = Nest { name: "matmul", spatial: &spatial, inner: &inner };
    let zero = |k: &mut Kernel<'_>, _: &[ExprId], dtype: DType| k.b.scalar(Scalar::zero(dtype));
    contract(&mut k, out, &ty, &nest, &zero, &|k, at, r| {
        let left = [&at[..batch], &at[batch..outer], r].concat();
        let right = [&at[..batch], r, &at[outer..]].concat();
        (k.broadcast_element(x, &left), k.broadcast_element(w, &right))
    });
    k.finish(out)
}

/// ONNX Conv. Indices that padding adds are skipped by a condition; `PadConv` removes them from the loops.
pub(super) fn conv(mut k: Kernel<'_>, binding: &Binding, window: &Window, group: i64) -> Finished {
    let (x, w) = (binding.args[0], binding.args[1]);
    let (xs, ws, ty) = (k.tensor(x).shape, k.tensor(w).shape, k.tensor(binding.out));
    let out = k.output(&ty);
    let spatial = k.vars("o", &ty.shape);
    let taps = k.vars("r", &ws[1..]);
    let nest = Nest { name: "conv", spatial: &spatial, inner: &taps };
    let bias = |k: &mut Kernel<'_>, at: &[ExprId], dtype: DType| match binding.args.get(2) {
        Some(bias) => {
            let value = k.element(*bias, &at[1..2]);
            k.b.cast(dtype, value)
        }
        None => k.b.scalar(Scalar::zero(dtype)),
    };
    contract(&mut k, out, &ty, &nest, &bias, &|k, at, tap| {
        let mut source = vec![at[0], input_channel(k, at, tap, &ws, &ty, group)];
        let mut inside: Option<ExprId> = None;
        for axis in 0..at.len() - 2 {
            let (i, ok) = window_index(k, window, axis, at[axis + 2], tap[axis + 1], &xs[axis + 2]);
            source.push(i);
            inside = match (inside, ok) {
                (Some(all), Some(ok)) => Some(k.b.and(all, ok)),
                (one, None) | (None, one) => one,
            };
        }
        let weight = k.element(w, &[&at[1..2], tap].concat());
        let loaded = k.element(x, &source);
        let value = match inside {
            None => loaded,
            Some(ok) => {
                let zero = k.b.scalar(Scalar::zero(ty.dtype));
                k.b.if_(ok, loaded, zero)
            }
        };
        (value, weight)
    });
    k.finish(out)
}

/// `group of the output channel * channels per group + tap`.
fn input_channel(
    k: &mut Kernel<'_>,
    at: &[ExprId],
    tap: &[ExprId],
    ws: &[IntExpr],
    ty: &TensorType,
    group: i64,
) -> ExprId {
    if group == 1 {
        return tap[0];
    }
    let per_group = ty.shape[1].trunc_div(&IntExpr::from(group));
    let (per_group, channels) = (k.b.int_expr(&per_group), k.b.int_expr(&ws[1]));
    let g = k.b.div(at[1], per_group);
    let first = k.b.mul(g, channels);
    k.b.add(first, tap[0])
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
