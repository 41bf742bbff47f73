//! What every production needs: the numbering of nodes and the list of errors.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use unicode_normalization::UnicodeNormalization;

use crate::ast::{Name, NodeId, Text};
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::spans::SpanTable;

/// First and last token.
pub(super) type Ends = (Span, Span);

/// The parse of one function.
#[derive(Default)]
pub(super) struct Cx {
    pub(super) spans: SpanTable,
    pub(super) diagnostics: Diagnostics,
}

impl Cx {
    /// Numbers a node that has these ends.
    pub(super) fn node(&mut self, ends: Ends) -> NodeId {
        self.spans.push(ends)
    }

    /// Reports an error at a node.
    pub(super) fn error(&mut self, node: NodeId, code: Code, message: impl Into<String>) {
        self.diagnostics.report(Diagnostic::new(node, code, message));
    }

    /// Reports an error at a node, with the form to write instead.
    pub(super) fn refuse(&mut self, node: NodeId, code: Code, message: impl Into<String>, help: impl Into<String>) {
        self.diagnostics.report(Diagnostic::new(node, code, message).help(help));
    }

    /// Reports an error at a place that is no node of the tree.
    pub(super) fn refuse_at(&mut self, ends: Ends, code: Code, message: impl Into<String>, help: impl Into<String>) {
        let node = self.node(ends);
        self.refuse(node, code, message, help);
    }

    /// Reports what syn found.
    pub(super) fn syn_error(&mut self, error: syn::Error) -> NodeId {
        self.syn_error_with(error, None)
    }

    /// Reports what syn found, with the form to write instead where that is known.
    pub(super) fn syn_error_with(&mut self, error: syn::Error, help: Option<&str>) -> NodeId {
        let mut first = None;
        for one in error {
            let node = self.node((one.span(), one.span()));
            let diagnostic = Diagnostic::new(node, Code::NotRust, one.to_string());
            self.diagnostics.report(match help {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            });
            first = first.or(Some(node));
        }
        first.unwrap_or(NodeId::FUNCTION)
    }

