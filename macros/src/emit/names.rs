//! Names and types, as tokens.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use tenfold_abi::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_syntax::Parsed;
use tenfold_syntax::ast::TensorFn;
use tenfold_syntax::signature::{SigKind, SigParam, Signature};

/// The names that the printed items share.
pub(super) struct Names {
    /// The runtime, as the user's crate calls it.
    pub(super) krate: TokenStream,
    /// The function.
    pub(super) function: Ident,
    /// The module beside it.
    pub(super) module: Ident,
    /// The parameters as the user calls them.
    pub(super) user: Vec<Ident>,
    /// The parameters by their places: `p0`.
    pub(super) params: Vec<Ident>,
    /// The results: `r0`.
    pub(super) results: Vec<Ident>,
    /// The results' extents: `e0`.
    pub(super) extents: Vec<Ident>,
    /// The named dims: `d0`.
    pub(super) dims: Vec<Ident>,
    /// The workspace.
    pub(super) ws: Ident,
    /// The memories among which it is split.
    pub(super) pools: Vec<Ident>,
    /// The values of all dims.
    pub(super) all_dims: Ident,
}

impl Names {
    pub(super) fn new(function: &TensorFn, signature: &Signature, parsed: &Parsed) -> Self {
        let span = |node| parsed.spans.get(node).0;
        let name = identifier(&function.name.text, span(function.name.node));
        let module = function.attributes.module.as_ref();
        let user = function.params.iter();
        let numbered =
            |letter: &str, count: usize| -> Vec<Ident> { (0..count).map(|n| own(&format!("{letter}{n}"))).collect() };
        Self {
            krate: krate(function),
            module: module.map_or_else(|| name.clone(), |module| identifier(&module.text, span(module.node))),
            function: name,
            user: user.map(|param| identifier(&param.name.text, span(param.name.node))).collect(),
            params: numbered("p", signature.params.len()),
            results: numbered("r", signature.results.len()),
            extents: numbered("e", signature.results.len()),
            dims: numbered("d", signature.dims.len()),
            ws: own("ws"),
            pools: signature.pools.iter().map(|name| own(&format!("{name}_memory"))).collect(),
            all_dims: own("dims"),
        }
    }

    /// Those of an instance, which stands in its function's module.
    pub(super) fn of_instance(function: &TensorFn, signature: &Signature, parsed: &Parsed, name: &str) -> Self {
        let name = own(name);
        Self { function: name.clone(), module: name, ..Self::new(function, signature, parsed) }
    }

    /// The type of an element.
    pub(super) fn dtype(&self, dtype: DType) -> TokenStream {
        let krate = &self.krate;
        let name = format_ident!("{}", dtype.name());
        if dtype.is_half() || dtype.is_stored() { quote!(#krate::#name) } else { quote!(#name) }
    }

    /// `(Dyn, Fixed<64>)`.
    pub(super) fn shape(&self, dims: &[IntExpr]) -> TokenStream {
        let krate = &self.krate;
        let axes = dims.iter().map(|dim| match fixed(dim) {
            Some(extent) => quote!(#krate::Fixed<#extent>),
            None => quote!(#krate::Dyn),
        });
        quote!((#(#axes,)*))
    }

    /// Element and shape of a parameter or a result: `f32, (Dyn,)`.
    pub(super) fn of(&self, dtype: DType, dims: &[IntExpr]) -> TokenStream {
        let (dtype, shape) = (self.dtype(dtype), self.shape(dims));
        quote!(#dtype, #shape)
    }

    /// A parameter's type in the function and in `into`.
    pub(super) fn argument(&self, param: &SigParam, fallible: bool) -> TokenStream {
        self.argument_of(param, fallible, &self.dtype(param.dtype), &self.shape(&param.dims))
    }

    /// The same with an element and a shape of another name.
    pub(super) fn argument_of(
        &self,
        param: &SigParam,
        fallible: bool,
        dtype: &TokenStream,
        shape: &TokenStream,
    ) -> TokenStream {
        let krate = &self.krate;
        let of = quote!(#dtype, #shape);
        let sized = quote!(?::core::marker::Sized);
        match (param.kind, fallible) {
            (SigKind::Input, true) => quote!(&(impl #krate::AsTensor<#of> + #sized)),
            (SigKind::Input, false) => quote!(&(impl #krate::AsFixed<#of> + #sized)),
            (SigKind::Strided, true) => quote!(&(impl #krate::AsStrided<#of> + #sized)),
            (SigKind::Strided, false) => quote!(&(impl #krate::AsFixedStrided<#of> + #sized)),
            (SigKind::State, true) => quote!(&mut (impl #krate::AsTensorMut<#of> + #sized)),
            (SigKind::State, false) => quote!(&mut (impl #krate::AsFixedMut<#of> + #sized)),
            (SigKind::Scalar, _) => dtype.clone(),
            (SigKind::Index { unsigned: true }, _) => quote!(usize),
            (SigKind::Index { unsigned: false }, _) => quote!(isize),
        }
    }

    /// `&["N", "{ D - 1 }"]`.
    pub(super) fn dim_texts(dims: &[IntExpr]) -> TokenStream {
        let texts = dims.iter().map(dim_text);
        quote!(&[#(#texts),*])
    }
}

/// A dim as the source has it.
pub(super) fn dim_text(dim: &IntExpr) -> String {
    if dim.as_const().is_some() || dim.as_var().is_some() { dim.to_string() } else { format!("{{ {dim} }}") }
}

/// The extent, if the signature says it.
pub(super) fn fixed(dim: &IntExpr) -> Option<usize> {
    dim.as_const().and_then(|extent| usize::try_from(extent).ok())
}

/// A name of ours, which no name of the user's meets.
pub(super) fn own(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// A name of the user's.
pub(super) fn identifier(text: &str, span: Span) -> Ident {
    match syn::parse_str::<Ident>(text) {
        Ok(_) => Ident::new(text, span),
        Err(_) => Ident::new_raw(text, span),
    }
}

/// `::tenfold`, or what `crate = …` says.
pub(super) fn krate(function: &TensorFn) -> TokenStream {
    let Some(path) = &function.attributes.krate else {
        return quote!(::tenfold);
    };
    let here = Span::call_site();
    let segments = path.segments.iter().map(|segment| match segment.as_str() {
        "crate" | "self" | "super" => Ident::new(segment, here),
        name => identifier(name, here),
    });
    let path = quote!(#(#segments)::*);
    match function.attributes.krate.as_ref().and_then(|path| path.name()) {
        Some("crate") | None => path,
        // another crate, whatever the module around has of that name
        Some(_) => quote!(::#path),
    }
}
