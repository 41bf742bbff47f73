//! Linear systems and factors of matrices, over the last two axes. Halves are computed in f32.

use super::call::{bool_attr, tensor};
use super::check::{floats, rank_at_least, rank_error, same_dtype, square};
use super::compose::working;
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::kernel::{Buf, Ex, Kernel};
use super::{AttrDef, OpCall, OpDef};
use crate::DType;
use crate::arith::IntExpr;
use crate::op::UnaryOp;
use crate::relax::{Builder, TensorType, ValueId, dim};

/// A matrix of a batch in memory of the kernel.
fn copy<'k>(k: &'k Kernel, name: &str, from: Buf<'k>, outer: &[Ex<'k>], dtype: DType) -> Buf<'k> {
    let shape = from.shape();
    let matrix = k.temp(name, dtype, &shape[shape.len() - 2..]);
    let extents = [matrix.dim(0), matrix.dim(1)];
    k.for_all("c", &extents, |i| matrix.put(i, from.at(&[outer, i].concat()).cast(dtype)));
    matrix
}

fn swap<'k>(m: Buf<'k>, a: &[Ex<'k>], b: &[Ex<'k>]) {
    let (first, second) = (m.at(a).bound("first"), m.at(b).bound("second"));
    m.put(a, second);
    m.put(b, first);
}

/// Takes `m` to an upper triangle by elimination with row exchanges; `swapped` and `below` follow it in other matrices.
/// `below(row, pivot, factor)` is told of every row from which `factor` times the pivot's is taken.
fn eliminate<'k>(k: &'k Kernel, m: Buf<'k>, swapped: impl Fn(Ex<'k>, Ex<'k>), below: impl Fn(Ex<'k>, Ex<'k>, Ex<'k>)) {
    let n = m.dim(0);
    k.for_("pivot", n, |p| {
        let (best, size) = (k.cell("best", p), k.cell("size", m.at(&[p, p]).unary(UnaryOp::Abs)));
        k.for_in("row", p + 1, n, |row| {
            let here = m.at(&[row, p]).unary(UnaryOp::Abs).bound("here");
            k.if_(here.gt(size.now()), || {
                best.set(row);
                size.set(here);
            });
        });
        let q = k.clamped(best.get(), n).bound("other");
        k.if_(q.differs(p), || {
            k.for_("column", n, |c| swap(m, &[p, c], &[q, c]));
            swapped(p, q);
        });
        k.for_in("row", p + 1, n, |row| {
            let factor = (m.at(&[row, p]) / m.at(&[p, p])).bound("factor");
            k.for_in("column", p, n, |c| m.put(&[row, c], m.at(&[row, c]) - factor * m.at(&[p, c])));
            below(row, p, factor);
        });
    });
}

/// The solution of a triangle `m`, in the place of the right side `y`.
fn substitute<'k>(k: &'k Kernel, (m, y): (Buf<'k>, Buf<'k>), (lower, unit): (bool, bool)) {
    let (n, columns) = (m.dim(0), y.dim(1));
    k.for_("step", n, |step| {
        let row = if lower { step } else { n - 1 - step };
        k.for_("column", columns, |c| {
            let rest = k.cell("rest", y.at(&[row, c]));
            let take = |t: Ex<'k>| rest.set(rest.now() - m.at(&[row, t]) * y.at(&[t, c]));
            if lower {
                k.for_("t", row, take)
            } else {
                k.for_in("t", row + 1, n, take)
            };
            let value = rest.get();
            y.put(&[row, c], if unit { value } else { value / m.at(&[row, row]) });
        });
    });
}

/// The sides of a system: a square matrix and as many rows. A vector is a column for the time being.
struct System {
    a: ValueId,
    /// The right side, of rank 2 or more.
    rhs: ValueId,
    ty: TensorType,
    /// The shape of the solution.
    shape: Vec<IntExpr>,
}

