//! Static arithmetic of index values: from the tree of a dim or a fact to an integer expression.

use tenfold_ir::arith::{Fact, IntExpr, Prover};

use crate::ast::{BinaryOp, Expr, ExprKind, Literal, NodeId, UnaryOp};
use crate::code::Code;
use crate::diagnostic::Diagnostic;

/// What a name means in a dim.
pub(crate) enum DimName {
    /// This value.
    Is(IntExpr),
    /// Something whose error is reported already.
    Unknown,
    /// A parameter that is no index value.
    Other,
    /// Nothing; the names that could have been meant.
    Missing(Vec<String>),
}

/// The value of the expression of a dim; `None` if something in it is unknown and reported already.
pub(crate) fn extent(
    e: &Expr,
    prover: &Prover,
    names: &dyn Fn(&str) -> DimName,
) -> Result<Option<IntExpr>, Diagnostic> {
    match &e.kind {
        ExprKind::Literal(Literal::Int { value, .. }) => match i64::try_from(*value) {
            Ok(value) => Ok(Some(IntExpr::from(value))),
            Err(_) => Err(Diagnostic::new(
                e.node,
                Code::LiteralRange,
                format!("{value} does not fit an index value, which has 64 bits and a sign"),
            )),
        },
        ExprKind::Name(name) => match names(name) {
            DimName::Is(value) => Ok(Some(value)),
            DimName::Unknown => Ok(None),
            DimName::Other => Err(Diagnostic::new(
                e.node,
                Code::DimExpression,
                format!("`{name}` is no dim: only parameters of type `usize` and `isize` are known before the call"),
            )
            .help("write a number, a dim or an index parameter; what depends on data is compared in the body")),
            DimName::Missing(candidates) => Err(missing(e.node, name, &candidates)),
        },
        ExprKind::Unary(UnaryOp::Neg, a) => Ok(extent(a, prover, names)?.map(|a| IntExpr::from(0) - a)),
        ExprKind::Binary(op, a, b) => {
            let (x, y) = (extent(a, prover, names)?, extent(b, prover, names)?);
            let (Some(x), Some(y)) = (x, y) else { return Ok(None) };
            match binary(*op, &x, &y, prover) {
                Some(value) => Ok(Some(value)),
                None => Err(not_static(e.node)),
            }
        }
        ExprKind::Call(call) if call.named.is_empty() && call.args.len() == 2 => {
            let (x, y) = (extent(&call.args[0], prover, names)?, extent(&call.args[1], prover, names)?);
            let (Some(x), Some(y)) = (x, y) else { return Ok(None) };
            match call.callee.name().and_then(|name| function(name, &x, &y, prover)) {
                Some(value) => Ok(Some(value)),
                None => Err(not_static(e.node)),
            }
        }
        ExprKind::Error => Ok(None),
        ExprKind::Literal(_)
        | ExprKind::Path(_)
        | ExprKind::Unary(..)
        | ExprKind::Cast(..)
        | ExprKind::Tuple(_)
        | ExprKind::Array(_)
        | ExprKind::Range(_)
        | ExprKind::Element { .. }
        | ExprKind::Get { .. }
        | ExprKind::Call(_)
        | ExprKind::MatchShape { .. }
        | ExprKind::ExternCall { .. }
        | ExprKind::MutRef(_)
        | ExprKind::Closure { .. }
        | ExprKind::If { .. }
        | ExprKind::Block(_)
        | ExprKind::Unsafe(_) => Err(not_static(e.node)),
    }
}

fn not_static(node: NodeId) -> Diagnostic {
    Diagnostic::new(node, Code::DimExpression, "expected a dim: integers, dims and index parameters under `+ - * / %`")
        .help("write a number, a name that begins with an upper-case letter, or `{ e }` over these")
}

fn missing(node: NodeId, name: &str, candidates: &[String]) -> Diagnostic {
    let near = tenfold_ir::ops::nearest(name, candidates.iter().map(String::as_str));
    let near = near.filter(|_| name.chars().count() > 1);
    let found = Diagnostic::new(node, Code::UnboundDim, format!("the dim `{name}` is bound by no parameter"));
    match near {
        Some(near) => found.help(format!("did you mean `{near}`?")),
        None => found.help(format!(
            "let a parameter have an axis `{name}`, take it as `{}: usize`, or fix it: `#[tensor_fn(dims({name} = 8))]`",
            name.to_lowercase()
        )),
    }
}

