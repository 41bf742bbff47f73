//! Shims: what compiled code calls in place of a Rust function that `extern_call!` names.
//!
//! A shim has the C convention and the symbol that the build script chose. It makes views and passes them on; the call
//! carries the tokens of the path in the source, so that what rustc says of it stands there. It is printed beside the
//! function and not in its module: the path means what it means where the user wrote it.

use super::Emit;
use super::names::{identifier, own};
use proc_macro2::{Ident, Span, TokenStream};
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
        let args = shim.args.iter().enumerate();
        let (params, passed): (Vec<_>, Vec<_>) = args.map(|(number, arg)| self.shim_arg(number, arg, &call)).unzip();
        let (first, last) = self.parsed.spans.get(shim.node);
        let path = path(shim, first, last);
        let body = quote_spanned!(last=> #path(#(#passed),*));
        quote! {
            #[unsafe(no_mangle)]
            unsafe extern "C" fn #symbol(#(#params)*) {
                let #call = #krate::rt::Call;
                #body
            }
        }
    }

    /// The parameters of the shim that an argument is made of, and the argument.
    fn shim_arg(&self, number: usize, arg: &ShimArg, call: &Ident) -> (TokenStream, TokenStream) {
        let krate = &self.names.krate;
        let p = own(&format!("p{number}"));
        let dtype = self.names.dtype(arg.dtype);
        if arg.by_value() {
            let param = quote!(#p: <#dtype as #krate::Element>::Abi,);
            return (param, quote!(#krate::rt::value::<#dtype>(#p)));
        }
        let axes: Vec<Ident> = (0..arg.dims.len()).map(|axis| own(&format!("p{number}_{axis}"))).collect();
        let fixed = arg.dims.iter().map(|dim| match dim.and_then(|n| usize::try_from(n).ok()) {
            Some(n) => quote!(#krate::Fixed<#n>),
            None => quote!(#krate::Dyn),
        });
        let shape = quote!((#(#fixed,)*));
        let pointer = if arg.usage == ShimUse::In { quote!(*const #dtype) } else { quote!(*mut #dtype) };
        let param = quote!(#p: #pointer, #(#axes: isize,)*);
        let (wrap, make) = match arg.usage {
            ShimUse::In => (format_ident!("operand"), format_ident!("read")),
            ShimUse::InOut => (format_ident!("target"), format_ident!("update")),
            ShimUse::Out => (format_ident!("target"), format_ident!("fill")),
        };
        let view = quote!(unsafe { #call.#make::<#dtype, #shape>(#p, [#(#axes.cast_unsigned()),*]) });
        (param, quote!(#krate::rt::#wrap(#view)))
    }
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