fn system(b: &mut Builder, call: &OpCall) -> Result<System, OpError> {
    let (a, left) = tensor(b, call, 0)?;
    let (rhs, right) = tensor(b, call, 1)?;
    floats(0, &left)?;
    same_dtype(1, &right, &left)?;
    square(b, 0, &left)?;
    let rank = left.shape.len();
    let vector = right.shape.len() == 1 && rank == 2;
    if right.shape.len() != rank && !vector {
        return Err(rank_error(1, &if rank == 2 { "1 or 2".to_string() } else { rank.to_string() }, &right));
    }
    (0..rank - 2).try_for_each(|axis| super::check::extent(b, 1, &right, axis, &left.shape[axis]))?;
    let (side, at) = (&left.shape[rank - 1], right.shape.len().saturating_sub(2));
    if !dim::equal(&b.prover, &right.shape[at], side) {
        let found = &right.shape[at];
        let message = format!("expected `{side}` at axis {at}, found `{found}` in `{}`", show_tensor(&right));
        return Err(OpError::new(At::Arg(1), OpErrorKind::Dims, message)
            .also(At::Arg(0), format!("`{side}` comes from `{}`", show_tensor(&left))));
    }
    let shape = right.shape.clone();
    let column = [&right.shape[..], &[dim::int(1)]].concat();
    let rhs = if vector { super::compose::reshape(b, rhs, &column)? } else { rhs };
    Ok(System { a, rhs, ty: b.tensor(rhs).clone(), shape })
}

/// Solves a system row of the batch by row: `f` takes the matrix and the right side, and leaves the solution there.
fn solved(
    b: &mut Builder,
    name: &str,
    system: System,
    f: impl for<'k> Fn(&'k Kernel, Buf<'k>, Buf<'k>),
) -> Result<ValueId, OpError> {
    let System { a, rhs, ty, shape } = system;
    let wide = working(ty.dtype);
    let batch = ty.shape[..ty.shape.len() - 2].to_vec();
    let k = Kernel::new(b, name);
    let (matrix, right) = (k.input(b, a), k.input(b, rhs));
    let out = k.output(ty.clone());
    k.block(name, &batch, |outer| {
        let (m, y) = (copy(&k, "matrix", matrix, outer, wide), copy(&k, "right", right, outer, wide));
        f(&k, m, y);
        let extents = [y.dim(0), y.dim(1)];
        k.for_all("o", &extents, |i| out.put(&[outer, i].concat(), y.at(i).cast(ty.dtype)));
    });
    let solution = k.finish(b)?;
    super::compose::reshape(b, solution, &shape)
}

fn solve(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let system = system(b, call)?;
    solved(b, "solve", system, by_elimination)
}

fn by_elimination<'k>(k: &'k Kernel, m: Buf<'k>, y: Buf<'k>) {
    let columns = y.dim(1);
    eliminate(
        k,
        m,
        |p, q| k.for_("column", columns, |c| swap(y, &[p, c], &[q, c])),
        |row, p, factor| {
            k.for_("column", columns, |c| y.put(&[row, c], y.at(&[row, c]) - factor * y.at(&[p, c])));
        },
    );
    substitute(k, (m, y), (false, false));
}

fn solve_triangular(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let system = system(b, call)?;
    let (lower, unit) = (bool_attr(call, "lower", true)?, bool_attr(call, "unit_diagonal", false)?);
    solved(b, "solve_triangular", system, |k, m, y| substitute(k, (m, y), (lower, unit)))
}

/// The square matrices of operand 0.
fn matrices(b: &mut Builder, call: &OpCall) -> Result<(ValueId, TensorType), OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    square(b, 0, &ty)?;
    Ok((x, ty))
}

fn inv(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (a, ty) = matrices(b, call)?;
    let wide = working(ty.dtype);
    let batch = ty.shape[..ty.shape.len() - 2].to_vec();
    let k = Kernel::new(b, "inv");
    let from = k.input(b, a);
    let out = k.output(ty.clone());
    k.block("inv", &batch, |outer| {
        let m = copy(&k, "matrix", from, outer, wide);
        let y = k.temp("inverse", wide, &m.shape());
        let extents = [y.dim(0), y.dim(1)];
        k.for_all("e", &extents, |i| y.put(i, i[0].equals(i[1]).select(k.lit(wide, 1.0), 0)));
        by_elimination(&k, m, y);
        k.for_all("o", &extents, |i| out.put(&[outer, i].concat(), y.at(i).cast(ty.dtype)));
    });
    k.finish(b)
}

fn det(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (a, ty) = matrices(b, call)?;
    let wide = working(ty.dtype);
    let batch = ty.shape[..ty.shape.len() - 2].to_vec();
    let k = Kernel::new(b, "det");
    let from = k.input(b, a);
    let out = k.output(TensorType { dtype: ty.dtype, shape: batch.clone() });
    k.block("det", &batch, |outer| {
        let m = copy(&k, "matrix", from, outer, wide);
        let product = k.cell("product", k.lit(wide, 1.0));
        eliminate(&k, m, |_, _| product.set(-product.now()), |_, _, _| {});
        k.for_("t", m.dim(0), |t| product.set(product.now() * m.at(&[t, t])));
        out.put(outer, product.get().cast(ty.dtype));
    });
    k.finish(b)
}

