//! Softmax and layer normalisation: a few stages, each over the rows or over all.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::relax::{Binding, ValueId};
use tenfold_ir::tir::{Access, BufId, ExprId};
use tenfold_ir::{DType, Scalar};

use super::reduce::accumulator;
use crate::lower::kernel::{Accumulate, PerPoint};
use crate::lower::{Finished, Kernel};

/// What a normalisation works on.
struct Rows<'b> {
    x: ValueId,
    out: BufId,
    /// Shape of all.
    shape: &'b [IntExpr],
    /// The axes of a row.
    row: std::ops::Range<usize>,
    /// What is computed with.
    wide: DType,
    /// Of the result.
    dtype: DType,
}

impl Rows<'_> {
    fn outer(&self) -> Vec<IntExpr> {
        [&self.shape[..self.row.start], &self.shape[self.row.end..]].concat()
    }

    /// The index of an element from those of its row and in its row.
    fn index(&self, outer: &[ExprId], at: &[ExprId]) -> Vec<ExprId> {
        [&outer[..self.row.start], at, &outer[self.row.start..]].concat()
    }

    /// The index of the row of an element.
    fn row_of(&self, index: &[ExprId]) -> Vec<ExprId> {
        [&index[..self.row.start], &index[self.row.end..]].concat()
    }

    fn element(&self, k: &mut Kernel<'_>, index: &[ExprId]) -> ExprId {
        let value = k.element(self.x, index);
        k.b.cast(self.wide, value)
    }

    /// A stage that folds `f` over each row.
    fn fold(&self, k: &mut Kernel<'_>, name: &str, start: Scalar, op: BinaryOp, f: &PerPoint<'_>) -> BufId {
        let outer = self.outer();
        let target = k.between(name, self.wide, &outer);
        let (spatial, reduced) = (k.vars("i", &outer), k.vars("r", &self.shape[self.row.clone()]));
        let (spatial, reduced) = (&spatial[..], &reduced[..]);
        let sum = Accumulate { name, target, at: &|_, i| i.to_vec(), op, spatial, reduced };
        k.accumulate(&sum, &|k, _| k.b.scalar(start), f);
        target
    }

    /// A stage that computes one number per row.
    fn per_row(&self, k: &mut Kernel<'_>, name: &str, f: impl FnOnce(&mut Kernel<'_>, &[ExprId]) -> ExprId) -> BufId {
        let outer = self.outer();
        let target = k.between(name, self.wide, &outer);
        let vars = k.vars("i", &outer);
        map(k, name, target, &vars, f);
        target
    }

    /// A stage that writes the result.
    fn finish(&self, k: &mut Kernel<'_>, name: &str, f: impl FnOnce(&mut Kernel<'_>, &[ExprId]) -> ExprId) {
        let vars = k.vars("i", self.shape);
        map(k, name, self.out, &vars, |k, at| {
            let value = f(k, at);
            k.b.cast(self.dtype, value)
        });
    }

    /// `sum / number of elements of a row`.
    fn over_count(&self, k: &mut Kernel<'_>, sum: ExprId) -> ExprId {
        let count = self.shape[self.row.clone()].iter().fold(IntExpr::from(1), |n, d| &n * d);
        let count = k.b.int_expr(&count);
        let count = k.b.cast(self.wide, count);
        k.b.div(sum, count)
    }
}

