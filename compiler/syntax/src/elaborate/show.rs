//! Expressions as the user writes them, for texts.

use crate::ast::{Expr, ExprKind, Literal, Range, RangeStep};

/// The expression in one line; parts that would be long are left out.
pub(super) fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Literal(literal) => self::literal(literal),
        ExprKind::Name(name) => name.clone(),
        ExprKind::Path(segments) => segments.join("::"),
        ExprKind::Unary(op, a) => format!("{}{}", op.symbol(), operand(a)),
        ExprKind::Binary(op, a, b) => format!("{} {} {}", operand(a), op.symbol(), operand(b)),
        ExprKind::Cast(a, ty) => format!("{} as {}", operand(a), ty.text),
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

fn operand(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Binary(..) | ExprKind::Cast(..) => format!("({})", expr(e)),
        _ => expr(e), // binds tighter than any operator
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
