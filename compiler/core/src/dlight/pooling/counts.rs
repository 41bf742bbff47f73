//! How many elements of a window count: along each axis as many as lie between its ends.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Builder, ExprId};
use tenfold_ir::{DType, Scalar};

use super::window::{Axis, Pool};

/// Those of a window that begins at these places, as an `i32`.
pub(super) fn all(b: &mut Builder, pool: &Pool, begins: &[IntExpr]) -> ExprId {
    let count = pool.axes.iter().zip(begins).fold(IntExpr::from(1), |n, (axis, begin)| &n * &along(axis, begin));
    let count = b.int_expr(&count);
    b.cast(DType::I32, count)
}

/// Those along an axis of a window that begins there.
fn along(axis: &Axis, begin: &IntExpr) -> IntExpr {
    let Some(counted) = &axis.counted else { return IntExpr::from(axis.taps) };
    let end = before(axis, &(&counted.end - begin)).minimum(&IntExpr::from(axis.taps));
    let none = IntExpr::from(0);
    let first = if counted.from_first { before(axis, &-begin).maximum(&none) } else { none.clone() };
    (&end - &first).maximum(&none)
}

/// How many elements stand at so many places, or fewer than none.
fn before(axis: &Axis, places: &IntExpr) -> IntExpr {
    (places + (axis.dilation - 1)).floor_div(&IntExpr::from(axis.dilation))
}

/// The same of windows side by side along one axis, in small numbers, which vectors have more of: those of all other
/// axes, times those of the window `window` of several of which the first begins at `begin` and the last ends `reach`
/// behind.
pub(super) fn beside(
    b: &mut Builder,
    pool: &Pool,
    column: usize,
    begins: &[IntExpr],
    reach: &IntExpr,
    window: &IntExpr,
) -> ExprId {
    let axis = &pool.axes[column];
    let (none, begin) = (IntExpr::from(0), &begins[column]);
    let others = pool.axes.iter().zip(begins).enumerate().filter(|(n, _)| *n != column);
    let others = others.fold(IntExpr::from(1), |n, (_, (axis, begin))| &n * &along(axis, begin));
    let Some(counted) = &axis.counted else {
        let count = b.int_expr(&(&others * axis.taps));
        return b.cast(DType::I32, count);
    };
    let within = |places: &IntExpr| places.maximum(&none).minimum(reach);
    let moved = small(b, window);
    let moved = scaled(b, moved, axis.stride);
    let end = small(b, &within(&(&counted.end - begin)));
    let end = elements(b, axis, end, moved);
    let taps = number(b, axis.taps);
    let mut count = b.binary(BinaryOp::Min, end, taps);
    let zero = number(b, 0);
    if counted.from_first {
        let first = small(b, &within(&-begin));
        let first = elements(b, axis, first, moved);
        let first = b.binary(BinaryOp::Max, first, zero);
        count = b.sub(count, first);
    }
    count = b.binary(BinaryOp::Max, count, zero);
    if others.as_const() == Some(1) {
        return count;
    }
    let others = small(b, &others);
    b.mul(count, others)
}

/// How many elements stand before a place, counted from where windows have moved to.
fn elements(b: &mut Builder, axis: &Axis, place: ExprId, moved: ExprId) -> ExprId {
    let left = b.sub(place, moved);
    if axis.dilation == 1 {
        return left;
    }
    let (up, by) = (number(b, axis.dilation - 1), number(b, axis.dilation));
    let left = b.add(left, up);
    b.binary(BinaryOp::DivEuclid, left, by)
}

fn small(b: &mut Builder, e: &IntExpr) -> ExprId {
    match e.as_const() {
        Some(n) => number(b, n),
        None => {
            let e = b.int_expr(e);
            b.cast(DType::I32, e)
        }
    }
}

fn scaled(b: &mut Builder, e: ExprId, by: i64) -> ExprId {
    if by == 1 {
        return e;
    }
    let by = number(b, by);
    b.mul(e, by)
}

fn number(b: &mut Builder, n: i64) -> ExprId {
    b.scalar(Scalar::int(DType::I32, i128::from(n)))
}
