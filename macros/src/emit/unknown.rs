//! A function of which too little is known: it keeps its name, so that callers have no errors of their own.

use super::names::identifier;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use tenfold_syntax::Parsed;
use tenfold_syntax::ast::TensorFn;

/// Takes anything, and returns what fits everywhere. In an `impl` or `trait` no module can stand beside it.
pub(super) fn emit(parsed: &Parsed, function: &TensorFn, associated: bool) -> TokenStream {
    let outer = &parsed.outer;
    let (docs, attributes, vis) = (&outer.docs, &outer.attributes, &outer.visibility);
    let span = |node| parsed.spans.get(node).0;
    let name = identifier(&function.name.text, span(function.name.node));
    let receiver = outer.receiver.iter();
    let params = function.params.iter().enumerate().map(|(place, _)| {
        let name = format_ident!("p{place}");
        quote!(#name: impl ::core::marker::Sized)
    });
    let generics = super::generic::parameters(parsed, function, &quote!());
    let module = (!associated).then(|| {
        quote! {
            #[doc = "Of a function with errors."]
            #[allow(dead_code, unreachable_pub, clippy::module_inception)]
            #vis mod #name {}
        }
    });
    quote! {
        #(#docs)*
        #(#attributes)*
        #[allow(dead_code, unused_variables, unreachable_code)]
        #vis fn #name<#generics>(#(#receiver,)* #(#params),*) -> ! {
            ::core::panic!("this tensor function has errors")
        }
        #module
    }
}
