//! The programs of the language's reference parse without an error.

use proc_macro2::TokenStream;
use tenfold_syntax::parse_item;

#[test]
fn programs_parse() {
    let file = syn::parse_file(include_str!("../../../tests/programs/src/reference.rs")).unwrap();
    let mut count = 0;
    for item in file.items {
        let syn::Item::Fn(mut f) = item else { continue };
        let at = f.attrs.iter().position(|a| a.path().is_ident("tensor_fn")).unwrap();
        let attr = match f.attrs.remove(at).meta {
            syn::Meta::List(l) => l.tokens,
            _ => TokenStream::new(),
        };
        let name = f.sig.ident.to_string();
        let parsed = parse_item(attr, quote::quote!(#f));
        let errors: Vec<_> = parsed.diagnostics.iter().collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        assert_eq!(parsed.function.unwrap().name.text, name);
        count += 1;
    }
    assert_eq!(count, 17);
}

/// The examples of the language's page are read from the page; what is not in the language is Rust that calls them.
#[test]
fn the_pages_examples_parse() {
    let page = include_str!("../../docs/language.md");
    let fences: Vec<&str> = page.split("```rust\n").skip(1).map(|p| p.split("```").next().unwrap()).collect();
    let functions = fences.iter().flat_map(|f| f.split("\n\n")).filter(|text| text.contains("#[tensor_fn"));
    let mut count = 0;
    for text in functions {
        let parsed = tenfold_syntax::parse_text(text);
        let errors = tenfold_syntax::render::render(text, &parsed.spans, &parsed.diagnostics);
        assert!(errors.is_empty(), "{text}\n{errors}");
        count += 1;
    }
    assert_eq!(count, 7);
}
