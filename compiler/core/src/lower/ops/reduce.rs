//! Reductions over axes.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{ArgOp, BinaryOp, CmpOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{Binding, ValueId};
use tenfold_ir::tir::{Access, ExprId, VarId};
use tenfold_ir::{DType, Scalar};

use crate::lower::kernel::Accumulate;
use crate::lower::{Finished, Kernel};

/// The dtype that sums of `dtype` accumulate in.
pub(super) fn accumulator(dtype: DType) -> DType {
    ReduceOp::Sum.accumulator(dtype)
}

/// The axes of `rank` that stay, and the operand's index from the kept and the reduced variables.
fn interleave(rank: usize, axes: &[usize], kept: &[ExprId], reduced: &[ExprId]) -> Vec<ExprId> {
    let (mut kept, mut reduced) = (kept.iter(), reduced.iter());
    (0..rank).filter_map(|axis| if axes.contains(&axis) { reduced.next() } else { kept.next() }).copied().collect()
}

/// Splits the operand's shape into the kept and the reduced extents.
fn split(shape: &[IntExpr], axes: &[usize]) -> (Vec<IntExpr>, Vec<IntExpr>) {
    let part = |want: bool| (0..shape.len()).filter(|a| axes.contains(a) == want).map(|a| shape[a].clone()).collect();
    (part(false), part(true))
}

/// The result's index: the kept variables, with zeros where reduced axes stay.
fn result_index(k: &mut Kernel<'_>, rank: usize, axes: &[usize], keepdims: bool, kept: &[ExprId]) -> Vec<ExprId> {
    if !keepdims {
        return kept.to_vec();
    }
    let zero = k.b.index(0);
    interleave(rank, axes, kept, &vec![zero; axes.len()])
}

/// `out[kept] = op over reduced of x[kept, reduced]`.
pub(super) fn reduce(mut k: Kernel<'_>, binding: &Binding, op: ReduceOp, axes: &[usize], keepdims: bool) -> Finished {
    let x = binding.args[0];
    let (ty, out_ty) = (k.tensor(x), k.tensor(binding.out));
    let rank = ty.shape.len();
    let out = k.output(&out_ty);
    let (kept_shape, reduced_shape) = split(&ty.shape, axes);
    let (kept, reduced) = (k.vars("i", &kept_shape), k.vars("r", &reduced_shape));
    let wide = op.accumulator(ty.dtype);
    let direct = wide == out_ty.dtype && op != ReduceOp::Mean;
    let target = if direct { out } else { k.between("acc", wide, &kept_shape) };
    let at = |k: &mut Kernel<'_>, i: &[ExprId]| {
        if direct { result_index(k, rank, axes, keepdims, i) } else { i.to_vec() }
    };
    let (spatial, inner) = (&kept[..], &reduced[..]);
    let sum = Accumulate { name: "reduce", target, at: &at, op: op.combiner(), spatial, reduced: inner };
    k.accumulate(&sum, &|k, _| k.b.scalar(op.unit(wide)), &|k, i, r| {
        let value = k.element(x, &interleave(rank, axes, i, r));
        k.b.cast(wide, value)
    });
    if !direct {
        let vars = k.again(&kept);
        k.spatial("finish", &vars, |k| {
            let i = k.read_all(&vars);
            let mut value = k.b.load(target, i.clone(), Access::Proven);
            if op == ReduceOp::Mean {
                value = over(k, value, &reduced_shape, wide);
            }
            let value = k.b.cast(out_ty.dtype, value);
            let index = result_index(k, rank, axes, keepdims, &i);
            k.b.store(out, index, value);
        });
    }
    k.finish(out)
}

/// `sum / product of shape`.
fn over(k: &mut Kernel<'_>, sum: ExprId, shape: &[IntExpr], dtype: DType) -> ExprId {
    let count = shape.iter().fold(IntExpr::from(1), |n, d| &n * d);
    let count = k.b.int_expr(&count);
    let count = k.b.cast(dtype, count);
    k.b.div(sum, count)
}

/// Index of the first extreme, or of the first NaN.
pub(super) fn arg_reduce(
    mut k: Kernel<'_>,
    binding: &Binding,
    op: ArgOp,
    axis: Option<usize>,
    keepdims: bool,
) -> Finished {
    let x = binding.args[0];
    let ty = k.tensor(x);
    let out_ty = k.tensor(binding.out);
    let out = k.output(&out_ty);
    let axes: Vec<usize> = axis.map_or_else(|| (0..ty.shape.len()).collect(), |a| vec![a]);
    let (kept_shape, reduced_shape) = split(&ty.shape, &axes);
    let kept = k.vars("i", &kept_shape);
    let reduced = k.vars("r", &reduced_shape);
    k.spatial("arg_reduce", &kept, |k| {
        let zero = k.b.index(0);
        let i = k.read_all(&kept);
        let first_index = interleave(ty.shape.len(), &axes, &i, &vec![zero; axes.len()]);
        let first = k.element(x, &first_index);
        let best = k.b.local("best", first);
        let start = k.b.scalar(Scalar::zero(DType::I64));
        let place = k.b.local("place", start);
        k.loops(&reduced, |k| visit(k, x, &axes, &kept, &reduced, op, (best, place)));
        let value = k.b.read_local(place);
        let value = k.b.cast(out_ty.dtype, value);
        let i = k.read_all(&kept);
        let index = if axis.is_none() && keepdims {
            vec![k.b.index(0); ty.shape.len()]
        } else {
            result_index(k, ty.shape.len(), &axes, keepdims, &i)
        };
        k.b.store(out, index, value);
    });
    k.finish(out)
}

type Vars = [(VarId, ExprId)];

fn visit(
    k: &mut Kernel<'_>,
    x: ValueId,
    axes: &[usize],
    kept: &Vars,
    reduced: &Vars,
    op: ArgOp,
    (best, place): (tenfold_ir::tir::BufId, tenfold_ir::tir::BufId),
) {
    let (i, r) = (k.read_all(kept), k.read_all(reduced));
    let rank = i.len() + r.len();
    let loaded = k.element(x, &interleave(rank, axes, &i, &r));
    let var = k.b.let_("v", loaded);
    let (value, old) = (k.b.read(var), k.b.read_local(best));
    let cmp = match op {
        ArgOp::ArgMax => CmpOp::Gt,
        ArgOp::ArgMin => CmpOp::Lt,
    };
    let mut better = k.b.compare(cmp, value, old);
    let dtype = k.tensor(x).dtype;
    if dtype.is_float() {
        let (new_nan, old_nan) = (k.b.unary(UnaryOp::IsNan, value), k.b.unary(UnaryOp::IsNan, old));
        let known = k.b.unary(UnaryOp::Not, old_nan);
        let first_nan = k.b.binary(BinaryOp::And, new_nan, known);
        better = k.b.binary(BinaryOp::Or, better, first_nan);
    }
    let mut flat = k.b.index(0);
    for ((_, extent), at) in reduced.iter().zip(&r) {
        let scaled = k.b.mul(flat, *extent);
        flat = k.b.add(scaled, *at);
    }
    let flat = k.b.cast(DType::I64, flat);
    let then = k.capture(|k| {
        k.b.store(best, vec![], value);
        k.b.store(place, vec![], flat);
    });
    k.b.push(tenfold_ir::tir::Stmt::If { cond: better, then: Box::new(then), otherwise: None });
}