/// `a op b` of index values, if it is an integer expression.
pub(crate) fn binary(op: BinaryOp, a: &IntExpr, b: &IntExpr, prover: &Prover) -> Option<IntExpr> {
    let (x, y) = (a.clone(), b.clone());
    let constants = a.as_const().zip(b.as_const());
    match op {
        BinaryOp::Add => Some(x + y),
        BinaryOp::Sub => Some(x - y),
        BinaryOp::Mul => Some(x * y),
        BinaryOp::Div => match constants {
            Some((_, 0)) => Some(IntExpr::from(0)),
            Some((a, b)) => Some(IntExpr::from(a.wrapping_div(b))),
            None if non_negative(prover, a) && positive(prover, b) => Some(x.floor_div(&y)),
            None => Some(x.trunc_div(&y)),
        },
        BinaryOp::Rem => match constants {
            Some((a, 0)) => Some(IntExpr::from(a)),
            Some((a, b)) => Some(IntExpr::from(a.wrapping_rem(b))),
            None if non_negative(prover, a) && positive(prover, b) => Some(x.floor_mod(&y)),
            None => Some(x.trunc_rem(&y)),
        },
        BinaryOp::Shl => match (a.as_const(), b.as_const()) {
            (Some(a), Some(b)) => Some(IntExpr::from(a.wrapping_shl(b as u32))),
            (None, Some(b)) if (0..63).contains(&b) => Some(x * IntExpr::from(1 << b)),
            (None | Some(_), None | Some(_)) => None,
        },
        BinaryOp::Shr => match (a.as_const(), b.as_const()) {
            (Some(a), Some(b)) => Some(IntExpr::from(a.wrapping_shr(b as u32))),
            (None, Some(b)) if (0..63).contains(&b) => Some(x.floor_div(&IntExpr::from(1 << b))),
            (None | Some(_), None | Some(_)) => None,
        },
        BinaryOp::BitAnd => constants.map(|(a, b)| IntExpr::from(a & b)),
        BinaryOp::BitOr => constants.map(|(a, b)| IntExpr::from(a | b)),
        BinaryOp::BitXor => constants.map(|(a, b)| IntExpr::from(a ^ b)),
        BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => None,
    }
}

/// A function of two index values that is an integer expression.
pub(crate) fn function(name: &str, a: &IntExpr, b: &IntExpr, prover: &Prover) -> Option<IntExpr> {
    let (x, y) = (a.clone(), b.clone());
    match name {
        "minimum" => Some(IntExpr::min(&x, &y)),
        "maximum" => Some(IntExpr::max(&x, &y)),
        "div_euclid" if positive(prover, b) => Some(x.floor_div(&y)),
        "rem_euclid" if positive(prover, b) => Some(x.floor_mod(&y)),
        _ => None,
    }
}

/// Whether `a >= 0` is proven.
pub(crate) fn non_negative(prover: &Prover, a: &IntExpr) -> bool {
    prover.prove_le(&IntExpr::from(0), a)
}

/// Whether `a >= 1` is proven.
pub(crate) fn positive(prover: &Prover, a: &IntExpr) -> bool {
    prover.prove_le(&IntExpr::from(1), a)
}

/// `e >= 0`.
pub(crate) fn at_least_zero(e: IntExpr) -> Fact {
    Fact::ge(&e, &IntExpr::from(0))
}

/// What a comparison states.
pub(crate) fn fact(op: BinaryOp, a: &IntExpr, b: &IntExpr) -> Option<Fact> {
    match op {
        BinaryOp::Eq => Some(Fact::eq(a, b)),
        BinaryOp::Ne => Some(Fact::ne(a, b)),
        BinaryOp::Lt => Some(Fact::lt(a, b)),
        BinaryOp::Le => Some(Fact::le(a, b)),
        BinaryOp::Gt => Some(Fact::gt(a, b)),
        BinaryOp::Ge => Some(Fact::ge(a, b)),
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::And
        | BinaryOp::Or => None,
    }
}

/// Whether a comparison of constants holds.
pub(crate) fn decided(op: BinaryOp, a: &IntExpr, b: &IntExpr) -> Option<bool> {
    let (a, b) = a.as_const().zip(b.as_const())?;
    match op {
        BinaryOp::Eq => Some(a == b),
        BinaryOp::Ne => Some(a != b),
        BinaryOp::Lt => Some(a < b),
        BinaryOp::Le => Some(a <= b),
        BinaryOp::Gt => Some(a > b),
        BinaryOp::Ge => Some(a >= b),
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::And
        | BinaryOp::Or => None,
    }
}