/// `target[i] = f(i)`.
fn map(
    k: &mut Kernel<'_>,
    name: &str,
    target: BufId,
    vars: &[(tenfold_ir::tir::VarId, ExprId)],
    f: impl FnOnce(&mut Kernel<'_>, &[ExprId]) -> ExprId,
) {
    k.spatial(name, vars, |k| {
        let at = k.read_all(vars);
        let value = f(k, &at);
        k.b.store(target, at, value);
    });
}

fn load(k: &mut Kernel<'_>, buf: BufId, index: Vec<ExprId>) -> ExprId {
    k.b.load(buf, index, Access::Proven)
}

/// `exp(x - max) * (1 / sum)`, or `x - max - log(sum)`; rounded once for halves.
pub(super) fn softmax(mut k: Kernel<'_>, binding: &Binding, axis: usize, log: bool) -> Finished {
    let ty = k.tensor(binding.out);
    let out = k.output(&ty);
    let wide = accumulator(ty.dtype);
    let rows = Rows { x: binding.args[0], out, shape: &ty.shape, row: axis..axis + 1, wide, dtype: ty.dtype };
    let k_mut = &mut k;
    let max =
        rows.fold(k_mut, "max", Scalar::least(wide), BinaryOp::Max, &|k, i, r| rows.element(k, &rows.index(i, r)));
    let shifted = |k: &mut Kernel<'_>, at: &[ExprId]| {
        let (value, max) = (rows.element(k, at), load(k, max, rows.row_of(at)));
        k.b.sub(value, max)
    };
    let power = |k: &mut Kernel<'_>, at: &[ExprId]| {
        let d = shifted(k, at);
        k.b.exp_nonpositive(d)
    };
    let zero = Scalar::zero(wide);
    if log {
        let sum = rows.fold(k_mut, "sum", zero, BinaryOp::Add, &|k, i, r| power(k, &rows.index(i, r)));
        let logs = rows.per_row(k_mut, "log", |k, i| {
            let sum = load(k, sum, i.to_vec());
            k.b.unary(UnaryOp::Log, sum)
        });
        rows.finish(k_mut, "log_softmax", |k, at| {
            let (d, l) = (shifted(k, at), load(k, logs, rows.row_of(at)));
            k.b.sub(d, l)
        });
        return k.finish(out);
    }
    // Where the result is as wide as the sum, each exponential is computed once and may be kept in its place.
    let kept = (wide == ty.dtype).then(|| k_mut.between("exp", wide, &ty.shape));
    if let Some(kept) = kept {
        let vars = k_mut.vars("i", &ty.shape);
        map(k_mut, "exp", kept, &vars, power);
    }
    let exp = |k: &mut Kernel<'_>, at: &[ExprId]| match kept {
        Some(kept) => load(k, kept, at.to_vec()),
        None => power(k, at),
    };
    let sum = rows.fold(k_mut, "sum", zero, BinaryOp::Add, &|k, i, r| exp(k, &rows.index(i, r)));
    // The sum is 1 or more, so its inverse is a normal number; a row has one division.
    let inverse = rows.per_row(k_mut, "inverse", |k, i| {
        let (one, sum) = (k.b.scalar(Scalar::one(wide)), load(k, sum, i.to_vec()));
        k.b.div(one, sum)
    });
    rows.finish(k_mut, "softmax", |k, at| {
        let (e, inverse) = (exp(k, at), load(k, inverse, rows.row_of(at)));
        k.b.mul(e, inverse)
    });
    k.finish(out)
}

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias` over axes `axis..`.
pub(super) fn layer_norm(mut k: Kernel<'_>, binding: &Binding, axis: usize, epsilon: f64) -> Finished {
    let ty = k.tensor(binding.out);
    let out = k.output(&ty);
    let wide = accumulator(ty.dtype);
    let rows = Rows { x: binding.args[0], out, shape: &ty.shape, row: axis..ty.shape.len(), wide, dtype: ty.dtype };
    let k_mut = &mut k;
    let zero = Scalar::zero(wide);
    let sum = rows.fold(k_mut, "sum", zero, BinaryOp::Add, &|k, i, r| rows.element(k, &rows.index(i, r)));
    let mean = rows.per_row(k_mut, "mean", |k, i| {
        let sum = load(k, sum, i.to_vec());
        rows.over_count(k, sum)
    });
    let centred = |k: &mut Kernel<'_>, at: &[ExprId]| {
        let (value, mean) = (rows.element(k, at), load(k, mean, rows.row_of(at)));
        k.b.sub(value, mean)
    };
    let squares = rows.fold(k_mut, "squares", zero, BinaryOp::Add, &|k, i, r| {
        let d = centred(k, &rows.index(i, r));
        k.b.mul(d, d)
    });
    let inverse = rows.per_row(k_mut, "inverse", |k, i| {
        let sum = load(k, squares, i.to_vec());
        let (variance, eps) = (rows.over_count(k, sum), k.b.float(wide, epsilon));
        let safe = k.b.add(variance, eps);
        k.b.unary(UnaryOp::Rsqrt, safe)
    });
    rows.finish(k_mut, "layer_norm", |k, at| {
        let (d, inverse) = (centred(k, at), load(k, inverse, rows.row_of(at)));
        let n = k.b.mul(d, inverse);
        scaled(k, &rows, binding, n, at)
    });
    k.finish(out)
}

/// `n * scale + bias`.
fn scaled(k: &mut Kernel<'_>, rows: &Rows<'_>, binding: &Binding, n: ExprId, at: &[ExprId]) -> ExprId {
    let scale = k.broadcast_element(binding.args[1], at);
    let scale = k.b.cast(rows.wide, scale);
    let value = k.b.mul(n, scale);
    let Some(bias) = binding.args.get(2) else { return value };
    let bias = k.broadcast_element(*bias, at);
    let bias = k.b.cast(rows.wide, bias);
    k.b.add(value, bias)
}
