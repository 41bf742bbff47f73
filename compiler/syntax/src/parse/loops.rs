//! `for` and `while`.

use super::cx::{Cx, bare, ends, expr_ends};
use super::range::range_of;
use crate::ast::{Block, Pattern, PatternKind, Range, StmtKind};
use crate::code::Code;

impl Cx {
    pub(super) fn for_stmt(&mut self, f: &syn::ExprForLoop) -> StmtKind {
        let unroll = self.loop_attributes(&f.attrs);
        self.no_label(&f.label);
        let variable = self.loop_variable(&f.pat);
        let place = expr_ends(bare(&f.expr));
        let node = self.node(place);
        let range = if range_of(&f.expr).is_some() {
            self.range(node, &f.expr, true)
        } else {
            self.refuse(
                node,
                Code::EmptyRange,
                "a `for` runs over a range",
                "write `for i in 0..N { … }`, and read elements by `x[[i]]`",
            );
            Range { node, start: None, end: None, steps: Vec::new() }
        };
        let body = self.loop_body(&f.body);
        StmtKind::For { unroll, variable, range, body }
    }

    fn loop_variable(&mut self, pat: &syn::Pat) -> Pattern {
        let pattern = self.pattern(pat, false);
        if matches!(pattern.kind, PatternKind::Tuple(_)) {
            self.refuse(
                pattern.node,
                Code::UnsupportedPattern,
                "a `for` binds one name",
                "write `for i in 0..N { … }`",
            );
        }
        pattern
    }

    pub(super) fn while_stmt(&mut self, w: &syn::ExprWhile) -> StmtKind {
        self.attributes(&w.attrs);
        self.no_label(&w.label);
        let condition = self.expr(&w.cond);
        let body = self.loop_body(&w.body);
        StmtKind::While { condition, body }
    }

    fn loop_body(&mut self, b: &syn::Block) -> Block {
        let body = self.block(b);
        if let Some(value) = &body.value {
            self.refuse(
                value.node,
                Code::UnsupportedStatement,
                "the body of a loop has no value",
                "write `;` behind it, or assign it to a variable",
            );
        }
        body
    }

    fn no_label(&mut self, label: &Option<syn::Label>) {
        if let Some(label) = label {
            self.refuse_at(
                ends(label),
                Code::UnsupportedStatement,
                "a loop has no label",
                "leave out the label; there is no `break` and no `continue`",
            );
        }
    }

    /// Attributes of a `for`; whether it is to be unrolled.
    fn loop_attributes(&mut self, attrs: &[syn::Attribute]) -> bool {
        let is_unroll = |a: &&syn::Attribute| a.path().is_ident("unroll") && matches!(a.meta, syn::Meta::Path(_));
        let unroll = attrs.iter().any(|a| is_unroll(&a));
        for attr in attrs.iter().filter(|a| !is_unroll(a)) {
            self.attribute(attr);
        }
        unroll
    }
}
