//! `BF16ComputeLegalize`: arithmetic on 16-bit floats is done in f32 and rounded after each operation.
//!
//! Runs where math is expanded, for bf16 and f16 alike: no CPU that back ends generate code for is taken to have such
//! arithmetic. The result is the same: f32 has more than twice the bits of either, so rounding twice is rounding once.
//! Signs are changed in the bits. What needs more than f32 to round once (a fused multiply-add, conversions from f64
//! and integers) and Euclidean division stay with the back ends, as do loads and stores.

use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::{Builder, Elem, Expr, ExprId, ExprMap, PrimFunc};
use tenfold_ir::{DType, Module};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("BF16ComputeLegalize", &run)
    .in_phase(PassPhase::Target)
    .at_level(1)
    .about("computes with 16-bit floats in f32, rounding after each operation");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    let some = func.exprs_in(&func.body).into_iter().any(|e| half(func.exprs.ty(e).elem).is_some());
    if !some {
        return Ok(func);
    }
    Ok(rewrite_body(func, |b, body| ExprMap::new(legal).stmt(b, body)))
}

fn half(elem: Elem) -> Option<DType> {
    match elem {
        Elem::Scalar(dtype @ (DType::F16 | DType::BF16)) => Some(dtype),
        Elem::Scalar(_) | Elem::Index => None,
    }
}

/// An expression whose operands are done.
fn legal(b: &mut Builder, id: ExprId) -> ExprId {
    let expr = b.func().exprs.get(id).clone();
    let operand = match expr {
        Expr::Unary(_, a) | Expr::Binary(_, a, _) | Expr::Compare(_, a, _) => a,
        _ => return id,
    };
    let Some(dtype) = half(b.ty(operand).elem) else { return id };
    match expr {
        Expr::Unary(op, a) if wide_unary(op) => {
            let a = b.cast(DType::F32, a);
            let value = b.unary(op, a);
            if b.ty(value).elem == Elem::Scalar(DType::F32) { b.cast(dtype, value) } else { value }
        }
        Expr::Binary(op, x, y) if wide_binary(op) => {
            let (x, y) = (b.cast(DType::F32, x), b.cast(DType::F32, y));
            let value = b.binary(op, x, y);
            b.cast(dtype, value)
        }
        Expr::Compare(op, x, y) => {
            let (x, y) = (b.cast(DType::F32, x), b.cast(DType::F32, y));
            b.compare(op, x, y)
        }
        _ => id,
    }
}

/// Whether it rounds, or asks what f32 answers as well.
fn wide_unary(op: UnaryOp) -> bool {
    !matches!(op, UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not)
}

fn wide_binary(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Min | BinaryOp::Max)
}
