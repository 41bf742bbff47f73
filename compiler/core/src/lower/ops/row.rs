//! Softmax and layer normalisation: a few passes over each row.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::relax::{Binding, ValueId};
use tenfold_ir::tir::{BufId, ExprId, VarId};
use tenfold_ir::{DType, Scalar};

use super::reduce::accumulator;
use crate::lower::{Finished, Kernel};

type Vars = [(VarId, ExprId)];

/// Folds `f` of each element of a row into a new local, which it returns.
fn fold_row(
    k: &mut Kernel<'_>,
    name: &str,
    start: Scalar,
    op: BinaryOp,
    shape: &[IntExpr],
    f: impl Fn(&mut Kernel<'_>, &[ExprId]) -> ExprId,
) -> ExprId {
    let start = k.b.scalar(start);
    let acc = k.b.local(name, start);
    let vars = k.vars("r", shape);
    k.reduction(&vars, |k| {
        let r = k.read_all(&vars);
        let value = f(k, &r);
        let old = k.b.read_local(acc);
        let new = k.b.binary(op, old, value);
        k.b.store(acc, vec![], new);
    });
    let value = k.b.read_local(acc);
    let var = k.b.let_(&format!("{name}_all"), value);
    k.b.read(var)
}

/// The index with `at` inserted at `axis`.
fn with_axis(outer: &[ExprId], axis: usize, at: ExprId) -> Vec<ExprId> {
    let mut index = outer.to_vec();
    index.insert(axis, at);
    index
}

/// `exp(x - max) / sum`, or `x - max - log(sum)`; rounded once for halves.
pub(super) fn softmax(mut k: Kernel<'_>, binding: &Binding, axis: usize, log: bool) -> Finished {
    let x = binding.args[0];
    let ty = k.tensor(binding.out);
    let out = k.output(&ty);
    let dtype = accumulator(ty.dtype);
    let mut outer_shape = ty.shape.clone();
    let row = vec![outer_shape.remove(axis)];
    let outer = k.vars("i", &outer_shape);
    k.spatial("softmax", &outer, |k| {
        let wide = |k: &mut Kernel<'_>, r: &[ExprId]| {
            let i = k.read_all(&outer);
            let value = k.element(x, &with_axis(&i, axis, r[0]));
            k.b.cast(dtype, value)
        };
        let max = fold_row(k, "max", Scalar::least(dtype), BinaryOp::Max, &row, wide);
        let shifted = |k: &mut Kernel<'_>, r: &[ExprId]| {
            let value = wide(k, r);
            k.b.sub(value, max)
        };
        // Where the result is as wide as the sum, each exponential is computed once and kept in its place.
        let keep = !log && dtype == ty.dtype;
        if keep {
            let vars = k.vars("e", &row);
            k.loops(&vars, |k| {
                let r = k.read_all(&vars);
                let d = shifted(k, &r);
                let e = k.b.unary(UnaryOp::Exp, d);
                let i = k.read_all(&outer);
                k.b.store(out, with_axis(&i, axis, r[0]), e);
            });
        }
        let power = |k: &mut Kernel<'_>, r: &[ExprId]| {
            if keep {
                let i = k.read_all(&outer);
                return k.b.load(out, with_axis(&i, axis, r[0]), tenfold_ir::tir::Access::Proven);
            }
            let d = shifted(k, r);
            k.b.unary(UnaryOp::Exp, d)
        };
        let sum = fold_row(k, "sum", Scalar::zero(dtype), BinaryOp::Add, &row, power);
        let vars = k.vars("w", &row);
        k.loops(&vars, |k| {
            let r = k.read_all(&vars);
            let value = if log {
                let (d, l) = (shifted(k, &r), k.b.unary(UnaryOp::Log, sum));
                k.b.sub(d, l)
            } else {
                let e = power(k, &r);
                k.b.div(e, sum)
            };
            let value = k.b.cast(ty.dtype, value);
            let i = k.read_all(&outer);
            k.b.store(out, with_axis(&i, axis, r[0]), value);
        });
    });
    k.finish(out)
}

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias` over axes `axis..`.
pub(super) fn layer_norm(mut k: Kernel<'_>, binding: &Binding, axis: usize, epsilon: f64) -> Finished {
    let x = binding.args[0];
    let ty = k.tensor(binding.out);
    let out = k.output(&ty);
    let dtype = accumulator(ty.dtype);
    let outer = k.vars("i", &ty.shape[..axis]);
    let row = ty.shape[axis..].to_vec();
    k.spatial("layer_norm", &outer, |k| {
        let wide = |k: &mut Kernel<'_>, r: &[ExprId]| {
            let i = k.read_all(&outer);
            let value = k.element(x, &[&i[..], r].concat());
            k.b.cast(dtype, value)
        };
        let sum = fold_row(k, "sum", Scalar::zero(dtype), BinaryOp::Add, &row, wide);
        let mean = over_count(k, sum, &row, dtype);
        let squared = |k: &mut Kernel<'_>, r: &[ExprId]| {
            let value = wide(k, r);
            let d = k.b.sub(value, mean);
            k.b.mul(d, d)
        };
        let squares = fold_row(k, "squares", Scalar::zero(dtype), BinaryOp::Add, &row, squared);
        let variance = over_count(k, squares, &row, dtype);
        let eps = k.b.float(dtype, epsilon);
        let safe = k.b.add(variance, eps);
        let inverse = k.b.unary(UnaryOp::Rsqrt, safe);
        let inverse = k.b.let_("inverse", inverse);
        let vars = k.vars("w", &row);
        let ends = Ends { x, scale: binding.args[1], bias: binding.args.get(2).copied(), out, dtype };
        k.loops(&vars, |k| {
            let value = {
                let r = k.read_all(&vars);
                wide(k, &r)
            };
            let d = k.b.sub(value, mean);
            let inverse = k.b.read(inverse);
            let n = k.b.mul(d, inverse);
            finish_row(k, &ends, n, &outer, &vars, ty.dtype);
        });
    });
    k.finish(out)
}

struct Ends {
    x: ValueId,
    scale: ValueId,
    bias: Option<ValueId>,
    out: BufId,
    dtype: DType,
}

fn finish_row(k: &mut Kernel<'_>, ends: &Ends, n: ExprId, outer: &Vars, row: &Vars, dtype: DType) {
    let (i, r) = (k.read_all(outer), k.read_all(row));
    let index = [&i[..], &r[..]].concat();
    debug_assert_eq!(k.tensor(ends.x).shape.len(), index.len());
    let scale = k.broadcast_element(ends.scale, &index);
    let scale = k.b.cast(ends.dtype, scale);
    let mut value = k.b.mul(n, scale);
    if let Some(bias) = ends.bias {
        let bias = k.broadcast_element(bias, &index);
        let bias = k.b.cast(ends.dtype, bias);
        value = k.b.add(value, bias);
    }
    let value = k.b.cast(dtype, value);
    k.b.store(ends.out, index, value);
}

/// `sum / number of elements of the row`, bound to a variable.
fn over_count(k: &mut Kernel<'_>, sum: ExprId, row: &[IntExpr], dtype: DType) -> ExprId {
    let count = row.iter().fold(IntExpr::from(1), |n, d| &n * d);
    let count = k.b.int_expr(&count);
    let count = k.b.cast(dtype, count);
    let mean = k.b.div(sum, count);
    let var = k.b.let_("mean", mean);
    k.b.read(var)
}
