//! Reductions over axes.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{ArgOp, BinaryOp, CmpOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{Binding, ValueId};
use tenfold_ir::tir::{Access, BufId, ExprId, VarId};
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
///
/// Along rows it is two reductions, which run in lanes: the extreme, and the least index of an element that is it. The
/// second one finds the row in the cache. Along columns one loop keeps both, which reads everything once.
pub(super) fn arg_reduce(k: Kernel<'_>, binding: &Binding, op: ArgOp, axis: Option<usize>, keepdims: bool) -> Finished {
    let ty = k.tensor(binding.args[0]);
    let axes: Vec<usize> = axis.map_or_else(|| (0..ty.shape.len()).collect(), |a| vec![a]);
    let arg = ArgReduce { x: binding.args[0], op, axes, all: axis.is_none() && keepdims, keepdims };
    if arg.axes.last().is_some_and(|a| a + 1 == ty.shape.len()) {
        along_rows(k, binding, &arg)
    } else {
        along_columns(k, binding, &arg)
    }
}

/// What `arg_reduce` is asked for.
struct ArgReduce {
    x: ValueId,
    op: ArgOp,
    axes: Vec<usize>,
    /// Whether all axes are reduced and stay.
    all: bool,
    keepdims: bool,
}

impl ArgReduce {
    /// The index of the result.
    fn result(&self, k: &mut Kernel<'_>, rank: usize, kept: &[ExprId]) -> Vec<ExprId> {
        if self.all {
            return vec![k.b.index(0); rank];
        }
        result_index(k, rank, &self.axes, self.keepdims, kept)
    }
}

/// Integers that count so many elements, as narrow as may be.
fn counting(shape: &[IntExpr]) -> DType {
    let count = shape.iter().try_fold(1_i64, |n, d| n.checked_mul(d.as_const()?));
    if count.is_some_and(|n| n < i64::from(i32::MAX)) { DType::I32 } else { DType::I64 }
}

/// The place among all reduced elements, in row-major order.
fn flat(k: &mut Kernel<'_>, reduced: &Vars, at: &[ExprId], dtype: DType) -> ExprId {
    let mut flat = k.b.index(0);
    for ((_, extent), at) in reduced.iter().zip(at) {
        let scaled = k.b.mul(flat, *extent);
        flat = k.b.add(scaled, *at);
    }
    k.b.cast(dtype, flat)
}

fn along_rows(mut k: Kernel<'_>, binding: &Binding, arg: &ArgReduce) -> Finished {
    let (ty, out_ty) = (k.tensor(arg.x), k.tensor(binding.out));
    let rank = ty.shape.len();
    let out = k.output(&out_ty);
    let (kept_shape, reduced_shape) = split(&ty.shape, &arg.axes);
    let best = k.between("best", ty.dtype, &kept_shape);
    let counted = counting(&reduced_shape);
    let place = k.between("place", counted, &kept_shape);
    let own = |_: &mut Kernel<'_>, i: &[ExprId]| i.to_vec();
    let extreme = match arg.op {
        ArgOp::ArgMax => ReduceOp::Max,
        ArgOp::ArgMin => ReduceOp::Min,
    };
    let (kept, reduced) = (k.vars("i", &kept_shape), k.vars("r", &reduced_shape));
    let (name, op, at) = ("extreme", extreme.combiner(), &own);
    let of_best = Accumulate { name, target: best, at, op, spatial: &kept, reduced: &reduced };
    k.accumulate(&of_best, &|k, _| k.b.scalar(extreme.unit(ty.dtype)), &|k, i, r| {
        k.element(arg.x, &interleave(rank, &arg.axes, i, r))
    });
    let (kept, reduced) = (k.again(&kept), k.again(&reduced));
    let (name, op) = ("place", BinaryOp::Min);
    let of_place = Accumulate { name, target: place, at, op, spatial: &kept, reduced: &reduced };
    k.accumulate(&of_place, &|k, _| k.b.scalar(Scalar::greatest(counted)), &|k, i, r| {
        let value = k.element(arg.x, &interleave(rank, &arg.axes, i, r));
        let best = k.b.load(best, i.to_vec(), Access::Proven);
        let mut is_it = k.b.compare(CmpOp::Eq, value, best);
        if ty.dtype.is_float() {
            // If there is a NaN, the extreme is one, and equals nothing.
            let nan = k.b.unary(UnaryOp::IsNan, value);
            is_it = k.b.binary(BinaryOp::Or, is_it, nan);
        }
        let (here, none) = (flat(k, &reduced, r, counted), k.b.scalar(Scalar::greatest(counted)));
        k.b.select(is_it, here, none)
    });
    let kept = k.again(&kept);
    k.spatial("finish", &kept, |k| {
        let i = k.read_all(&kept);
        let value = k.b.load(place, i.clone(), Access::Proven);
        let value = k.b.cast(out_ty.dtype, value);
        let index = arg.result(k, rank, &i);
        k.b.store(out, index, value);
    });
    k.finish(out)
}

