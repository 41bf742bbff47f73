//! Folding of one node whose operands are folded: integers and conditions alone, exactly as they are evaluated.

use tenfold_ir::eval::scalar_ops;
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::{Builder, Elem, Expr, ExprId, Ty};
use tenfold_ir::{DType, Scalar};

/// The node, or a shorter one of the same value.
pub(super) fn expr(b: &mut Builder, expr: Expr, ty: Ty) -> ExprId {
    let folded = match expr {
        Expr::Unary(op, x) => unary(b, op, x),
        Expr::Binary(op, x, y) => constant_pair(b, op, x, y).or_else(|| unit(b, op, x, y)),
        Expr::Compare(op, x, y) => match (literal(b, x), literal(b, y)) {
            (Some(x), Some(y)) => Some(b.scalar(Scalar::bool(scalar_ops::compare(op, x, y)))),
            _ => None,
        },
        Expr::If(c, x, y) | Expr::Select(c, x, y) => choice(b, c, x, y),
        Expr::Cast(to, x) => cast(b, to, x),
        Expr::Const(_)
        | Expr::Index(_)
        | Expr::Var(_)
        | Expr::Load { .. }
        | Expr::Call(..)
        | Expr::Ramp(..)
        | Expr::Broadcast(..)
        | Expr::Shuffle(..) => None,
    };
    folded.unwrap_or_else(|| b.raw(expr, ty))
}

/// The value of an integer or `bool` literal.
fn literal(b: &Builder, id: ExprId) -> Option<Scalar> {
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

fn unary(b: &mut Builder, op: UnaryOp, x: ExprId) -> Option<ExprId> {
    if let (UnaryOp::Not, Expr::Unary(UnaryOp::Not, inner)) = (op, b.func().exprs.get(x)) {
        return Some(*inner);
    }
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

/// Operations with an operand that changes nothing, or that decides alone.
fn unit(b: &mut Builder, op: BinaryOp, x: ExprId, y: ExprId) -> Option<ExprId> {
    let is =
        |b: &Builder, e: ExprId, n: i128| literal(b, e).is_some_and(|s| s.dtype != DType::Bool && s.to_i128() == n);
    match op {
        BinaryOp::Add if is(b, x, 0) => Some(y),
        BinaryOp::Add | BinaryOp::Sub if is(b, y, 0) => Some(x),
        BinaryOp::Mul if is(b, x, 1) => Some(y),
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::DivEuclid if is(b, y, 1) => Some(x),
        BinaryOp::Mul if is(b, x, 0) => Some(x),
        BinaryOp::Mul if is(b, y, 0) => Some(y),
        BinaryOp::Shl | BinaryOp::Shr if is(b, y, 0) => Some(x),
        BinaryOp::Min | BinaryOp::Max if x == y && !float(b, x) => Some(x),
        _ => logic(b, op, x, y),
    }
}

fn float(b: &Builder, e: ExprId) -> bool {
    matches!(b.ty(e).elem, Elem::Scalar(d) if d.is_float())
}

fn logic(b: &Builder, op: BinaryOp, x: ExprId, y: ExprId) -> Option<ExprId> {
    let is = |e: ExprId, value: bool| literal(b, e) == Some(Scalar::bool(value));
    match op {
        BinaryOp::And if is(x, true) || is(y, false) => Some(y),
        BinaryOp::And if is(y, true) || is(x, false) => Some(x),
        BinaryOp::Or if is(x, false) || is(y, true) => Some(y),
        BinaryOp::Or if is(y, false) || is(x, true) => Some(x),
        _ => None,
    }
}

fn choice(b: &mut Builder, c: ExprId, x: ExprId, y: ExprId) -> Option<ExprId> {
    match literal(b, c) {
        Some(c) => Some(if c.bits != 0 { x } else { y }),
        None if x == y => Some(x),
        None if literal(b, x) == Some(Scalar::bool(true)) && literal(b, y) == Some(Scalar::bool(false)) => Some(c),
        None => None,
    }
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