/// The lower triangle L with L Lᵀ = a, of which the lower triangle is read.
fn cholesky(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (a, ty) = matrices(b, call)?;
    let wide = working(ty.dtype);
    let batch = ty.shape[..ty.shape.len() - 2].to_vec();
    let k = Kernel::new(b, "cholesky");
    let from = k.input(b, a);
    let out = k.output(ty.clone());
    k.block("cholesky", &batch, |outer| {
        let m = copy(&k, "matrix", from, outer, wide);
        let n = m.dim(0);
        k.for_("column", n, |j| {
            k.for_in("row", j, n, |i| {
                let rest = k.cell("rest", m.at(&[i, j]));
                k.for_("t", j, |t| rest.set(rest.now() - m.at(&[i, t]) * m.at(&[j, t])));
                let value = rest.get();
                let root = value.unary(UnaryOp::Sqrt);
                k.if_else(i.equals(j), || m.put(&[j, j], root), || m.put(&[i, j], value / m.at(&[j, j])));
            });
        });
        k.for_all("o", &[n, n], |i| {
            let value = i[1].le(i[0]).select(m.at(i), 0);
            out.put(&[outer, i].concat(), value.cast(ty.dtype));
        });
    });
    k.finish(b)
}

/// Permutation, lower triangle with a diagonal of 1, upper triangle: a = p l u.
fn lu(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (a, ty) = matrices(b, call)?;
    let wide = working(ty.dtype);
    let batch = ty.shape[..ty.shape.len() - 2].to_vec();
    let k = Kernel::new(b, "lu");
    let from = k.input(b, a);
    let [permutation, lower, upper] = [0; 3].map(|_| k.output(ty.clone()));
    k.block("lu", &batch, |outer| {
        let m = copy(&k, "matrix", from, outer, wide);
        let (l, rows) = (k.temp("factors", wide, &m.shape()), k.temp("rows", DType::I64, &m.shape()[..1]));
        let n = m.dim(0);
        k.for_("row", n, |i| rows.put(&[i], i.cast(DType::I64)));
        k.for_all("e", &[n, n], |i| l.put(i, i[0].equals(i[1]).select(k.lit(wide, 1.0), 0)));
        eliminate(
            &k,
            m,
            |p, q| {
                swap(rows, &[p], &[q]);
                k.for_("t", p, |t| swap(l, &[p, t], &[q, k.clamped(t, n)]));
            },
            |row, p, factor| l.put(&[row, p], factor),
        );
        k.for_all("o", &[n, n], |i| {
            let to = [outer, i].concat();
            let one = rows.at(&[i[1]]).index().equals(i[0]);
            permutation.put(&to, one.select(k.lit(ty.dtype, 1.0), 0));
            lower.put(&to, l.at(i).cast(ty.dtype));
            upper.put(&to, i[1].ge(i[0]).select(m.at(i), 0).cast(ty.dtype));
        });
    });
    k.finish(b)
}

