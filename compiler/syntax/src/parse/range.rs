//! Ranges: `a..b`, with `rev` and `step_by` behind them.

use super::cx::{Cx, bare, text_of};
use super::expr::Place;
use crate::ast::{Expr, ExprKind, NodeId, Range, RangeStep};
use crate::code::Code;

impl Cx {
    pub(super) fn range_value(&mut self, node: NodeId, e: &syn::Expr, place: Place) -> ExprKind {
        match place {
            Place::Argument | Place::Index => ExprKind::Range(self.range(node, e, place == Place::Argument)),
            Place::Value | Place::Let | Place::Named => {
                self.refuse(
                    node,
                    Code::UnsupportedExpression,
                    "a range is not a value",
                    "a range stands in a `for`, as the range of a reduction, `sum(0..N, |i| …)`, or among indices, `x[[1.., 0]]`",
                );
                ExprKind::Error
            }
        }
    }

    /// The range of an expression that [`range_of`] knows to be one.
    pub(super) fn range(&mut self, node: NodeId, e: &syn::Expr, closed: bool) -> Range {
        let mut steps = Vec::new();
        let (start, end) = self.range_parts(node, e, closed, &mut steps);
        Range { node, start, end, steps }
    }

    fn range_parts(
        &mut self,
        node: NodeId,
        e: &syn::Expr,
        closed: bool,
        steps: &mut Vec<RangeStep>,
    ) -> (Option<Box<Expr>>, Option<Box<Expr>>) {
        match bare(e) {
            syn::Expr::Range(r) => {
                if matches!(r.limits, syn::RangeLimits::Closed(_)) {
                    self.refuse(
                        node,
                        Code::EmptyRange,
                        "a range does not hold its end",
                        "write `a..b + 1` instead of `a..=b`",
                    );
                } else if closed && (r.start.is_none() || r.end.is_none()) {
                    self.refuse(
                        node,
                        Code::EmptyRange,
                        "this range needs both ends",
                        "write `0..N`; the ends may be left out only among indices, `x[[1..]]`",
                    );
                }
                let start = r.start.as_ref().map(|e| Box::new(self.expr(e)));
                let end = r.end.as_ref().map(|e| Box::new(self.expr(e)));
                match (&r.limits, end) {
                    // where it ends is not known, so nothing more is said of it
                    (syn::RangeLimits::Closed(_), Some(end)) => {
                        (start, Some(Box::new(Expr { node: end.node, kind: ExprKind::Error })))
                    }
                    (_, end) => (start, end),
                }
            }
            syn::Expr::MethodCall(m) => {
                let parts = self.range_parts(node, &m.receiver, closed, steps);
                self.range_step(m, steps);
                parts
            }
            _ => (None, None),
        }
    }

    fn range_step(&mut self, m: &syn::ExprMethodCall, steps: &mut Vec<RangeStep>) {
        match (text_of(&m.method).as_str(), m.args.len()) {
            ("rev", 0) => steps.push(RangeStep::Rev),
            ("step_by", 1) => {
                let step = self.expr(&m.args[0]);
                steps.push(RangeStep::StepBy(step));
            }
            _ => self.refuse_at(
                (m.method.span(), m.paren_token.span.close()),
                Code::EmptyRange,
                format!("a range has no `{}` of this form", text_of(&m.method)),
                "write `(a..b).rev()` or `(a..b).step_by(2)`",
            ),
        }
    }
}

/// Whether this is `a..b`, with `rev` and `step_by` behind it or not.
pub(super) fn range_of(e: &syn::Expr) -> Option<&syn::ExprRange> {
    match bare(e) {
        syn::Expr::Range(r) => Some(r),
        syn::Expr::MethodCall(m) => range_of(&m.receiver),
        _ => None,
    }
}