fn along_columns(mut k: Kernel<'_>, binding: &Binding, arg: &ArgReduce) -> Finished {
    let (ty, out_ty) = (k.tensor(arg.x), k.tensor(binding.out));
    let rank = ty.shape.len();
    let out = k.output(&out_ty);
    let (kept_shape, reduced_shape) = split(&ty.shape, &arg.axes);
    let (kept, reduced) = (k.vars("i", &kept_shape), k.vars("r", &reduced_shape));
    let counted = counting(&reduced_shape);
    k.spatial("arg_reduce", &kept, |k| {
        let zero = k.b.index(0);
        let i = k.read_all(&kept);
        let first = k.element(arg.x, &interleave(rank, &arg.axes, &i, &vec![zero; arg.axes.len()]));
        let best = k.b.local("best", first);
        let start = k.b.scalar(Scalar::zero(counted));
        let place = k.b.local("place", start);
        k.loops(&reduced, |k| visit(k, arg, &kept, &reduced, counted, (best, place)));
        let value = k.b.read_local(place);
        let value = k.b.cast(out_ty.dtype, value);
        let i = k.read_all(&kept);
        let index = arg.result(k, rank, &i);
        k.b.store(out, index, value);
    });
    k.finish(out)
}

type Vars = [(VarId, ExprId)];

fn visit(
    k: &mut Kernel<'_>,
    arg: &ArgReduce,
    kept: &Vars,
    reduced: &Vars,
    counted: DType,
    (best, place): (BufId, BufId),
) {
    let (i, r) = (k.read_all(kept), k.read_all(reduced));
    let loaded = k.element(arg.x, &interleave(i.len() + r.len(), &arg.axes, &i, &r));
    let var = k.b.let_("v", loaded);
    let (value, old) = (k.b.read(var), k.b.read_local(best));
    let cmp = match arg.op {
        ArgOp::ArgMax => CmpOp::Gt,
        ArgOp::ArgMin => CmpOp::Lt,
    };
    let mut better = k.b.compare(cmp, value, old);
    if k.tensor(arg.x).dtype.is_float() {
        let (new_nan, old_nan) = (k.b.unary(UnaryOp::IsNan, value), k.b.unary(UnaryOp::IsNan, old));
        let known = k.b.unary(UnaryOp::Not, old_nan);
        let first_nan = k.b.binary(BinaryOp::And, new_nan, known);
        better = k.b.binary(BinaryOp::Or, better, first_nan);
    }
    let better = k.b.let_("better", better);
    let better = k.b.read(better);
    let (here, before) = (flat(k, reduced, &r, counted), k.b.read_local(place));
    // Values are chosen, so that columns side by side take the same way.
    let new = k.b.select(better, value, old);
    let here = k.b.select(better, here, before);
    k.b.store(best, vec![], new);
    k.b.store(place, vec![], here);
}