/// Q with orthonormal columns and R, by Householder's reflections: a = q r, reduced as in NumPy.
fn qr(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (a, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    rank_at_least(0, &ty, 2)?;
    let rank = ty.shape.len();
    let (rows, columns) = (ty.shape[rank - 2].clone(), ty.shape[rank - 1].clone());
    if !dim::at_most(&b.prover, &columns, &rows) {
        let message = format!("expected as many rows as columns or more, found `{}`", show_tensor(&ty));
        return Err(OpError::new(At::Arg(0), OpErrorKind::Dims, message)
            .help(format!("state a fact: `dims({rows} >= {columns})`, or transpose")));
    }
    let wide = working(ty.dtype);
    let batch = ty.shape[..rank - 2].to_vec();
    let k = Kernel::new(b, "qr");
    let from = k.input(b, a);
    let q = k.output(ty.clone());
    let square = [batch.as_slice(), &[columns.clone(), columns.clone()]].concat();
    let r = k.output(TensorType { dtype: ty.dtype, shape: square });
    k.block("qr", &batch, |outer| {
        let m = copy(&k, "matrix", from, outer, wide);
        let (basis, scale) = (k.temp("basis", wide, &m.shape()), k.temp("scale", wide, std::slice::from_ref(&columns)));
        let (high, width) = (m.dim(0), m.dim(1));
        k.for_("column", width, |j| reflect(&k, (m, scale), j, wide));
        k.for_all("e", &[high, width], |i| basis.put(i, i[0].equals(i[1]).select(k.lit(wide, 1.0), 0)));
        k.for_("step", width, |step| apply(&k, (m, scale), width - 1 - step, (basis, k.int(0))));
        k.for_all("o", &[high, width], |i| q.put(&[outer, i].concat(), basis.at(i).cast(ty.dtype)));
        k.for_all("o", &[width, width], |i| {
            let value = i[1].ge(i[0]).select(m.at(i), 0);
            r.put(&[outer, i].concat(), value.cast(ty.dtype));
        });
    });
    k.finish(b)
}

/// The reflection that makes column `j` 0 below the diagonal, as LAPACK scales it: 1 on the diagonal of the vector,
/// what is below in the column, and `scale`. Then what it does to the columns behind.
fn reflect<'k>(k: &'k Kernel, (m, scale): (Buf<'k>, Buf<'k>), j: Ex<'k>, wide: DType) {
    let high = m.dim(0);
    let below = k.cell("below", k.lit(wide, 0.0));
    k.for_in("row", j + 1, high, |i| below.set(below.now() + m.at(&[i, j]) * m.at(&[i, j])));
    scale.put(&[j], k.lit(wide, 0.0));
    k.if_(below.now().gt(0), || {
        let head = m.at(&[j, j]).bound("head");
        let norm = (head * head + below.get()).unary(UnaryOp::Sqrt);
        let left = head.ge(0).select(-norm, norm).bound("left");
        scale.put(&[j], (left - head) / left);
        k.for_in("row", j + 1, high, |i| m.put(&[i, j], m.at(&[i, j]) / (head - left)));
        m.put(&[j, j], left);
    });
    apply(k, (m, scale), j, (m, j + 1));
}

/// Reflection `j` of `m`, applied to the columns of `to` from one on.
fn apply<'k>(k: &'k Kernel, (m, scale): (Buf<'k>, Buf<'k>), j: Ex<'k>, (to, first): (Buf<'k>, Ex<'k>)) {
    let (high, width) = (m.dim(0), m.dim(1));
    k.for_in("to", first, width, |c| {
        let dot = k.cell("dot", to.at(&[j, c]));
        k.for_in("row", j + 1, high, |i| dot.set(dot.now() + m.at(&[i, j]) * to.at(&[i, c])));
        let part = (dot.get() * scale.at(&[j])).bound("part");
        to.put(&[j, c], to.at(&[j, c]) - part);
        k.for_in("row", j + 1, high, |i| to.put(&[i, c], to.at(&[i, c]) - m.at(&[i, j]) * part));
    });
}

pub(super) static TABLE: &[OpDef] = &[
    graph!("solve", "", "a, b", 2, &[], solve, "The x with a x = b, by elimination with row exchanges."),
    graph!(
        "solve_triangular",
        "",
        "a, b",
        2,
        &[
            AttrDef { name: "lower", ty: "bool = true", doc: "which triangle of a is read" },
            AttrDef { name: "unit_diagonal", ty: "bool = false", doc: "whether the diagonal is 1 and not read" },
        ],
        solve_triangular,
        "The x with a x = b for a triangle a, by substitution."
    ),
    graph!("inv", "", "a", 1, &[], inv, "The inverses of square matrices, by elimination with row exchanges."),
    graph!("det", "Det", "a", 1, &[], det, "The determinants of square matrices, by elimination with row exchanges."),
    graph!(
        "cholesky",
        "",
        "a",
        1,
        &[],
        cholesky,
        "The lower triangle L with L Lᵀ = a of a positive definite a, of which the lower triangle is read; NaN where a is not."
    ),
    graph!(
        "lu",
        "",
        "a",
        1,
        &[],
        lu,
        "p, l and u with a = p l u: a permutation, a lower triangle with a diagonal of 1, an upper triangle."
    ),
    graph!(
        "qr",
        "",
        "a",
        1,
        &[],
        qr,
        "q and r with a = q r: orthonormal columns and an upper triangle, by Householder's reflections. There are as many rows as columns or more."
    ),
];
