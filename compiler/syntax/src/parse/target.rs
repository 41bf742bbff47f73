//! Left sides of assignments.

use super::cx::{Cx, bare, expr_ends, text_of};
use crate::ast::{NodeId, Target, TargetKind};
use crate::code::Code;

impl Cx {
    pub(super) fn target(&mut self, e: &syn::Expr) -> Target {
        let e = bare(e);
        let node = self.node(expr_ends(e));
        self.expr_attributes(e);
        let kind = match e {
            syn::Expr::Path(_) => match super::types::expr_ident(e) {
                Some(ident) => TargetKind::Name(text_of(ident)),
                None => self.bad_target(node),
            },
            syn::Expr::Infer(_) => TargetKind::Ignore,
            syn::Expr::Tuple(t) => TargetKind::Tuple(t.elems.iter().map(|e| self.target(e)).collect()),
            syn::Expr::Index(i) => match super::types::expr_ident(&i.expr) {
                Some(ident) => {
                    let tensor = self.name(ident);
                    match self.double_brackets(node, &i.index) {
                        Some(indices) => TargetKind::Element { tensor, indices },
                        None => TargetKind::Error,
                    }
                }
                None => self.bad_target(node),
            },
            _ => self.bad_target(node),
        };
        Target { node, kind }
    }

    fn bad_target(&mut self, node: NodeId) -> TargetKind {
        self.refuse(
            node,
            Code::UnsupportedTarget,
            "this cannot be assigned to",
            "write a name, `x[[i, j]]`, `x[[i, ..]]`, or a tuple of these on the left side",
        );
        TargetKind::Error
    }
}
