//! Rust's operators as those of elements.

use tenfold_ir::op::{BinaryOp, CmpOp, ElementOp};

use crate::ast;

/// The comparison that an operator is.
pub(super) fn comparison(op: ast::BinaryOp) -> CmpOp {
    match op {
        ast::BinaryOp::Ne => CmpOp::Ne,
        ast::BinaryOp::Lt => CmpOp::Lt,
        ast::BinaryOp::Le => CmpOp::Le,
        ast::BinaryOp::Gt => CmpOp::Gt,
        ast::BinaryOp::Ge => CmpOp::Ge,
        ast::BinaryOp::Eq
        | ast::BinaryOp::Add
        | ast::BinaryOp::Sub
        | ast::BinaryOp::Mul
        | ast::BinaryOp::Div
        | ast::BinaryOp::Rem
        | ast::BinaryOp::BitAnd
        | ast::BinaryOp::BitOr
        | ast::BinaryOp::BitXor
        | ast::BinaryOp::Shl
        | ast::BinaryOp::Shr
        | ast::BinaryOp::And
        | ast::BinaryOp::Or => CmpOp::Eq,
    }
}

/// The element operator of an operator of Rust.
pub(super) fn element_of(op: ast::BinaryOp) -> ElementOp {
    match op {
        ast::BinaryOp::Add => ElementOp::Binary(BinaryOp::Add),
        ast::BinaryOp::Sub => ElementOp::Binary(BinaryOp::Sub),
        ast::BinaryOp::Mul => ElementOp::Binary(BinaryOp::Mul),
        ast::BinaryOp::Div => ElementOp::Binary(BinaryOp::Div),
        ast::BinaryOp::Rem => ElementOp::Binary(BinaryOp::Rem),
        ast::BinaryOp::BitAnd | ast::BinaryOp::And => ElementOp::Binary(BinaryOp::And),
        ast::BinaryOp::BitOr | ast::BinaryOp::Or => ElementOp::Binary(BinaryOp::Or),
        ast::BinaryOp::BitXor => ElementOp::Binary(BinaryOp::Xor),
        ast::BinaryOp::Shl => ElementOp::Binary(BinaryOp::Shl),
        ast::BinaryOp::Shr => ElementOp::Binary(BinaryOp::Shr),
        ast::BinaryOp::Eq
        | ast::BinaryOp::Ne
        | ast::BinaryOp::Lt
        | ast::BinaryOp::Le
        | ast::BinaryOp::Gt
        | ast::BinaryOp::Ge => ElementOp::Compare(comparison(op)),
    }
}
