//! Tokens of one function in, its tree and every syntax error of it out.
//!
//! syn reads the tokens; what is here turns syn's tree into ours and refuses what the language does not have. Nothing
//! panics, whatever the tokens: the limits are checked before syn sees them.

mod attribute;
mod call;
mod cx;
mod expr;
mod fact;
mod inner;
mod limits;
mod literal;
mod loops;
mod operator;
mod pattern;
mod range;
mod recover;
mod refused;
mod schedule;
mod signature;
mod special;
mod stmt;
mod target;
mod targets;
mod text;
mod types;

use proc_macro2::{TokenStream, TokenTree};

pub use text::{Candidate, candidates, parse_text};

use crate::ast::{NodeId, TensorFn};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::spans::SpanTable;
use cx::{Cx, ends, stream_ends};

/// A function, as far as it could be read.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The tree; with diagnostics, `Error` variants stand for what was refused. None if not even a name and a signature
    /// could be read.
    pub function: Option<TensorFn>,
    /// What belongs to the emitted items and not to the function's identity.
    pub outer: Outer,
    /// Where each node stands.
    pub spans: SpanTable,
    /// Every syntax error.
    pub diagnostics: Diagnostics,
}

/// What the emitted items carry over.
#[derive(Clone, Debug, Default)]
pub struct Outer {
    /// Doc comments: `#[doc = "…"]`, one after the other.
    pub docs: Vec<TokenStream>,
    /// Every other attribute that is not ours: `#[cfg(…)]`, `#[allow(…)]`, `#[inline]`.
    pub attributes: Vec<TokenStream>,
    /// `pub`, `pub(crate)`, nothing.
    pub visibility: TokenStream,
    /// `&self` and the like, which only stands in an `impl` or a trait, and is refused.
    pub receiver: Option<TokenStream>,
}

/// Parses one function: the tokens in the brackets of `#[tensor_fn(…)]`, and the item below it.
pub fn parse_item(attr: TokenStream, item: TokenStream) -> Parsed {
    let mut cx = Cx::default();
    cx.node(name_place(&item));
    for (tokens, part) in [(&attr, "attribute"), (&item, "function")] {
        if let Err(excess) = limits::check(tokens.clone()) {
            cx.excess(excess, part);
            return cx.finish(None, Outer::default());
        }
    }
    cx.no_cfg(attr.clone());
    match syn::parse2::<signature::Shell>(item) {
        Ok(shell) => {
            let (function, outer) = cx.function(attr, shell);
            cx.finish(Some(function), outer)
        }
        Err(error) => {
            cx.syn_error(error);
            cx.finish(None, Outer::default())
        }
    }
}

impl Cx {
    fn finish(mut self, function: Option<TensorFn>, outer: Outer) -> Parsed {
        self.diagnostics.sort();
        Parsed { function, outer, spans: self.spans, diagnostics: self.diagnostics }
    }

    fn excess(&mut self, excess: limits::Excess, part: &str) {
        match excess {
            limits::Excess::Depth(span) => self.refuse_at(
                (span, span),
                Code::Nesting,
                format!("the {part} is nested too deeply here"),
                "give parts of it names with `let`",
            ),
            limits::Excess::Tokens => self.refuse(
                NodeId::FUNCTION,
                Code::TooLarge,
                format!("the {part} has more than {} tokens", limits::TOKENS),
                "split the function; read large constants from a file: `npy!(\"file\")`",
            ),
        }
    }
}

/// Where errors about the whole function go: its name, else its first token.
fn name_place(item: &TokenStream) -> cx::Ends {
    let mut tokens = item.clone().into_iter();
    let is_fn = |t: &TokenTree| matches!(t, TokenTree::Ident(i) if i == "fn");
    if tokens.any(|t| is_fn(&t))
        && let Some(TokenTree::Ident(name)) = tokens.next()
    {
        return (name.span(), name.span());
    }
    match item.clone().into_iter().next() {
        Some(first) => stream_ends(first.into()),
        None => ends(&TokenStream::new()),
    }
}
