//! `for` and `while`. Copies of an unrolled loop are written out; loops over elements are
//! kernels (`nest`), loops that use whole tensors are loops of the graph (`turns`).

use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::Literal;
use tenfold_ir::relax::Type;

use super::cx::Elaborator;
use super::value::{Value, VariableKind};
use crate::ast::{Block, Expr, NodeId, Pattern, PatternKind, Range};
use crate::code::Code;
use crate::diagnostic::Diagnostic;
use crate::search;

impl<'a> Elaborator<'a> {
    /// `for i in a..b { … }`.
    pub(super) fn for_stmt(
        &mut self,
        node: NodeId,
        unroll: bool,
        variable: &'a Pattern,
        range: &'a Range,
        body: &'a Block,
    ) {
        if self.inside && !self.statements {
            let message = "a closure over elements has no loops";
            self.fail(node, Code::TensorInClosure, message, "use `sum(0..N, |k| …)`, `reduce` or `fold`");
            return;
        }
        let Some(span) = self.span(range) else {
            self.bind_unknown(variable, body);
            return;
        };
        if unroll {
            let (first, count) = (span.first.as_const(), span.count.as_const());
            let Some((first, count)) = first.zip(count) else {
                let message = format!("the range of an unrolled loop is constant, found `{}` turns", span.count);
                self.fail(
                    range.node,
                    Code::TypeMismatch,
                    message,
                    "fix the dims in `dims(…)`, or leave `#[unroll]` out",
                );
                self.bind_unknown(variable, body);
                return;
            };
            for turn in 0..count {
                if !self.may_expand(node) {
                    return;
                }
                let scope = self.frame.names.len();
                let value = turn.checked_mul(span.stride).and_then(|offset| first.checked_add(offset));
                let Some(value) = value else { return };
                self.bind_pattern(variable, Value::Index(IntExpr::from(value)));
                self.block(body, None);
                self.frame.names.truncate(scope);
            }
            return;
        }
        if self.never_turns(&span.raw) {
            return;
        }
        if self.inside {
            return self.kernel_for(variable, &span, body);
        }
        if self.only_elements(None, body) {
            return self.nest(node, body, |me| me.kernel_for(variable, &span, body));
        }
        self.graph_for(node, variable, &span, body);
    }

    /// `while c { … }`.
    pub(super) fn while_stmt(&mut self, node: NodeId, condition: &'a Expr, body: &'a Block) {
        if self.inside {
            if self.statements {
                return self.kernel_while(condition, body);
            }
            let message = "a closure over elements has no loops";
            self.fail(node, Code::TensorInClosure, message, "use `sum(0..N, |k| …)`, `reduce` or `fold`");
            return;
        }
        if self.only_elements(Some(condition), body) {
            return self.nest(node, body, |me| me.kernel_while(condition, body));
        }
        self.graph_while(node, condition, body);
    }

    /// Binds every name of a pattern to something unknown.
    pub(super) fn bind_unknown_names(&mut self, pattern: &PatternKind) {
        let mut names = Vec::new();
        search::bound_names(pattern, &mut names);
        for name in names {
            self.bind(&name, NodeId::FUNCTION, VariableKind::Fixed, Value::Unknown);
        }
    }

    fn bind_unknown(&mut self, variable: &'a Pattern, body: &'a Block) {
        let scope = self.frame.names.len();
        self.bind_pattern(variable, Value::Unknown);
        self.checking += 1;
        self.block(body, None);
        self.checking -= 1;
        self.frame.names.truncate(scope);
    }

    pub(super) fn keeps_its_type(&mut self, node: NodeId, var: usize, before: &Value<'a>) {
        let after = self.vars[var].value.clone();
        let (x, y) = (self.type_of(before), self.type_of(&after));
        let same = match (&x, &y) {
            (Some(x), Some(y)) => self.same_type(x, y),
            _ => match (before, &after) {
                (Value::Unknown, _) | (_, Value::Unknown) => true,
                (Value::Literal(_), Value::Literal(_)) => true,
                (Value::Literal(Literal::Int(_)), Value::Index(_)) => true,
                (Value::Literal(_), _) => matches!(&y, Some(Type::Tensor(t)) if t.shape.is_empty()),
                (Value::Index(_), Value::Index(_) | Value::Literal(Literal::Int(_))) => true,
                (Value::Tuple(_), Value::Tuple(_)) => true,
                _ => false,
            },
        };
        if same {
            return;
        }
        let name = self.vars[var].name.clone();
        let (x, y) = (self.describe(before), self.describe(&after));
        let error =
            Diagnostic::new(node, Code::TypeMismatch, format!("`{name}` is {x} before the loop and {y} after a turn"))
                .label(self.vars[var].node, "it is bound here")
                .help(
                    "a variable that lives across a loop keeps its type; `#[unroll]` lets it change from copy to copy",
                );
        self.report(error);
        self.vars[var].value = Value::Unknown;
    }
}
