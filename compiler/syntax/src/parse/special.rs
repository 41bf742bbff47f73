//! Forms that look like calls and are none: macros and the total forms of an element.

use super::cx::{Cx, bare, ends, text_of};
use super::expr::Place;
use super::refused;
use crate::ast::{ExprKind, GetMode, NodeId, Path};
use crate::code::Code;

impl Cx {
    /// `extern_call!` and the macros that are refused.
    pub(super) fn macro_value(&mut self, node: NodeId, mac: &syn::Macro) -> ExprKind {
        let name = mac.path.segments.last().map(|s| text_of(&s.ident)).unwrap_or_default();
        if name == "extern_call" {
            return self.extern_call(node, mac);
        }
        let (what, help) = refused::macro_call(&name);
        self.refuse(node, Code::UnsupportedExpression, what, help);
        ExprKind::Error
    }

    fn extern_call(&mut self, node: NodeId, mac: &syn::Macro) -> ExprKind {
        let comma_list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        let list = match mac.parse_body_with(comma_list) {
            Ok(list) => list,
            Err(error) => {
                self.syn_error(error);
                return ExprKind::Error;
            }
        };
        let mut list = list.iter();
        let path = match list.next().map(bare) {
            Some(syn::Expr::Path(p)) if p.qself.is_none() => {
                Path { node: self.node(ends(p)), segments: self.plain_segments(&p.path) }
            }
            _ => {
                self.refuse(
                    node,
                    Code::UnsupportedExpression,
                    "`extern_call!` begins with the path of a function",
                    "write `extern_call!(crate::dsp::smooth, x, 3)`",
                );
                return ExprKind::Error;
            }
        };
        let args = list.map(|e| self.expr_in(e, Place::Argument)).collect();
        ExprKind::ExternCall { path, args }
    }

    /// `x.get_or([i, j], 0.0)` and its like, from the operands in order.
    pub(super) fn get(&mut self, node: NodeId, mode: GetMode, operands: &[&syn::Expr]) -> ExprKind {
        let (tensor, list, default) = match (mode, operands) {
            (GetMode::Or, [tensor, list, default]) => (tensor, list, Some(default)),
            (GetMode::Or, _) => return self.get_form(node, mode),
            (_, [tensor, list]) => (tensor, list, None),
            _ => return self.get_form(node, mode),
        };
        let syn::Expr::Array(list) = bare(list) else {
            return self.get_form(node, mode);
        };
        let tensor = Box::new(self.expr(tensor));
        let indices = list.elems.iter().map(|e| self.expr(e)).collect();
        let default = default.map(|e| Box::new(self.expr(e)));
        ExprKind::Get { mode, tensor, indices, default }
    }

    fn get_form(&mut self, node: NodeId, mode: GetMode) -> ExprKind {
        let name = mode.name();
        let form = match mode {
            GetMode::Or => "x.get_or([i, j], 0.0)".to_owned(),
            GetMode::Unchecked => "unsafe { x.get_unchecked([i, j]) }".to_owned(),
            GetMode::Clamped | GetMode::Wrapped | GetMode::Reflected => format!("x.{name}([i, j])"),
        };
        self.refuse(
            node,
            Code::UnsupportedExpression,
            format!("`{name}` takes the indices in brackets"),
            format!("write `{form}`"),
        );
        ExprKind::Error
    }
}