    /// Refuses `cfg` and `cfg_attr` wherever they stand in a part of the function.
    pub(super) fn no_cfg(&mut self, tokens: TokenStream) {
        let mut hash: Option<Span> = None;
        for tree in tokens {
            let after = hash.take();
            match tree {
                TokenTree::Punct(p) if p.as_char() == '#' => hash = Some(p.span()),
                TokenTree::Group(g) => {
                    let name = match g.stream().into_iter().next() {
                        Some(TokenTree::Ident(i)) if i == "cfg" || i == "cfg_attr" => Some(i.to_string()),
                        _ => None,
                    };
                    match (after, name) {
                        (Some(first), Some(name)) => self.refuse_at(
                            (first, g.span_close()),
                            Code::UnsupportedAttribute,
                            format!("`#[{name}]` stands inside of a tensor function"),
                            "put it on the whole function: the build script and rustc could disagree about a part",
                        ),
                        _ => self.no_cfg(g.stream()),
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// A name with a node of its own.
    pub(super) fn name(&mut self, ident: &syn::Ident) -> Name {
        Name { node: self.node((ident.span(), ident.span())), text: text_of(ident) }
    }

    /// A string literal with a node of its own.
    pub(super) fn text(&mut self, literal: &syn::LitStr) -> Text {
        let node = self.node((literal.span(), literal.span()));
        if !literal.suffix().is_empty() {
            self.error(node, Code::Literal, "a text has no suffix");
        }
        Text { node, value: value_of(literal) }
    }
}

/// The identifier as the tree holds it. rustc hands identifiers to a macro in NFC, text read by the build script may
/// hold them otherwise.
pub(super) fn text_of(ident: &syn::Ident) -> String {
    let text = ident.to_string();
    let text = text.strip_prefix("r#").unwrap_or(&text);
    if text.is_ascii() { text.to_owned() } else { text.nfc().collect() }
}

/// What a string literal says. rustc reads files with `\n` at the end of each line, text read by the build script may
/// hold `\r\n`.
pub(super) fn value_of(literal: &syn::LitStr) -> String {
    literal.value().replace("\r\n", "\n")
}

/// First and last token of anything that prints as tokens.
pub(super) fn ends(tokens: &impl ToTokens) -> Ends {
    stream_ends(tokens.to_token_stream())
}

/// First and last token of a stream.
pub(super) fn stream_ends(tokens: TokenStream) -> Ends {
    let mut tokens = tokens.into_iter();
    let Some(first) = tokens.next() else {
        return (Span::call_site(), Span::call_site());
    };
    let last = tokens.last().unwrap_or_else(|| first.clone());
    (opening(&first), closing(&last))
}

fn opening(tree: &TokenTree) -> Span {
    match tree {
        TokenTree::Group(g) if g.delimiter() == proc_macro2::Delimiter::None => stream_ends(g.stream()).0,
        TokenTree::Group(g) => g.span_open(),
        other => other.span(),
    }
}

fn closing(tree: &TokenTree) -> Span {
    match tree {
        TokenTree::Group(g) if g.delimiter() == proc_macro2::Delimiter::None => stream_ends(g.stream()).1,
        TokenTree::Group(g) => g.span_close(),
        other => other.span(),
    }
}

/// First and last token of an expression. Goes along the edges instead of printing the whole of it, which for every
/// node would be quadratic.
pub(super) fn expr_ends(e: &syn::Expr) -> Ends {
    use syn::Expr as E;
    let brace = |b: &syn::Block| b.brace_token.span.close();
    match e {
        E::Paren(p) => (p.paren_token.span.open(), p.paren_token.span.close()),
        E::Group(g) => expr_ends(&g.expr),
        E::Array(a) => (a.bracket_token.span.open(), a.bracket_token.span.close()),
        E::Tuple(t) => (t.paren_token.span.open(), t.paren_token.span.close()),
        E::Lit(l) => (l.lit.span(), l.lit.span()),
        E::Binary(b) => (expr_ends(&b.left).0, expr_ends(&b.right).1),
        E::Assign(a) => (expr_ends(&a.left).0, expr_ends(&a.right).1),
        E::Index(i) => (expr_ends(&i.expr).0, i.bracket_token.span.close()),
        E::Call(c) => (expr_ends(&c.func).0, c.paren_token.span.close()),
        E::MethodCall(m) => (expr_ends(&m.receiver).0, m.paren_token.span.close()),
        E::Cast(c) => (expr_ends(&c.expr).0, ends(&c.ty).1),
        E::Unary(u) => (ends(&u.op).0, expr_ends(&u.expr).1),
        E::Reference(r) => (r.and_token.span, expr_ends(&r.expr).1),
        E::Try(t) => (expr_ends(&t.expr).0, t.question_token.span),
        E::Field(f) => (expr_ends(&f.base).0, ends(&f.member).1),
        E::If(i) => (
            i.if_token.span,
            match &i.else_branch {
                Some((_, other)) => expr_ends(other).1,
                None => brace(&i.then_branch),
            },
        ),
        E::ForLoop(f) => (f.for_token.span, brace(&f.body)),
        E::While(w) => (w.while_token.span, brace(&w.body)),
        E::Loop(l) => (l.loop_token.span, brace(&l.body)),
        E::Unsafe(u) => (u.unsafe_token.span, brace(&u.block)),
        E::Block(b) => (b.block.brace_token.span.open(), brace(&b.block)),
        E::Closure(c) => (c.inputs_begin.span, expr_ends(&c.body).1),
        other => ends(other),
    }
}

/// The expression inside of parentheses and invisible groups, which are no nodes: rustfmt and macros add and remove
/// them. Those with an attribute stay, for it to be refused.
pub(super) fn bare(mut e: &syn::Expr) -> &syn::Expr {
    loop {
        match e {
            syn::Expr::Paren(p) if p.attrs.is_empty() => e = &p.expr,
            syn::Expr::Group(g) => e = &g.expr,
            _ => return e,
        }
    }
}
