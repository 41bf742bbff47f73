//! The transforms of F(2x2, 3x3), each as one step along an axis that is taken along both.

use tenfold_ir::DType;
use tenfold_ir::tir::{Builder, ExprId};

/// Of 4 elements, sums that are multiplied.
pub(super) fn data(b: &mut Builder, d: [ExprId; 4]) -> [ExprId; 4] {
    [b.sub(d[0], d[2]), b.add(d[1], d[2]), b.sub(d[2], d[1]), b.sub(d[1], d[3])]
}

/// Of 3 weights, what these are multiplied with.
pub(super) fn weights(b: &mut Builder, dtype: DType, g: [ExprId; 3]) -> [ExprId; 4] {
    let half = b.float(dtype, 0.5);
    let outer = b.add(g[0], g[2]);
    let (more, less) = (b.add(outer, g[1]), b.sub(outer, g[1]));
    [g[0], b.mul(more, half), b.mul(less, half), g[2]]
}

/// Of 4 products, 2 results.
pub(super) fn results(b: &mut Builder, m: [ExprId; 4]) -> [ExprId; 2] {
    let (first, less) = (b.add(m[0], m[1]), b.sub(m[1], m[2]));
    [b.add(first, m[2]), b.sub(less, m[3])]
}
