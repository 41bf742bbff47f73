//! Pooling over windows.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::relax::{Binding, DataLayout, Part, PoolOp, ValueId, Window};
use tenfold_ir::tir::{BufId, ExprId, Stmt};
use tenfold_ir::{DType, Scalar};

use super::conv::window_index;
use super::reduce::accumulator;
use crate::lower::{Finished, Kernel};

/// `out[n, c, o…] = op over taps of x[n, c, o * stride + tap * dilation - pad]`, or with axes in another order.
pub(super) fn pool(mut k: Kernel<'_>, binding: &Binding, op: PoolOp, window: &Window, layout: DataLayout) -> Finished {
    let parts = layout.parts(window.kernel.len());
    let x = binding.args[0];
    let (xs, ty) = (k.tensor(x).shape, k.tensor(binding.out));
    let out = k.output(&ty);
    let outer = k.vars("o", &ty.shape);
    let kernel: Vec<_> = window.kernel.iter().map(|e| IntExpr::from(*e)).collect();
    let dtype = match op {
        PoolOp::Max => ty.dtype,
        PoolOp::Average { .. } => accumulator(ty.dtype),
    };
    let whole = is_whole(window, &parts, &xs, &ty.shape);
    k.spatial("pool", &outer, |k| {
        let start = match op {
            PoolOp::Max => Scalar::least(dtype),
            PoolOp::Average { .. } => Scalar::zero(dtype),
        };
        let start = k.b.scalar(start);
        let acc = k.b.local("acc", start);
        let averages = matches!(op, PoolOp::Average { .. }) && !whole;
        let zero = k.b.scalar(Scalar::zero(DType::I32));
        let count = averages.then(|| k.b.local("count", zero));
        let taps = k.vars("r", &kernel);
        k.reduction(&taps, |k| {
            let (at, tap) = (k.read_all(&outer), k.read_all(&taps));
            let mut source = at.clone();
            if whole {
                for (place, part) in parts.iter().enumerate().filter(|(_, part)| part.axis() >= 2) {
                    let axis = part.axis() - 2;
                    source[place] = window_index(k, window, axis, at[place], tap[axis], &xs[place]).0;
                }
                return combine(k, op, x, &source, acc, dtype);
            }
            let (mut inside, mut counted) = (None, None);
            for (place, part) in parts.iter().enumerate().filter(|(_, part)| part.axis() >= 2) {
                let axis = part.axis() - 2;
                let (i, _) = window_index(k, window, axis, at[place], tap[axis], &xs[place]);
                // With ceil_mode the last window may reach past the padding too, so every axis is checked.
                let extent = k.b.int_expr(&xs[place]);
                let ok = k.within(i, extent);
                let after = k.b.index(window.pads[axis + window.pads.len() / 2]);
                let padded = k.b.add(extent, after);
                let near = k.b.compare(tenfold_ir::op::CmpOp::Lt, i, padded);
                inside = Some(inside.map_or(ok, |all| k.b.and(all, ok)));
                counted = Some(counted.map_or(near, |all| k.b.and(all, near)));
                source[place] = i;
            }
            let then = k.capture(|k| combine(k, op, x, &source, acc, dtype));
            let always = k.b.scalar(Scalar::bool(true));
            let cond = inside.unwrap_or(always);
            k.b.push(Stmt::If { cond, then: Box::new(then), otherwise: None });
            let Some(count) = count else { return };
            let include_pad = matches!(op, PoolOp::Average { count_include_pad: true });
            let counts = if include_pad { counted.unwrap_or(always) } else { cond };
            let then = k.capture(|k| {
                let (old, one) = (k.b.read_local(count), k.b.scalar(Scalar::one(DType::I32)));
                let new = k.b.add(old, one);
                k.b.store(count, vec![], new);
            });
            k.b.push(Stmt::If { cond: counts, then: Box::new(then), otherwise: None });
        });
        let mut value = k.b.read_local(acc);
        if let Some(count) = count {
            let n = k.b.read_local(count);
            let n = k.b.cast(dtype, n);
            value = k.b.div(value, n);
        } else if matches!(op, PoolOp::Average { .. }) {
            let taps = k.b.index(window.kernel.iter().product());
            let taps = k.b.cast(dtype, taps);
            value = k.b.div(value, taps);
        }
        let value = k.b.cast(ty.dtype, value);
        let at = k.read_all(&outer);
        k.b.store(out, at, value);
    });
    k.finish(out)
}

/// Takes an element into what a window has so far.
fn combine(k: &mut Kernel<'_>, op: PoolOp, x: ValueId, source: &[ExprId], acc: BufId, dtype: DType) {
    let value = k.element(x, source);
    let value = k.b.cast(dtype, value);
    let old = k.b.read_local(acc);
    let combine = match op {
        PoolOp::Max => BinaryOp::Max,
        PoolOp::Average { .. } => BinaryOp::Add,
    };
    let new = k.b.binary(combine, old, value);
    k.b.store(acc, vec![], new);
}

/// Whether every window lies inside of the operand, so that its loops need no condition and may be vectors.
fn is_whole(window: &Window, parts: &[Part], x: &[IntExpr], out: &[IntExpr]) -> bool {
    let fits = |(place, part): (usize, &Part)| {
        let Some(axis) = part.axis().checked_sub(2) else { return Some(true) };
        let read = (out[place].as_const()? - 1) * window.strides[axis] + window.reach(axis);
        Some(read <= x[place].as_const()?)
    };
    window.pads.iter().all(|p| *p == 0) && parts.iter().enumerate().all(|it| fits(it) == Some(true))
}
