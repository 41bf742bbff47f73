//! Calls by name, by path and as a method.

use super::cx::{Cx, bare, ends, expr_ends, text_of};
use super::expr::Place;
use crate::ast::{Call, Expr, ExprKind, GetMode, NamedArg, NodeId, Path};
use crate::code::Code;

impl Cx {
    pub(super) fn call(&mut self, node: NodeId, c: &syn::ExprCall) -> ExprKind {
        let syn::Expr::Path(p) = bare(&c.func) else {
            self.refuse(
                node,
                Code::UnsupportedExpression,
                "only a name or a path can be called",
                "write `softmax(x)`, `self::f(x)`, or name a closure with `let` and call it by its name",
            );
            return ExprKind::Error;
        };
        let operands: Vec<&syn::Expr> = c.args.iter().collect();
        if let Some(ident) = p.path.get_ident()
            && let Some(kind) = self.special(node, &text_of(ident), &operands)
        {
            return kind;
        }
        let place = expr_ends(bare(&c.func));
        let callee = Path { node: self.node(place), segments: self.callee_segments(p) };
        let turbofish = match p.path.segments.last().map(|s| &s.arguments) {
            Some(syn::PathArguments::AngleBracketed(args)) => self.turbofish(Some(args)),
            _ => Vec::new(),
        };
        self.finish_call(callee, turbofish, &operands)
    }

    /// `x.op(a)` is `op(x, a)`.
    pub(super) fn method(&mut self, node: NodeId, m: &syn::ExprMethodCall) -> ExprKind {
        let name = text_of(&m.method);
        let operands: Vec<&syn::Expr> = std::iter::once(&*m.receiver).chain(&m.args).collect();
        if let Some(kind) = self.special(node, &name, &operands) {
            return kind;
        }
        let callee = Path { node: self.node((m.method.span(), m.method.span())), segments: vec![name] };
        let turbofish = self.turbofish(m.turbofish.as_ref());
        self.finish_call(callee, turbofish, &operands)
    }

    /// The forms that look like calls and have a variant of their own.
    fn special(&mut self, node: NodeId, name: &str, operands: &[&syn::Expr]) -> Option<ExprKind> {
        if let Some(mode) = GetMode::ALL.into_iter().find(|m| m.name() == name) {
            return Some(self.get(node, mode, operands));
        }
        if name != "match_shape" {
            return None;
        }
        let [value, dims] = operands else {
            return Some(self.match_shape_form(node));
        };
        let syn::Expr::Array(dims) = bare(dims) else {
            return Some(self.match_shape_form(node));
        };
        let value = Box::new(self.expr(value));
        let dims = dims.elems.iter().map(|e| self.expr(e)).collect();
        Some(ExprKind::MatchShape { value, dims })
    }

    fn match_shape_form(&mut self, node: NodeId) -> ExprKind {
        self.refuse(
            node,
            Code::UnsupportedExpression,
            "`match_shape` takes a tensor and its dims in brackets",
            "write `let x = match_shape(e, [M, 4]);`",
        );
        ExprKind::Error
    }

    fn finish_call(&mut self, callee: Path, turbofish: Vec<Expr>, operands: &[&syn::Expr]) -> ExprKind {
        let (mut args, mut named) = (Vec::new(), Vec::<NamedArg>::new());
        for operand in operands {
            if let syn::Expr::Assign(a) = bare(operand) {
                named.extend(self.named_arg(a, &named));
                continue;
            }
            let arg = self.expr_in(operand, Place::Argument);
            if !named.is_empty() {
                self.refuse(
                    arg.node,
                    Code::NamedArgument,
                    "an argument stands behind a named attribute",
                    "write the arguments first: `softmax(x, axis = -1)`",
                );
            }
            args.push(arg);
        }
        ExprKind::Call(Call { callee, turbofish, args, named })
    }

    fn named_arg(&mut self, a: &syn::ExprAssign, before: &[NamedArg]) -> Option<NamedArg> {
        let node = self.node((expr_ends(&a.left).0, expr_ends(&a.right).1));
        let Some(ident) = super::types::expr_ident(&a.left) else {
            self.refuse(
                node,
                Code::NamedArgument,
                "the left side of a named attribute is its name",
                "write `softmax(x, axis = -1)`",
            );
            return None;
        };
        let name = self.name(ident);
        let value = self.expr_in(&a.right, Place::Named);
        if let Some(first) = before.iter().find(|n| n.name.text == name.text) {
            self.diagnostics.report(
                crate::Diagnostic::new(node, Code::AttributeTwice, format!("`{}` is given twice", name.text))
                    .label(first.node, "first given here")
                    .help("leave one of them out"),
            );
            return None;
        }
        Some(NamedArg { node, name, value })
    }

    fn turbofish(&mut self, args: Option<&syn::AngleBracketedGenericArguments>) -> Vec<Expr> {
        let args = args.iter().flat_map(|a| &a.args);
        args.map(|arg| self.turbofish_argument(arg)).collect()
    }

    fn turbofish_argument(&mut self, arg: &syn::GenericArgument) -> Expr {
        match arg {
            syn::GenericArgument::Const(e) => return self.expr(super::types::unbrace(e)),
            syn::GenericArgument::Type(ty) => {
                if let Some(ident) = super::types::plain_ident(ty) {
                    return Expr {
                        node: self.node((ident.span(), ident.span())),
                        kind: ExprKind::Name(text_of(ident)),
                    };
                }
            }
            _ => {}
        }
        let node = self.node(ends(arg));
        self.refuse(node, Code::UnsupportedType, "a turbofish holds a dtype", "write `zeros::<u32>([256])`");
        Expr { node, kind: ExprKind::Error }
    }

    fn callee_segments(&mut self, p: &syn::ExprPath) -> Vec<String> {
        let place = ends(&p.path);
        let segments: Vec<String> = p.path.segments.iter().map(|s| text_of(&s.ident)).collect();
        let inner = p.path.segments.len().saturating_sub(1);
        if p.qself.is_some() || p.path.segments.iter().take(inner).any(|s| !s.arguments.is_none()) {
            self.refuse_at(
                place,
                Code::UnsupportedExpression,
                "only the last name of a called path has type arguments",
                "write `crate::nn::f(x)`",
            );
        } else if p.path.leading_colon.is_some() {
            self.refuse_at(
                place,
                Code::UnsupportedExpression,
                "a tensor function of another crate cannot be called",
                "copy it into this crate, or call its Rust function by `extern_call!`",
            );
        } else if segments.len() > 1 && !matches!(segments[0].as_str(), "self" | "super" | "crate") {
            let path = segments.join("::");
            let last = &segments[segments.len() - 1];
            self.refuse_at(
                place,
                Code::UnsupportedExpression,
                format!("`{path}` is not a path of this crate"),
                format!("write `self::{path}` for a tensor function; an operator has no path, write `{last}`"),
            );
        }
        segments
    }

    /// The names of a path without type arguments; a leading `::` is an empty first name.
    pub(super) fn plain_segments(&mut self, path: &syn::Path) -> Vec<String> {
        if path.segments.iter().any(|s| !s.arguments.is_none()) {
            self.refuse_at(
                ends(path),
                Code::UnsupportedExpression,
                "this path has no type arguments",
                "write names alone: `crate::dsp::smooth`",
            );
        }
        let leading = path.leading_colon.map(|_| String::new());
        leading.into_iter().chain(path.segments.iter().map(|s| text_of(&s.ident))).collect()
    }
}
