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
    for seed in 0..200 {
        let source = Writer::new(seed, None).function();
        let first = parsed(&source);
        let text = print(&first);
        let second = parsed(&text);
        assert!(first == second, "seed {seed}\n{source}\n{text}\n{}", print(&second));
    }
}

#[test]
fn formatting_leaves_no_trace() {
    for seed in 0..80 {
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
    for seed in 0..200 {
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
    for seed in 0..200 {
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

/// Bodies of `fn f(x: Tensor<f32, N>, y: Tensor<f32, N>, s: &mut Tensor<f32, N>, n: usize)`.
fn body(text: &str) -> TensorFn {
    let params = "x: Tensor<f32, N>, y: Tensor<f32, N>, s: &mut Tensor<f32, N>, n: usize";
    parsed(&format!("#[tensor_fn] fn f({params}) -> f32 {{ {text} }}"))
}

#[test]
fn two_ways_to_write_one_thing() {
    let same = [
        ("maximum(x, y)", "x.maximum(y)"),
        ("softmax(x, axis = -1)", "x.softmax(axis = -1)"),
        ("zeros::<u32>([4])", "zeros::<{ u32 }>([4])"),
        ("get_or(x, [0], 1.0)", "x.get_or([0], 1.0)"),
        ("match_shape(x, [4])", "x.match_shape([4])"),
        ("std::f32::consts::PI", "f32::consts::PI"),
        ("core::f32::consts::PI", "f32::consts::PI"),
        ("(((x)))", "x"),
        ("x + y * x", "x + (y * x)"),
        ("compute([N], |i| { x[[i]] })", "compute([N], |i| x[[i]])"),
        (
            "if n == 0 { 1.0 } else if n == 1 { 2.0 } else { 3.0 }",
            "if n == 0 { 1.0 } else { if n == 1 { 2.0 } else { 3.0 } }",
        ),
        ("if n == 0 { s[[0]] = 1.0; } 1.0", "if n == 0 { s[[0]] = 1.0 }; 1.0"),
        ("let a = 0xff; a", "let a = 255; a"),
        ("let a = 1_000.5; a", "let a = 1000.5; a"),
        ("let a: Tensor<f32, { N }> = x; a", "let a: Tensor<f32, N> = x; a"),
        ("let a: (f32) = 1.0; a", "let a: f32 = 1.0; a"),
        ("for i in (0..n) { s[[i]] = 1.0 } 1.0", "for i in 0..n { s[[i]] = 1.0; } 1.0"),
        ("let r#n = x; n", "let n = x; n"),
        ("/* a */ x // b", "x"),
    ];
    for (a, b) in same {
        let b = b.to_owned() + "\n";
        assert!(body(&(a.to_owned() + "\n")) == body(&b), "{a} | {b}");
    }
}

#[test]
fn things_that_differ() {
    let differ = [
        ("x - y - x", "x - (y - x)"),
        ("-x", "x"),
        ("1", "1.0"),
        ("1.0", "1.0f32"),
        ("(x,)", "(x)"),
        ("x[[..]]", "x[[0..]]"),
        ("x[[(0..n).rev().step_by(2)]]", "x[[(0..n).step_by(2).rev()]]"),
        ("let mut a = x; a", "let a = x; a"),
        ("self::g(x)", "g(x)"),
        ("{ x }; x", "x; x"),
        ("unsafe { x }", "{ x }"),
        ("#[unroll] for i in 0..3 { } x", "for i in 0..3 { } x"),
        ("g(a = 1, b = 2)", "g(b = 2, a = 1)"),
    ];
    let read = |text: &str| {
        let text = format!("#[tensor_fn] fn f(x: Tensor<f32, N>, n: usize) -> f32 {{ {text} }}");
        parse_text(&text).function.unwrap()
    };
    for (a, b) in differ {
        assert_ne!(fingerprint(&read(a)), fingerprint(&read(b)), "{a} | {b}");
    }
}

#[test]
fn nodes_are_numbered_in_order_of_the_source() {
    for seed in 0..80 {
        let source = Writer::new(seed, Some(3)).function();
        let parsed = parse_text(&source);
        let count = u32::try_from(parsed.spans.len()).unwrap();
        let name = parsed.spans.bytes(tenfold_syntax::ast::NodeId::FUNCTION);
        assert_eq!(&source[name], "r#fn");
        for node in 0..count {
            let bytes = parsed.spans.bytes(tenfold_syntax::ast::NodeId(node));
            assert!(!source[bytes.clone()].is_empty(), "seed {seed} node {node}");
            assert!(bytes.end <= source.len());
        }
    }
}
