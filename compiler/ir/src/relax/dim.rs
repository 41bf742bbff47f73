//! Extents: the few operations on integer expressions that shape rules need.

use crate::arith::{Fact, IntExpr, Prover, Sym, View};

/// The constant `value`.
pub(crate) fn int(value: i64) -> IntExpr {
    IntExpr::from(value)
}

/// Its value if it is a constant.
pub(crate) fn as_int(dim: &IntExpr) -> Option<i64> {
    dim.as_const()
}

/// Whether it IS 1, which alone broadcasts.
pub(crate) fn is_one(dim: &IntExpr) -> bool {
    as_int(dim) == Some(1)
}

/// The product, which is 1 for no extents.
pub(crate) fn product(dims: &[IntExpr]) -> IntExpr {
    dims.iter().fold(int(1), |all, dim| &all * dim)
}

/// Whether two extents are provably equal.
pub(crate) fn equal(prover: &Prover, a: &IntExpr, b: &IntExpr) -> bool {
    a == b || prover.prove_eq(a, b)
}

/// Whether two shapes are provably equal.
pub(crate) fn same_shape(prover: &Prover, a: &[IntExpr], b: &[IntExpr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(prover, a, b))
}

/// Whether `a <= b` is provable.
pub(crate) fn at_most(prover: &Prover, a: &IntExpr, b: &IntExpr) -> bool {
    natural(prover, &(b - a)) || prover.prove_le(a, b)
}

/// Whether an expression is 0 or more by its form alone: sums, products, quotients and extremes of naturals. Nearly
/// every extent is, and the prover need not search.
fn natural(prover: &Prover, expr: &IntExpr) -> bool {
    if prover.facts().contains(&Fact::NonNegative(expr.clone())) {
        return true;
    }
    match expr.view() {
        View::Const(value) => value >= 0,
        View::Var(_) => false,
        View::Add(parts) | View::Mul(parts) => parts.iter().all(|part| natural(prover, part)),
        View::FloorDiv(a, b) | View::FloorMod(a, b) | View::TruncDiv(a, b) | View::TruncRem(a, b) | View::Min(a, b) => {
            natural(prover, &a) && natural(prover, &b)
        }
        View::Max(a, b) => natural(prover, &a) || natural(prover, &b),
    }
}

/// `a / b`, rounded towards negative infinity; `b` is positive.
pub(crate) fn div_floor(a: &IntExpr, b: i64) -> IntExpr {
    if b == 1 { a.clone() } else { a.floor_div(&int(b)) }
}

/// Tells the prover of a symbol, which is 0 or more if it is a natural number.
pub(crate) fn declare(prover: &mut Prover, sym: &Sym, natural: bool) {
    if natural {
        prover.assume(Fact::NonNegative(IntExpr::var(sym.clone())));
    }
}
