//! Contractions, as one block each: what a matmul and a convolution share, and the matmul.
//!
//! Where sums are wider than the result (halves), they have a buffer of their own and are rounded once.

use tenfold_ir::op::BinaryOp;
use tenfold_ir::relax::{Binding, TensorType};
use tenfold_ir::tir::{Access, BufId, ExprId, VarId};
use tenfold_ir::{DType, Scalar};

use super::reduce::accumulator;
use crate::lower::kernel::Accumulate;
use crate::lower::{Finished, Kernel};

pub(super) type Vars = [(VarId, ExprId)];
/// The two factors at an index of the output and of the reduction.
pub(super) type Factors<'f> = dyn Fn(&mut Kernel<'_>, &[ExprId], &[ExprId]) -> (ExprId, ExprId) + 'f;
/// What a sum starts at, for an index of the output.
pub(super) type Start<'f> = dyn Fn(&mut Kernel<'_>, &[ExprId], DType) -> ExprId + 'f;

/// A contraction's loops.
pub(super) struct Nest<'v> {
    pub(super) name: &'static str,
    pub(super) spatial: &'v Vars,
    pub(super) inner: &'v Vars,
}

/// `out = start + Σ product of the factors`.
pub(super) fn contract(
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
