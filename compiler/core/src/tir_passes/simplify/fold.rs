//! Folding of one node whose operands are folded: literals as they are evaluated, then the rules of `table`.

use tenfold_ir::eval::scalar_ops;
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::{Builder, Elem, Expr, ExprId, Ty};
use tenfold_ir::{DType, Scalar};

use super::table;

/// The node, or a shorter one of the same value.
pub(super) fn expr(b: &mut Builder, expr: Expr, ty: Ty) -> ExprId {
    let folded = match expr {
        Expr::Unary(op, x) => unary(b, op, x),
        Expr::Binary(op, x, y) => constant_pair(b, op, x, y),
        Expr::Compare(op, x, y) => match (literal(b, x), literal(b, y)) {
            (Some(x), Some(y)) => Some(b.scalar(Scalar::bool(scalar_ops::compare(op, x, y)))),
            _ => None,
        },
        Expr::Cast(to, x) => cast(b, to, x),
        Expr::If(..)
        | Expr::Select(..)
        | Expr::Const(_)
        | Expr::Index(_)
        | Expr::Var(_)
        | Expr::Load { .. }
        | Expr::Call(..)
        | Expr::Ramp(..)
        | Expr::Broadcast(..)
        | Expr::Shuffle(..) => None,
    };
    folded.or_else(|| table::apply(b, &expr, ty)).unwrap_or_else(|| b.raw(expr, ty))
}

/// The value of an integer or `bool` literal.
pub(super) fn literal(b: &Builder, id: ExprId) -> Option<Scalar> {
    match *b.func().exprs.get(id) {
        Expr::Index(n) => Some(Scalar::int(DType::I64, i128::from(n))),
        Expr::Const(s) if !s.dtype.is_float() => Some(s),
        _ => None,
    }
}

/// A literal of a type.
fn of(b: &mut Builder, elem: Elem, value: Scalar) -> ExprId {
    match elem {
        Elem::Index => b.index(value.to_i128() as i64),
        Elem::Scalar(_) => b.scalar(value),
    }
}

/// A number of a type.
pub(super) fn number(b: &mut Builder, elem: Elem, value: i64) -> ExprId {
    match elem {
        Elem::Index => b.index(value),
        Elem::Scalar(dtype) => b.scalar(Scalar::int(dtype, value.into())),
    }
}

fn unary(b: &mut Builder, op: UnaryOp, x: ExprId) -> Option<ExprId> {
    let value = literal(b, x)?;
    let exact = matches!(op, UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs | UnaryOp::Sign);
    let elem = b.ty(x).elem;
    exact.then(|| of(b, elem, scalar_ops::unary(op, value)))
}

fn constant_pair(b: &mut Builder, op: BinaryOp, x: ExprId, y: ExprId) -> Option<ExprId> {
    let (p, q) = (literal(b, x)?, literal(b, y)?);
    let elem = b.ty(x).elem;
    Some(of(b, elem, scalar_ops::binary(op, p, q)))
}

fn cast(b: &mut Builder, to: Ty, x: ExprId) -> Option<ExprId> {
    if b.ty(x) == to {
        return Some(x);
    }
    let value = literal(b, x)?;
    match to.elem {
        Elem::Index => Some(b.index(i64::try_from(value.to_i128()).ok()?)),
        Elem::Scalar(dtype) if !dtype.is_float() => Some(b.scalar(scalar_ops::cast(dtype, value))),
        Elem::Scalar(_) => None,
    }
}
