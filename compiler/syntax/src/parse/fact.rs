//! Statements that hold for the whole function: `const` and `assert!`.

use super::cx::{Cx, bare, expr_ends, text_of};
use super::stmt::string_of;
use crate::ast::{ConstSource, Expr, ExprKind, NodeId, Stmt, StmtKind, Text};
use crate::code::Code;

impl Cx {
    pub(super) fn const_stmt(&mut self, c: &syn::ItemConst) -> Stmt {
        let node = self.node((c.const_token.span, c.semi_token.span));
        self.attributes(&c.attrs);
        if !matches!(c.vis, syn::Visibility::Inherited) || !c.generics.params.is_empty() {
            self.refuse(
                node,
                Code::UnsupportedStatement,
                "a constant of a body has neither visibility nor generic parameters",
                "write `const W: Tensor<f32, 64, 32> = …;`",
            );
        }
        let name = self.name(&c.ident);
        let ty = self.ty(&c.ty);
        let source = self.const_source(&c.expr);
        Stmt { node, kind: StmtKind::Const { name, ty, source } }
    }

    fn const_source(&mut self, e: &syn::Expr) -> ConstSource {
        let syn::Expr::Macro(m) = bare(e) else {
            return ConstSource::Value(self.expr(e));
        };
        let name = m.mac.path.segments.last().map(|s| text_of(&s.ident)).unwrap_or_default();
        let comma_list = syn::punctuated::Punctuated::<syn::LitStr, syn::Token![,]>::parse_terminated;
        let texts = m.mac.parse_body_with(comma_list).map(|l| l.into_iter().collect::<Vec<_>>());
        match (name.as_str(), texts.as_deref()) {
            ("safetensors", Ok([file, tensor])) => {
                let file = self.text(file);
                ConstSource::Safetensors { file, tensor: self.text(tensor) }
            }
            ("npz", Ok([file, tensor])) => {
                let file = self.text(file);
                ConstSource::Npz { file, tensor: self.text(tensor) }
            }
            ("npy", Ok([file])) => ConstSource::Npy { file: self.text(file) },
            _ => {
                let node = self.node(expr_ends(e));
                self.refuse(
                    node,
                    Code::ConstSource,
                    "this is not the value of a constant",
                    "write `safetensors!(\"file\", \"name\")`, `npz!(\"file\", \"name\")`, `npy!(\"file\")`, an array or an expression",
                );
                ConstSource::Value(Expr { node, kind: ExprKind::Error })
            }
        }
    }

    pub(super) fn assert_stmt(&mut self, node: NodeId, mac: &syn::Macro) -> Stmt {
        let comma_list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        let list = match mac.parse_body_with(comma_list) {
            Ok(list) => list,
            Err(error) => {
                self.syn_error(error);
                return Stmt { node, kind: StmtKind::Error };
            }
        };
        let Some(condition) = list.first() else {
            self.refuse(
                node,
                Code::UnsupportedStatement,
                "`assert!` needs a condition",
                "write `assert!(pos < S, \"text\");`",
            );
            return Stmt { node, kind: StmtKind::Error };
        };
        let condition = self.expr(condition);
        let text = list.get(1).and_then(|e| self.assert_text(e));
        if let Some(extra) = list.get(2) {
            self.refuse_at(
                expr_ends(extra),
                Code::UnsupportedStatement,
                "the text of `assert!` has no arguments",
                "write the text in full: `assert!(pos < S, \"the cache is full\");`",
            );
        }
        Stmt { node, kind: StmtKind::Assert { condition, text } }
    }

    fn assert_text(&mut self, e: &syn::Expr) -> Option<Text> {
        match string_of(e) {
            Some(literal) => Some(self.text(literal)),
            None => {
                self.refuse_at(
                    expr_ends(e),
                    Code::UnsupportedStatement,
                    "the second argument of `assert!` is a text",
                    "write `assert!(pos < S, \"text\");`",
                );
                None
            }
        }
    }
}
