//! The function that allocates its results.

use super::Emit;
use proc_macro2::TokenStream;
use quote::quote;
use tenfold_syntax::signature::SigResult;

impl Emit<'_> {
    /// Inside of `with_alloc!`, which keeps it where the runtime has a heap.
    pub(super) fn function(&self) -> TokenStream {
        let krate = &self.names.krate;
        let outer = self.outer;
        let (docs, attributes, vis) = (&outer.docs, &outer.attributes, &outer.visibility);
        let name = &self.names.function;
        let params = self.params();
        let result = self.result_type();
        let body = if self.signature.fallible { self.fallible_body() } else { self.infallible_body() };
        let is_marked = attributes.iter().any(|a| a.to_string().contains("must_use"));
        let must_use =
            (!self.signature.fallible && !self.signature.results.is_empty() && !is_marked).then(|| quote!(#[must_use]));
        quote! {
            #krate::rt::with_alloc! {
                #(#docs)*
                #(#attributes)*
                #must_use
                #[allow(dead_code, clippy::too_many_arguments, clippy::type_complexity, clippy::missing_errors_doc, clippy::missing_const_for_fn)]
                #vis fn #name(#params) #result {
                    #body
                }
            }
        }
    }

    /// `x: &(impl AsTensor<…>), …`.
    pub(super) fn params(&self) -> TokenStream {
        let user = &self.names.user;
        let types = self.signature.params.iter().map(|param| self.names.argument(param, self.signature.fallible));
        quote!(#(#user: #types,)*)
    }

    fn owned_type(&self, result: &SigResult) -> TokenStream {
        if result.dims.is_empty() {
            return self.names.dtype(result.dtype);
        }
        let krate = &self.names.krate;
        let of = self.names.of(result.dtype, &result.dims);
        quote!(#krate::Tensor<#of>)
    }

    /// What the call gives.
    pub(super) fn output(&self) -> TokenStream {
        let krate = &self.names.krate;
        let types: Vec<_> = self.signature.results.iter().map(|result| self.owned_type(result)).collect();
        let value = self.tuple(&types);
        if self.signature.fallible { quote!(::core::result::Result<#value, #krate::Error>) } else { value }
    }

    pub(super) fn result_type(&self) -> TokenStream {
        let output = self.output();
        let is_unit = !self.signature.fallible && self.signature.results.is_empty();
        if is_unit { quote!() } else { quote!(-> #output) }
    }

    /// One thing alone, unless the signature has a tuple.
    fn tuple(&self, parts: &[TokenStream]) -> TokenStream {
        match (parts, self.signature.result_is_tuple) {
            ([one], false) => one.clone(),
            _ => quote!((#(#parts,)*)),
        }
    }

    fn infallible_body(&self) -> TokenStream {
        let krate = &self.names.krate;
        let module = &self.names.module;
        let ws = &self.names.ws;
        let inputs = self.inputs();
        let rooms = self.signature.results.iter().zip(&self.names.results);
        let rooms = rooms.map(|(result, r)| {
            let of = self.names.of(result.dtype, &result.dims);
            if result.dims.is_empty() {
                self.scalar_room(result, r)
            } else {
                quote!(let mut #r = #krate::rt::Owned::<#of>::fixed();)
            }
        });
        let arguments = self.run_arguments(&self.scratch(&quote!(#module::)), true);
        let value = self.written();
        quote! {
            #inputs
            #(#rooms)*
            let mut #ws = #krate::rt::Scratch::fixed(#module::WORKSPACE_BYTES);
            unsafe {
                #module::run(#arguments);
                #value
            }
        }
    }

    fn fallible_body(&self) -> TokenStream {
        let krate = &self.names.krate;
        let module = &self.names.module;
        let ws = &self.names.ws;
        let bytes = if self.is_bounded() {
            quote!(#module::WORKSPACE_BYTES)
        } else {
            let dims = &self.names.all_dims;
            quote!(#module::workspace(#dims))
        };
        let inputs = self.inputs();
        let bind = self.bind_call(&quote!(#module::));
        let results = self.signature.results.iter().enumerate();
        let rooms = results.map(|(number, result)| {
            let (r, e) = (&self.names.results[number], &self.names.extents[number]);
            if result.dims.is_empty() {
                let room = self.scalar_room(result, r);
                quote!(let _ = #e; #room)
            } else {
                let name = self.result_name(number);
                quote!(let mut #r = #krate::rt::Owned::new(#name, #e)?;)
            }
        });
        let arguments = self.run_arguments(&self.scratch(&quote!(#module::)), true);
        let value = self.written();
        quote! {
            #inputs
            #bind
            #(#rooms)*
            let mut #ws = #krate::rt::Scratch::new(#bytes)?;
            unsafe {
                #module::run(#arguments)?;
                ::core::result::Result::Ok(#value)
            }
        }
    }

    fn scalar_room(&self, result: &SigResult, r: &proc_macro2::Ident) -> TokenStream {
        let dtype = self.names.dtype(result.dtype);
        quote!(let mut #r = <#dtype as ::core::default::Default>::default();)
    }

    /// The results once they are written.
    fn written(&self) -> TokenStream {
        let results = self.signature.results.iter().zip(&self.names.results);
        let parts: Vec<_> =
            results.map(|(result, r)| if result.dims.is_empty() { quote!(#r) } else { quote!(#r.written()) }).collect();
        if parts.is_empty() && !self.signature.fallible {
            return quote!();
        }
        self.tuple(&parts)
    }

    /// `result`, or `result.0`.
    pub(super) fn result_name(&self, number: usize) -> String {
        if self.signature.result_is_tuple { format!("result.{number}") } else { "result".into() }
    }
}
