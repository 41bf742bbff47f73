//! Shims: what compiled code calls in place of a Rust function that `extern_call!` names.
//!
//! A shim has the C convention and the symbol that the build script chose. It makes views and passes them on; the call
//! carries the tokens of the path in the source, so that what rustc says of it stands there. It is printed beside the
//! function and not in its module: the path means what it means where the user wrote it.

use super::Emit;
use super::names::{identifier, own};
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::index::{Shim, ShimArg, ShimUse};

impl Emit<'_> {
    /// The shims of the function's calls.
    pub(super) fn shims(&self) -> Option<TokenStream> {
        let shims = self.artefact.map(|artefact| artefact.shims.as_slice()).filter(|shims| !shims.is_empty())?;
        let shims = shims.iter().map(|shim| self.shim(shim));
        let cfgs = self.cfgs();
        Some(quote! {
            #(#cfgs)*
            #[allow(dead_code, unused_unsafe, clippy::too_many_arguments, clippy::let_unit_value, clippy::unused_unit)]
            const _: () = { #(#shims)* };
        })
    }

    fn shim(&self, shim: &Shim) -> TokenStream {
        let krate = &self.names.krate;
        let symbol = Ident::new(&shim.symbol, Span::mixed_site());
        let call = own("call");
        let (first, last) = self.parsed.spans.get(shim.node);
        let args: Vec<Argument> =
            shim.args.iter().enumerate().map(|(number, arg)| self.shim_arg(number, arg, &call)).collect();
        let (params, views) = (args.iter().map(|a| &a.params), args.iter().map(|a| &a.view));
        let path = path(shim, first, last);
        let passed = args.iter().map(|arg| located(arg.passed.clone(), last));
        let body = quote_spanned!(last=> #path(#(#passed),*));
        quote! {
            #[unsafe(no_mangle)]
            unsafe extern "C" fn #symbol(#(#params)*) {
                let #call = #krate::rt::Call;
                #(#views)*
                #body
            }
        }
    }

    fn shim_arg(&self, number: usize, arg: &ShimArg, call: &Ident) -> Argument {
        let krate = &self.names.krate;
        let p = own(&format!("p{number}"));
        let dtype = self.names.dtype(arg.dtype);
        if arg.by_value() {
            return Argument {
                params: quote!(#p: <#dtype as #krate::Element>::Abi,),
                view: quote!(let #p = #krate::rt::value::<#dtype>(#p);),
                passed: quote!(#p),
            };
        }
        let axes: Vec<Ident> = (0..arg.dims.len()).map(|axis| own(&format!("p{number}_{axis}"))).collect();
        let fixed = arg.dims.iter().map(|dim| match dim.and_then(|n| usize::try_from(n).ok()) {
            Some(n) => quote!(#krate::Fixed<#n>),
            None => quote!(#krate::Dyn),
        });
        let shape = quote!((#(#fixed,)*));
        let pointer = if arg.usage == ShimUse::In { quote!(*const #dtype) } else { quote!(*mut #dtype) };
        let (wrap, make) = match arg.usage {
            ShimUse::In => (format_ident!("operand"), format_ident!("read")),
            ShimUse::InOut => (format_ident!("target"), format_ident!("update")),
            ShimUse::Out => (format_ident!("target"), format_ident!("fill")),
        };
        Argument {
            params: quote!(#p: #pointer, #(#axes: isize,)*),
            view: quote! {
                let #p = unsafe { #call.#make::<#dtype, #shape>(#p, [#(#axes.cast_unsigned()),*]) };
            },
            passed: quote!(#krate::rt::#wrap(#p)),
        }
    }
}

/// An argument of a shim.
struct Argument {
    /// The shim's parameters that it is made of.
    params: TokenStream,
    /// What makes it.
    view: TokenStream,
    /// What the function is given.
    passed: TokenStream,
}

/// Tokens that mean what they mean, at another place.
fn located(tokens: TokenStream, at: Span) -> TokenStream {
    let place = |token: TokenTree| {
        let mut token = match token {
            TokenTree::Group(group) => TokenTree::Group(Group::new(group.delimiter(), located(group.stream(), at))),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => token,
        };
        token.set_span(token.span().located_at(at));
        token
    };
    tokens.into_iter().map(place).collect()
}

/// The function's path, with the places of the path in the source; of a call that a pass made, of the function's name.
fn path(shim: &Shim, first: Span, last: Span) -> TokenStream {
    let segments: Vec<&str> = shim.path.split("::").collect();
    let end = segments.len() - 1;
    let segments = segments.iter().enumerate().map(|(number, segment)| {
        let span = if number == end || shim.node == NodeId::FUNCTION { last } else { first };
        match *segment {
            "crate" | "self" | "super" | "Self" => Ident::new(segment, span),
            name => identifier(name, span),
        }
    });
    quote_spanned!(first=> #(#segments)::*)
}
