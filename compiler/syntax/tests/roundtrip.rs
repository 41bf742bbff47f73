//! The canonical text of a function parses to the same function; what leaves no trace in a tree changes no fingerprint;
//! tokens from a macro and text from a file give the same.

mod support;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use support::Writer;
use tenfold_syntax::ast::TensorFn;
use tenfold_syntax::{Parsed, fingerprint, parse_item, parse_text, print, render::render};

fn parsed(source: &str) -> TensorFn {
    let parsed = parse_text(source);
    let errors = render(source, &parsed.spans, &parsed.diagnostics);
    assert!(errors.is_empty(), "{source}\n{errors}");
    parsed.function.unwrap()
}

#[test]
fn printed_functions_parse_to_themselves() {
    for seed in 0..500 {
        let source = Writer::new(seed, None).function();
        let first = parsed(&source);
        let text = print(&first);
        let second = parsed(&text);
        assert!(first == second, "seed {seed}\n{source}\n{text}\n{}", print(&second));
    }
}

#[test]
fn formatting_leaves_no_trace() {
    for seed in 0..250 {
        let plain = parsed(&Writer::new(seed, None).function());
        for noise in 1..4 {
            let source = Writer::new(seed, Some(noise)).function();
            let noisy = parsed(&source);
            assert!(plain == noisy, "seed {seed} {noise}\n{source}\n{}\n{}", print(&plain), print(&noisy));
            assert_eq!(fingerprint(&plain), fingerprint(&noisy));
        }
    }
}

#[test]
fn every_change_changes_the_fingerprint() {
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..500 {
        let function = parsed(&Writer::new(seed, None).function());
        if let Some(before) = seen.insert(fingerprint(&function), print(&function)) {
            assert_eq!(before, print(&function));
        }
    }
}

#[test]
fn fingerprints_are_stable() {
    let source = "#[tensor_fn]\nfn f(x: Tensor<f32, N>) -> Tensor<f32, N> {\n    relu(x) + 1.0\n}\n";
    assert_eq!(fingerprint(&parsed(source)), "fd2a8ef39daf37de46ea0f00e9e8f2c8");
}

/// Puts what a `macro_rules!` puts around fragments around every literal and every bracket.
fn with_invisible_groups(tokens: TokenStream) -> TokenStream {
    let wrap = |tree: TokenTree| TokenTree::Group(Group::new(Delimiter::None, tree.into()));
    let one = |tree: TokenTree| match tree {
        TokenTree::Group(g) if g.delimiter() == Delimiter::Parenthesis => {
            let mut inner = Group::new(g.delimiter(), with_invisible_groups(g.stream()));
            inner.set_span(g.span());
            TokenTree::Group(inner)
        }
        TokenTree::Literal(l) if !l.to_string().starts_with('"') => wrap(TokenTree::Literal(l)),
        other => other,
    };
    tokens.into_iter().map(one).collect()
}

#[test]
fn tokens_and_text_agree() {
    for seed in 0..500 {
        let source = Writer::new(seed, None).function();
        let text = parsed(&source);
        let candidate = tenfold_syntax::parse::candidates(&source).unwrap().remove(0);
        let item: syn::ItemFn = syn::parse2(candidate.item.clone()).unwrap();
        let direct = parse_item(candidate.attr.clone(), quote::quote!(#item));
        assert!(direct.function.as_ref() == Some(&text), "seed {seed}");
        let item = with_invisible_groups(candidate.item);
        let Parsed { function, diagnostics, .. } = parse_item(candidate.attr, item);
        assert!(diagnostics.is_empty(), "seed {seed} {source} {diagnostics:?}");
        assert!(function == Some(text), "seed {seed}\n{source}");
    }
}

#[test]
fn names_are_normalised() {
    let composed = parsed("#[tensor_fn] fn f(\u{e9}: f32) -> f32 { \u{e9} }");
    let decomposed = parsed("#[tensor_fn] fn f(e\u{301}: f32) -> f32 { r#e\u{301} }");
    assert!(composed == decomposed);
}

#[test]
fn attributes_are_found() {
    let found = |text: &str| {
        let list = tenfold_syntax::parse::candidates(text).unwrap();
        let one = |c: tenfold_syntax::parse::Candidate| {
            let conditions: Vec<_> = c.conditions.iter().map(|c| c.to_string()).collect();
            format!("{} | {} | {}", conditions.join(" & "), c.attr, c.item)
        };
        list.into_iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(found("#[tensor_fn] fn f();"), [" |  | fn f () ;"]);
    assert_eq!(found("#[inline] #[tenfold::tensor_fn(a)] #[b] fn f();"), [" | a | # [inline] # [b] fn f () ;"]);
    assert_eq!(found("#[::t::tensor_fn()] fn f();"), [" |  | fn f () ;"]);
    assert_eq!(
        found("#[cfg_attr(x, tensor_fn(a), schedule(|s| s.b()))] fn f();"),
        ["x | a | # [schedule (| s | s . b ())] fn f () ;"]
    );
    assert_eq!(
        found("#[cfg_attr(x, cfg_attr(not(y), tensor_fn))] #[cfg_attr(y, tensor_fn(b))] fn f();"),
        ["x & not (y) |  | fn f () ;", "y | b | fn f () ;"]
    );
    assert_eq!(found("#[cfg_attr(x, inline)] fn f();"), Vec::<String>::new());
}
