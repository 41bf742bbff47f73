//! Bodies that are no Rust: syn stops at the first error, so what stands before, behind and inside of the offending
//! statement is read apart from it. Every further error shows at once, and the names that a broken `let` binds stay
//! known.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};

use super::cx::{Cx, stream_ends};
use crate::ast::{Block, Expr, ExprKind, NodeId, Stmt, StmtKind};

impl Cx {
    /// The body of the function.
    pub(super) fn body(&mut self, node: NodeId, tokens: TokenStream) -> Block {
        self.statements(node, tokens, &mut true)
    }

    fn statements(&mut self, node: NodeId, tokens: TokenStream, facts: &mut bool) -> Block {
        if let Ok(list) = closed(tokens.clone(), syn::Block::parse_within) {
            return self.block_stmts(node, &list, facts);
        }
        let (mut stmts, mut value) = (Vec::new(), None);
        for chunk in statement_chunks(tokens) {
            stmts.extend(value.take().map(|e: Box<Expr>| Stmt { node: e.node, kind: StmtKind::Expr(*e) }));
            match closed(chunk.clone(), syn::Block::parse_within) {
                Ok(list) => {
                    let part = self.block_stmts(node, &list, facts);
                    stmts.extend(part.stmts);
                    value = part.value;
                }
                Err(error) => {
                    *facts = false;
                    stmts.push(self.broken_stmt(chunk, error));
                }
            }
        }
        Block { node, stmts, value }
    }

    fn broken_stmt(&mut self, tokens: TokenStream, error: syn::Error) -> Stmt {
        let node = self.node(stream_ends(tokens.clone()));
        let (outside, inside) = without_braces(tokens.clone());
        if !inside.is_empty() && closed(outside, syn::Block::parse_within).is_ok() {
            // The errors are in the braces.
            let before = self.diagnostics.len();
            for body in inside {
                let node = self.node(stream_ends(body.clone()));
                self.statements(node, body, &mut false);
            }
            if self.diagnostics.len() == before {
                self.syn_error(error);
            }
        } else {
            self.syn_error_with(error, foreign(tokens.clone()));
        }
        let kind = self.broken_let(tokens).unwrap_or(StmtKind::Error);
        Stmt { node, kind }
    }

    /// What a broken `let` binds, to an unknown value.
    fn broken_let(&mut self, tokens: TokenStream) -> Option<StmtKind> {
        let mut tokens = tokens.into_iter();
        match tokens.next() {
            Some(TokenTree::Ident(word)) if word == "let" => {}
            _ => return None,
        }
        let ends = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if matches!(p.as_char(), '=' | ':' | ';'));
        let pattern: TokenStream = tokens.take_while(|t| !ends(t)).collect();
        let place = stream_ends(pattern.clone());
        let pattern = syn::Pat::parse_single.parse2(pattern).ok()?;
        let pattern = self.pattern(&pattern, true);
        let value = Expr { node: self.node(place), kind: ExprKind::Error };
        Some(StmtKind::Let { pattern, ty: None, value })
    }
}

/// What to write in the place of a form that other languages have for tensors and Rust has not.
fn foreign(tokens: TokenStream) -> Option<&'static str> {
    let mut before: Option<TokenTree> = None;
    for tree in tokens {
        let found = match &tree {
            TokenTree::Punct(p) if p.as_char() == '@' => Some("a product of matrices is `matmul(a, b)`"),
            TokenTree::Group(g) if g.delimiter() == Delimiter::Bracket && is_value(before.as_ref()) => {
                let is_comma = |t: TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ',');
                let several = g.stream().into_iter().any(is_comma);
                several.then_some("an element is `x[[i, j]]`, in two brackets; `x[[i, ..]]` keeps an axis")
            }
            TokenTree::Ident(word) if word == "where" => {
                Some("a choice element by element is `select(condition, x, y)`")
            }
            TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
        };
        let inside = || match &tree {
            TokenTree::Group(g) => foreign(g.stream()),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
        };
        if let Some(help) = found.or_else(inside) {
            return Some(help);
        }
        before = Some(tree);
    }
    None
}

/// Whether brackets behind a token index what ends there.
fn is_value(before: Option<&TokenTree>) -> bool {
    match before {
        Some(TokenTree::Ident(word)) => word != "in" && word != "else" && word != "return",
        Some(TokenTree::Group(g)) => g.delimiter() != Delimiter::Brace,
        Some(TokenTree::Punct(_) | TokenTree::Literal(_)) | None => false,
    }
}

/// Parses tokens as if they stood in brackets: what is missing at their end is reported at the last of them.
pub(super) fn closed<T>(tokens: TokenStream, parser: impl Fn(ParseStream) -> syn::Result<T>) -> syn::Result<T> {
    let mut group = Group::new(Delimiter::Brace, tokens.clone());
    group.set_span(stream_ends(tokens).1);
    let inside = |input: ParseStream| {
        let content;
        syn::braced!(content in input);
        let read = parser(&content)?;
        match content.is_empty() {
            true => Ok(read),
            false => Err(content.error("unexpected token")),
        }
    };
    inside.parse2(TokenTree::Group(group).into())
}

/// Splits tokens behind each separator, which a part keeps.
pub(super) fn chunks(tokens: TokenStream, separator: char) -> Vec<TokenStream> {
    split(tokens, |tree, _| matches!(tree, TokenTree::Punct(p) if p.as_char() == separator))
}

/// Splits a body behind each `;`, and behind braces where another statement must begin.
fn statement_chunks(tokens: TokenStream) -> Vec<TokenStream> {
    split(tokens, |tree, next| match tree {
        TokenTree::Punct(p) => p.as_char() == ';',
        TokenTree::Group(g) if g.delimiter() == Delimiter::Brace => {
            matches!(next, Some(TokenTree::Ident(word)) if word != "else" && word != "as")
        }
        _ => false,
    })
}

fn split(tokens: TokenStream, ends: impl Fn(&TokenTree, Option<&TokenTree>) -> bool) -> Vec<TokenStream> {
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    let mut tokens = tokens.into_iter().peekable();
    while let Some(tree) = tokens.next() {
        let last = ends(&tree, tokens.peek());
        part.push(tree);
        if last {
            parts.push(part.drain(..).collect());
        }
    }
    if !part.is_empty() {
        parts.push(part.into_iter().collect());
    }
    parts
}

/// Empties the outermost braces; what stood in them comes apart.
fn without_braces(tokens: TokenStream) -> (TokenStream, Vec<TokenStream>) {
    let mut inside = Vec::new();
    let outside = empty_braces(tokens, &mut inside);
    (outside, inside)
}

fn empty_braces(tokens: TokenStream, inside: &mut Vec<TokenStream>) -> TokenStream {
    let one = |tree| match tree {
        TokenTree::Group(g) => {
            let stream = match g.delimiter() {
                Delimiter::Brace => {
                    inside.push(g.stream());
                    TokenStream::new()
                }
                Delimiter::Parenthesis | Delimiter::Bracket | Delimiter::None => empty_braces(g.stream(), inside),
            };
            let mut empty = Group::new(g.delimiter(), stream);
            empty.set_span(g.span());
            TokenTree::Group(empty)
        }
        other => other,
    };
    tokens.into_iter().map(one).collect()
}
