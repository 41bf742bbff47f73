//! The struct of the weights that a program reads when it runs, and the calls with it.
//!
//! `params(w1, b1 = "fc1.bias")` changes neither the function nor `into`: the struct passes to both what it holds.

use super::Emit;
use super::names::Names;
use proc_macro2::TokenStream;
use quote::quote;

impl Emit<'_> {
    fn is_loaded(&self, place: usize) -> bool {
        self.signature.loaded.iter().any(|(loaded, _)| *loaded == place)
    }

    /// `Params`, with how it is read and the call that allocates nothing. That one is not `into`, which a value of any
    /// type has already.
    pub(super) fn params_struct(&self) -> Option<TokenStream> {
        if self.signature.loaded.is_empty() {
            return None;
        }
        let krate = &self.names.krate;
        let (mut fields, mut loads, mut tensors) = (Vec::new(), Vec::new(), Vec::new());
        for (place, tensor) in &self.signature.loaded {
            let (param, user) = (&self.signature.params[*place], &self.names.user[*place]);
            let of = self.names.of(param.dtype, &param.dims);
            let dims: Vec<String> = param.dims.iter().map(super::names::dim_text).collect();
            let doc = format!("The tensor `{tensor}`: `{}` of [{}].", param.dtype.name(), dims.join(", "));
            fields.push(quote!(#[doc = #doc] pub #user: #krate::TensorRef<'a, #of>));
            loads.push(quote!(#user: #krate::rt::weight(files, #tensor)?));
            tensors.push(tensor);
        }
        let (takes, passed) = (self.other_params(), self.passed());
        let (results, r) = (self.result_params(), &self.names.results);
        let (ws, ws_params) = (self.workspace_names(), self.workspace_params());
        let result = self.signature.fallible.then(|| quote!(-> ::core::result::Result<(), #krate::Error>));
        Some(quote! {
            /// The weights, which are read when the program runs and used where they lie.
            #[derive(Clone, Copy, Debug)]
            pub struct Params<'a> {
                #(#fields,)*
            }

            impl<'a> Params<'a> {
                /// What the tensors are called in files.
                pub const TENSORS: &'static [&'static str] = &[#(#tensors),*];

                /// Finds each tensor in the first of the files that has it, and compares its dtype and its extents.
                pub fn load(files: &[#krate::Safetensors<'a>]) -> ::core::result::Result<Self, #krate::Error> {
                    ::core::result::Result::Ok(Self { #(#loads,)* })
                }

                /// Calls the function with these weights and writes its results in place; never allocates.
                #[inline]
                pub fn call_into(&self, #takes #results #ws_params) #result {
                    into(#passed #(#r,)* #ws)
                }
            }
        })
    }

    /// `Params::call`, beside the function because it calls it by its name.
    pub(super) fn call_of_params(&self) -> Option<TokenStream> {
        if self.signature.loaded.is_empty() {
            return None;
        }
        let Names { krate, module, function, .. } = &self.names;
        let (cfgs, vis) = (self.cfgs(), &self.outer.visibility);
        let (takes, passed, result) = (self.other_params(), self.passed(), self.result_type());
        Some(quote! {
            #krate::rt::with_alloc! {
                #(#cfgs)*
                #[allow(dead_code, unreachable_pub, clippy::too_many_arguments, clippy::type_complexity, clippy::missing_errors_doc, clippy::must_use_candidate)]
                impl #module::Params<'_> {
                    /// Calls the function with these weights.
                    #vis fn call(&self, #takes) #result {
                        #function(#passed)
                    }
                }
            }
        })
    }

    /// The parameters that are passed at each call.
    fn other_params(&self) -> TokenStream {
        let all = self.signature.params.iter().zip(&self.names.user).enumerate();
        let others = all.filter(|(place, _)| !self.is_loaded(*place));
        let others = others.map(|(_, (param, user))| {
            let ty = self.names.argument(param, self.signature.fallible);
            quote!(#user: #ty)
        });
        quote!(#(#others,)*)
    }

    /// Every parameter, those that are weights from the struct.
    fn passed(&self) -> TokenStream {
        let all = self.names.user.iter().enumerate();
        let all = all.map(|(place, user)| if self.is_loaded(place) { quote!(&self.#user) } else { quote!(#user) });
        quote!(#(#all,)*)
    }
}
