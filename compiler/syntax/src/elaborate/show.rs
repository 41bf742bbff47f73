//! Expressions as the user writes them, for texts.

use tenfold_ir::arith::{IntExpr, View};

use crate::ast::{BinaryOp, Expr, ExprKind, Literal, Range, RangeStep};

/// The expression in one line; parts that would be long are left out.
pub(super) fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Literal(literal) => self::literal(literal),
        ExprKind::Name(name) => name.clone(),
        ExprKind::Path(segments) => segments.join("::"),
        ExprKind::Unary(op, a) => format!("{}{}", op.symbol(), operand(a, 11)),
        ExprKind::Binary(op, a, b) => {
            format!("{} {} {}", operand(a, level(e)), op.symbol(), operand(b, level(e) + 1))
        }
        ExprKind::Cast(a, ty) => format!("{} as {}", operand(a, 10), ty.text),
        ExprKind::Tuple(items) => format!("({})", list(items)),
        ExprKind::Array(items) => format!("[{}]", list(items)),
        ExprKind::Range(range) => self::range(range),
        ExprKind::Element { tensor, indices } => format!("{}[[{}]]", expr(tensor), list(indices)),
        ExprKind::Get { mode, tensor, indices, .. } => format!("{}.{}([{}])", expr(tensor), mode.name(), list(indices)),
        ExprKind::Call(call) => format!("{}({})", call.callee, list(&call.args)),
        ExprKind::MatchShape { value, dims } => format!("match_shape({}, [{}])", expr(value), list(dims)),
        ExprKind::ExternCall { path, .. } => format!("extern_call!({path}, …)"),
        ExprKind::MutRef(name) => format!("&mut {}", name.text),
        ExprKind::Closure { .. } => "|…| …".to_string(),
        ExprKind::If { condition, .. } => format!("if {} {{ … }}", expr(condition)),
        ExprKind::Block(_) => "{ … }".to_string(),
        ExprKind::Unsafe(_) => "unsafe { … }".to_string(),
        ExprKind::Error => "…".to_string(),
    }
}

fn literal(literal: &Literal) -> String {
    match literal {
        Literal::Bool(value) => value.to_string(),
        Literal::Int { value, suffix } => format!("{value}{}", suffix.as_deref().unwrap_or_default()),
        Literal::Float { digits, suffix } => format!("{digits}{}", suffix.as_deref().unwrap_or_default()),
        Literal::Text(text) => format!("{text:?}"),
    }
}

/// How tightly an expression binds: the looser side of an operator takes parentheses.
fn level(e: &Expr) -> u8 {
    match &e.kind {
        ExprKind::Binary(op, ..) => match op {
            BinaryOp::Or => 1,
            BinaryOp::And => 2,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 3,
            BinaryOp::BitOr => 4,
            BinaryOp::BitXor => 5,
            BinaryOp::BitAnd => 6,
            BinaryOp::Shl | BinaryOp::Shr => 7,
            BinaryOp::Add | BinaryOp::Sub => 8,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 9,
        },
        ExprKind::Cast(..) => 10,
        ExprKind::Unary(..) => 11,
        _ => 12, // calls, names and brackets
    }
}

fn operand(e: &Expr, least: u8) -> String {
    if level(e) < least { format!("({})", expr(e)) } else { expr(e) }
}

/// `1 operand`, `2 operands`, `2 indices`.
pub(super) fn count(n: usize, noun: &str) -> String {
    match (n, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "index") => format!("{n} indices"),
        (_, "axis") => format!("{n} axes"),
        _ => format!("{n} {noun}s"),
    }
}

/// An index value as the user would write it.
pub(super) fn index(e: &IntExpr) -> String {
    match e.view() {
        View::Const(_) | View::Var(_) | View::TruncDiv(..) | View::TruncRem(..) | View::Min(..) | View::Max(..) => {
            e.to_string()
        }
        View::Add(parts) => {
            let mut text = String::new();
            for part in &parts {
                let one = index(part);
                match one.strip_prefix('-') {
                    Some(rest) if !text.is_empty() => text += &format!(" - {rest}"),
                    _ if text.is_empty() => text = one,
                    _ => text += &format!(" + {one}"),
                }
            }
            text
        }
        View::Mul(parts) => match parts.as_slice() {
            [first, rest @ ..] if first.as_const() == Some(-1) => format!("-{}", product(rest)),
            all => product(all),
        },
        View::FloorDiv(a, b) => format!("{} / {}", factor(&a), factor(&b)),
        View::FloorMod(a, b) => format!("{} % {}", factor(&a), factor(&b)),
    }
}

fn product(parts: &[IntExpr]) -> String {
    parts.iter().map(factor).collect::<Vec<_>>().join(" * ")
}

fn factor(e: &IntExpr) -> String {
    match e.view() {
        View::Add(_) | View::FloorDiv(..) | View::FloorMod(..) => format!("({})", index(e)),
        View::Const(_)
        | View::Var(_)
        | View::Mul(_)
        | View::TruncDiv(..)
        | View::TruncRem(..)
        | View::Min(..)
        | View::Max(..) => index(e),
    }
}

fn list(items: &[Expr]) -> String {
    items.iter().map(expr).collect::<Vec<_>>().join(", ")
}

fn range(range: &Range) -> String {
    let end = |e: &Option<Box<Expr>>| e.as_deref().map(expr).unwrap_or_default();
    let plain = format!("{}..{}", end(&range.start), end(&range.end));
    range.steps.iter().fold(plain, |text, step| match step {
        RangeStep::Rev => format!("({text}).rev()"),
        RangeStep::StepBy(by) => format!("({text}).step_by({})", expr(by)),
    })
}
