//! Binary operators.

use crate::ast::BinaryOp;

/// The operator, and whether it assigns.
pub(super) fn binary_op(op: &syn::BinOp) -> Option<(BinaryOp, bool)> {
    use syn::BinOp as B;
    Some(match op {
        B::Add(_) => (BinaryOp::Add, false),
        B::Sub(_) => (BinaryOp::Sub, false),
        B::Mul(_) => (BinaryOp::Mul, false),
        B::Div(_) => (BinaryOp::Div, false),
        B::Rem(_) => (BinaryOp::Rem, false),
        B::And(_) => (BinaryOp::And, false),
        B::Or(_) => (BinaryOp::Or, false),
        B::BitXor(_) => (BinaryOp::BitXor, false),
        B::BitAnd(_) => (BinaryOp::BitAnd, false),
        B::BitOr(_) => (BinaryOp::BitOr, false),
        B::Shl(_) => (BinaryOp::Shl, false),
        B::Shr(_) => (BinaryOp::Shr, false),
        B::Eq(_) => (BinaryOp::Eq, false),
        B::Lt(_) => (BinaryOp::Lt, false),
        B::Le(_) => (BinaryOp::Le, false),
        B::Ne(_) => (BinaryOp::Ne, false),
        B::Ge(_) => (BinaryOp::Ge, false),
        B::Gt(_) => (BinaryOp::Gt, false),
        B::AddAssign(_) => (BinaryOp::Add, true),
        B::SubAssign(_) => (BinaryOp::Sub, true),
        B::MulAssign(_) => (BinaryOp::Mul, true),
        B::DivAssign(_) => (BinaryOp::Div, true),
        B::RemAssign(_) => (BinaryOp::Rem, true),
        B::BitXorAssign(_) => (BinaryOp::BitXor, true),
        B::BitAndAssign(_) => (BinaryOp::BitAnd, true),
        B::BitOrAssign(_) => (BinaryOp::BitOr, true),
        B::ShlAssign(_) => (BinaryOp::Shl, true),
        B::ShrAssign(_) => (BinaryOp::Shr, true),
        _ => return None,
    })
}
