//! Ranges of integer expressions of a kernel: what an index that depends on data is known to be.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Elem, Expr, ExprId};
use tenfold_ir::{DType, Scalar};

use super::cx::Elaborator;

/// Bounds, both inclusive.
pub(super) type Range = (Option<IntExpr>, Option<IntExpr>);

/// How deep an expression is looked into.
const DEPTH: u32 = 16;

impl Elaborator<'_> {
    /// What an expression's value is known to lie between.
    pub(super) fn range_of(&self, e: ExprId) -> Range {
        self.range_within(e, DEPTH)
    }

    fn range_within(&self, e: ExprId, depth: u32) -> Range {
        if let Some((lo, hi)) = self.kernel.ranges.get(&e) {
            return (Some(lo.clone()), Some(hi - 1));
        }
        let own = dtype_range(self.kernel.b.ty(e).elem);
        if depth == 0 {
            return own;
        }
        let inner = |e: ExprId| self.range_within(e, depth - 1);
        let found = match self.kernel.b.func().exprs.get(e) {
            Expr::Const(value) if !value.dtype.is_float() && !value.dtype.is_float8() => point(value.to_i128()),
            Expr::Index(value) => point(i128::from(*value)),
            Expr::Cast(_, a) => match self.kernel.b.ty(*a).elem {
                Elem::Scalar(dtype) if dtype.is_float() || dtype.is_float8() => (None, None),
                Elem::Scalar(_) | Elem::Index => self.fitting(inner(*a), &own),
            },
            Expr::Load { buf, .. } => match &self.kernel.b.buf(*buf).range {
                Some((lo, hi)) => (Some(lo.clone()), Some(hi - 1)),
                None => (None, None),
            },
            Expr::If(_, a, b) | Expr::Select(_, a, b) => union(inner(*a), inner(*b)),
            Expr::Binary(op, a, b) => binary(*op, inner(*a), inner(*b)),
            Expr::Const(_)
            | Expr::Var(_)
            | Expr::Unary(..)
            | Expr::Compare(..)
            | Expr::Call(..)
            | Expr::Ramp(..)
            | Expr::Broadcast(..)
            | Expr::Shuffle(..) => (None, None),
        };
        (found.0.or(own.0), found.1.or(own.1))
    }

    /// A range if the dtype holds all of it; a cast to a narrower dtype wraps.
    fn fitting(&self, range: Range, dtype: &Range) -> Range {
        let low = match (&range.0, &dtype.0) {
            (Some(lo), Some(least)) => self.prover().prove_le(least, lo),
            (Some(_), None) => true,
            (None, _) => false,
        };
        let high = match (&range.1, &dtype.1) {
            (Some(hi), Some(greatest)) => self.prover().prove_le(hi, greatest),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if low && high { range } else { (None, None) }
    }
}

fn point(value: i128) -> Range {
    match i64::try_from(value) {
        Ok(value) => (Some(IntExpr::from(value)), Some(IntExpr::from(value))),
        Err(_) => (None, None),
    }
}

/// What every value of a dtype lies between, as far as an index has numbers for it.
fn dtype_range(elem: Elem) -> Range {
    match elem {
        Elem::Scalar(DType::U64) => (Some(IntExpr::from(0)), None),
        Elem::Scalar(dtype) if !dtype.is_float() && !dtype.is_float8() && dtype != DType::I64 => {
            let bound = |s: Scalar| i64::try_from(s.to_i128()).ok().map(IntExpr::from);
            (bound(Scalar::least(dtype)), bound(Scalar::greatest(dtype)))
        }
        Elem::Scalar(_) | Elem::Index => (None, None),
    }
}

fn union(a: Range, b: Range) -> Range {
    (a.0.zip(b.0).map(|(x, y)| IntExpr::min(&x, &y)), a.1.zip(b.1).map(|(x, y)| IntExpr::max(&x, &y)))
}

/// Of the operators whose result stays in range whatever the width.
fn binary(op: BinaryOp, a: Range, b: Range) -> Range {
    match op {
        BinaryOp::Min => (a.0.zip(b.0).map(|(x, y)| IntExpr::min(&x, &y)), least(a.1, b.1)),
        BinaryOp::Max => (greatest(a.0, b.0), a.1.zip(b.1).map(|(x, y)| IntExpr::max(&x, &y))),
        BinaryOp::RemEuclid => match (b.0, b.1) {
            (Some(lo), Some(hi)) if lo.as_const().is_some_and(|n| n > 0) || lo == hi => {
                (Some(IntExpr::from(0)), positive(&lo).then(|| hi - 1))
            }
            _ => (None, None),
        },
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::DivEuclid
        | BinaryOp::Pow
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::Atan2 => (None, None),
    }
}

fn positive(e: &IntExpr) -> bool {
    e.as_const().is_some_and(|n| n > 0)
}

fn least(a: Option<IntExpr>, b: Option<IntExpr>) -> Option<IntExpr> {
    match (a, b) {
        (Some(x), Some(y)) => Some(IntExpr::min(&x, &y)),
        (one, None) | (None, one) => one,
    }
}

fn greatest(a: Option<IntExpr>, b: Option<IntExpr>) -> Option<IntExpr> {
    match (a, b) {
        (Some(x), Some(y)) => Some(IntExpr::max(&x, &y)),
        (one, None) | (None, one) => one,
    }
}
