//! Errors at the user's own tokens.

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::quote;
use std::fmt::Write as _;
use tenfold_syntax::{Diagnostic, SpanTable};

/// A diagnostic with everything that belongs to it, at its node.
pub(crate) fn diagnostic(diagnostic: &Diagnostic, spans: &SpanTable) -> TokenStream {
    let mut text = format!("[{}] {}", diagnostic.code, diagnostic.message);
    for (node, label) in &diagnostic.labels {
        let place = spans.get(*node).0.unwrap();
        // an editor knows no lines
        match (place.local_file().is_some(), place.line()) {
            (true, line) => {
                let _ = write!(text, "\nnote: line {line}: {label}");
            }
            (false, _) => {
                let _ = write!(text, "\nnote: {label}");
            }
        }
    }
    if let Some(help) = &diagnostic.help {
        let _ = write!(text, "\nhelp: {help}");
    }
    at(spans.get(diagnostic.node), &text)
}

/// `::core::compile_error! { "…" }` whose first token has the first span and whose last has the last: rustc joins the
/// two, which is the only way to underline several tokens on a stable compiler.
pub(crate) fn at((first, last): (Span, Span), text: &str) -> TokenStream {
    let punct = |c, spacing| {
        let mut punct = Punct::new(c, spacing);
        punct.set_span(first);
        TokenTree::from(punct)
    };
    let mut literal = Literal::string(text);
    literal.set_span(last);
    let mut group = Group::new(Delimiter::Brace, TokenTree::from(literal).into());
    group.set_span(last);
    TokenStream::from_iter([
        punct(':', Spacing::Joint),
        punct(':', Spacing::Alone),
        Ident::new("core", first).into(),
        punct(':', Spacing::Joint),
        punct(':', Spacing::Alone),
        Ident::new("compile_error", first).into(),
        punct('!', Spacing::Alone),
        group.into(),
    ])
}

/// An error that exists only where a build script has run: not in an editor, which expands text that the script has
/// not seen; not under trybuild, rustdoc and miri, which need no code.
pub(crate) fn only_in_a_build(error: &TokenStream) -> TokenStream {
    // on an item, since an editor ignores the attribute on a statement; with `allow` around it, since rustc does not
    // know these names
    quote! {
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(not(any(trybuild, doc, doctest, miri, rust_analyzer)))]
            const _: () = { #error };
        };
    }
}
