//! The module beside the function: sizes, the call that allocates nothing, the function as a value and on a device.

use super::Emit;
use super::call::expression;
use super::names::Names;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use tenfold_abi::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_syntax::Outer;
use tenfold_syntax::signature::SigKind;

impl Emit<'_> {
    pub(super) fn module(&self) -> TokenStream {
        let krate = &self.names.krate;
        let (vis, name) = (&self.outer.visibility, &self.names.module);
        let doc = format!("Sizes of `{}`, and its calls that allocate nothing.", self.names.function);
        let abi = tenfold_abi::ABI_VERSION;
        let tracked = self.tracked();
        let (sizes, value, into, on) = (self.sizes(), self.value(), self.in_place(), self.on());
        let bind = self.signature.fallible.then(|| {
            let bind = self.bind();
            let workspace = (!self.is_bounded()).then(|| self.workspace());
            quote!(#bind #workspace)
        });
        let run = self.run();
        let params = self.params_struct();
        let cfgs = self.cfgs();
        quote! {
            #(#cfgs)*
            #[doc = #doc]
            #[allow(
                dead_code,
                unreachable_pub,
                clippy::module_inception,
                clippy::too_many_arguments,
                clippy::type_complexity,
                clippy::missing_errors_doc
            )]
            #vis mod #name {
                const _: () = #krate::rt::Abi::<#abi>::OK;
                #tracked
                #sizes
                #value
                #into
                #params

                /// Parameters, results and facts.
                #[must_use]
                pub const fn signature() -> &'static #krate::Signature {
                    FUNCTION.signature()
                }

                /// The codes that there are, the best first.
                #[must_use]
                pub const fn variants() -> &'static [#krate::Variant] {
                    FUNCTION.variants()
                }

                #on
                #bind
                #run
            }
        }
    }

    /// The conditions that are still on the item, for a compiler that leaves them there.
    pub(super) fn cfgs(&self) -> Vec<&TokenStream> {
        cfgs_of(&self.parsed.outer)
    }

    /// The index among rustc's inputs: for cargo's and for compiler caches' lists of files.
    fn tracked(&self) -> Option<TokenStream> {
        let path = crate::lookup::path().filter(|_| self.artefact.is_some())?;
        let path = path.to_str()?.to_string();
        Some(quote!(
            const _: &[u8] = ::core::include_bytes!(#path);
        ))
    }

    /// Whether every size has a constant bound, so that the greatest workspace is a constant. This follows from the
    /// item alone.
    pub(super) fn is_bounded(&self) -> bool {
        self.signature.unbounded().is_empty()
    }

    /// The constant size of the workspace.
    fn workspace_bytes(&self) -> Option<usize> {
        if !self.is_bounded() {
            return None;
        }
        let bytes = self.artefact.and_then(|artefact| artefact.workspace_bytes);
        Some(bytes.map_or(0, super::pools::rounded))
    }

    fn sizes(&self) -> TokenStream {
        let krate = &self.names.krate;
        let weights = self.artefact.map_or(0, |artefact| artefact.weight_bytes);
        let weights = usize::try_from(weights).unwrap_or(usize::MAX);
        let code = self.artefact.map_or(0, |artefact| {
            artefact.code_bytes + artefact.variants.iter().map(|variant| variant.code_bytes).sum::<u64>()
        });
        let code = usize::try_from(code).unwrap_or(usize::MAX);
        let workspace = self.workspace_bytes().map(|bytes| {
            let memory = match self.has_pools() {
                true => self.pool_types(),
                false => quote! {
                    /// Memory for what is computed on the way.
                    pub type Workspace = #krate::Workspace<{ WORKSPACE_BYTES }>;
                },
            };
            quote! {
                /// Bytes of workspace.
                pub const WORKSPACE_BYTES: usize = #bytes;
                #memory
            }
        });
        let stack = match self.artefact {
            Some(artefact) => artefact.stack_bytes.and_then(|bytes| usize::try_from(bytes).ok()),
            None => Some(0),
        };
        let stack = match stack {
            Some(bytes) => quote!(#bytes),
            None => quote!(usize::MAX),
        };
        let flops = self.artefact.and_then(|artefact| expression(&artefact.flops_expr));
        let flops = flops.and_then(|e| u64::try_from(e.as_const()?).ok()).map(|flops| {
            quote! {
                /// Arithmetic operations on floats.
                pub const FLOPS: u64 = #flops;
            }
        });
        let by_dims = (!self.is_bounded() && !self.signature.dims.is_empty()).then(|| self.workspace_by_dims());
        quote! {
            #workspace
            /// Bytes of constants.
            pub const WEIGHT_BYTES: usize = #weights;
            /// Bytes of code, of all variants.
            pub const CODE_BYTES: usize = #code;
            /// Bytes of stack, at most; `usize::MAX` if the code generator cannot tell.
            pub const STACK_BYTES: usize = #stack;
            #flops
            #by_dims
        }
    }

    fn workspace_by_dims(&self) -> TokenStream {
        let krate = &self.names.krate;
        let names: Vec<Ident> = self
            .signature
            .dims
            .iter()
            .map(|dim| {
                let name = dim.sym.to_string().to_lowercase();
                super::names::identifier(&name, self.names.ws.span())
            })
            .collect();
        quote! {
            /// Bytes of workspace for these dims; `usize::MAX` if they do not fit.
            #[must_use]
            pub fn workspace_bytes(#(#names: usize),*) -> usize {
                workspace([#(#krate::rt::index(#names)),*])
            }
        }
    }

    /// The function as a value.
    fn value(&self) -> TokenStream {
        let krate = &self.names.krate;
        let name = &self.signature.name;
        let params = self.signature.params.iter().map(|param| {
            let kind = match param.kind {
                SigKind::Input => quote!(Input),
                SigKind::Strided => quote!(Strided),
                SigKind::State => quote!(State),
                SigKind::Scalar => quote!(Scalar),
                SigKind::Index { unsigned: true } => quote!(Usize),
                SigKind::Index { unsigned: false } => quote!(Isize),
            };
            let is_index = matches!(param.kind, SigKind::Index { .. });
            self.param(&param.name, &kind, (!is_index).then_some(param.dtype), &param.dims)
        });
        let results = self.signature.results.iter().enumerate();
        let results = results.map(|(number, result)| {
            let name = self.result_name(number);
            self.param(&name, &quote!(Result), Some(result.dtype), &result.dims)
        });
        let facts = self.stated_facts().map(|fact| fact.fact.to_string());
        let bytes = match self.workspace_bytes() {
            Some(_) => quote!(::core::option::Option::Some(WORKSPACE_BYTES)),
            None => quote!(::core::option::Option::None),
        };
        let call = self.call_by_name();
        let variants = self.artefact.map_or(&[][..], |artefact| &artefact.variants[..]).iter().map(|variant| {
            let (name, features) = (&variant.name, &variant.features);
            quote!(#krate::Variant { name: #name, features: &[#(#features),*] })
        });
        let baseline = tenfold_abi::BASELINE;
        quote! {
            /// The function as a value, for calls by name.
            pub const FUNCTION: #krate::Function = #krate::rt::function(#krate::rt::FunctionInfo {
                signature: &#krate::Signature {
                    name: #name,
                    params: &[#(#params),*],
                    results: &[#(#results),*],
                    facts: &[#(#facts),*],
                },
                workspace_bytes: #bytes,
                weight_bytes: WEIGHT_BYTES,
                variants: &[#(#variants,)* #krate::Variant { name: #baseline, features: &[] }],
                call: |args| { #call },
            });
        }
    }

    fn param(&self, name: &str, kind: &TokenStream, dtype: Option<DType>, dims: &[IntExpr]) -> TokenStream {
        let krate = &self.names.krate;
        let dtype = match dtype {
            Some(dtype) => {
                let variant = format_ident!("{}", dtype.name().to_uppercase());
                let variant = if dtype.is_bool() { format_ident!("Bool") } else { variant };
                quote!(::core::option::Option::Some(#krate::DType::#variant))
            }
            None => quote!(::core::option::Option::None),
        };
        let dims = Names::dim_texts(dims);
        quote!(#krate::Param { name: #name, kind: #krate::Kind::#kind, dtype: #dtype, dims: #dims })
    }

    /// Takes the arguments one by one.
    fn call_by_name(&self) -> TokenStream {
        let mut lets = Vec::new();
        let mut passed = Vec::new();
        for (param, p) in self.signature.params.iter().zip(&self.names.params) {
            let of = self.names.of(param.dtype, &param.dims);
            let dtype = self.names.dtype(param.dtype);
            match param.kind {
                SigKind::Input | SigKind::Strided => {
                    lets.push(quote!(let #p = args.input::<#of>()?;));
                    passed.push(quote!(&#p));
                }
                SigKind::State => {
                    lets.push(quote!(let mut #p = args.state::<#of>()?;));
                    passed.push(quote!(&mut #p));
                }
                SigKind::Scalar => {
                    lets.push(quote!(let #p = args.scalar::<#dtype>()?;));
                    passed.push(quote!(#p));
                }
                SigKind::Index { unsigned } => {
                    let ty = if unsigned { quote!(usize) } else { quote!(isize) };
                    lets.push(quote!(let #p = args.index::<#ty>()?;));
                    passed.push(quote!(#p));
                }
            }
        }
        for (result, r) in self.signature.results.iter().zip(&self.names.results) {
            let of = self.names.of(result.dtype, &result.dims);
            lets.push(quote!(let mut #r = args.result::<#of>()?;));
            passed.push(quote!(&mut #r));
        }
        let ws = match self.workspace_bytes() {
            Some(_) if self.has_pools() => {
                let (open, parts) = self.pools_by_name();
                lets.push(open);
                parts
            }
            Some(_) => quote!(args.workspace::<{ WORKSPACE_BYTES }>()?),
            None => quote!(args.workspace_bytes()),
        };
        if self.signature.fallible {
            quote!(#(#lets)* into(#(#passed,)* #ws))
        } else {
            quote!(#(#lets)* into(#(#passed,)* #ws); ::core::result::Result::Ok(()))
        }
    }

    /// `r0: &mut impl AsTensorMut<…>, …`.
    pub(super) fn result_params(&self) -> TokenStream {
        let krate = &self.names.krate;
        let results = self.signature.results.iter().zip(&self.names.results);
        let types = results.map(|(result, r)| {
            let of = self.names.of(result.dtype, &result.dims);
            let bound = if self.signature.fallible { quote!(AsTensorMut) } else { quote!(AsFixedMut) };
            quote!(#r: &mut (impl #krate::#bound<#of> + ?::core::marker::Sized))
        });
        quote!(#(#types,)*)
    }

    /// `ws: &mut Workspace`, or a parameter for each memory.
    pub(super) fn workspace_params(&self) -> TokenStream {
        let (krate, ws) = (&self.names.krate, &self.names.ws);
        match self.workspace_bytes() {
            Some(_) if self.has_pools() => self.pool_params(),
            Some(_) => quote!(#ws: &mut Workspace),
            None => quote!(#ws: &mut (impl #krate::AsWorkspace + ?::core::marker::Sized)),
        }
    }

    /// `ws`, or the memories.
    pub(super) fn workspace_names(&self) -> TokenStream {
        let (ws, pools) = (&self.names.ws, &self.names.pools);
        if self.has_pools() { quote!(#(#pools),*) } else { quote!(#ws) }
    }

    /// The call that allocates nothing.
    fn in_place(&self) -> TokenStream {
        let krate = &self.names.krate;
        let (params, ws, inputs) = (self.params(), &self.names.ws, self.inputs());
        let (pointers, ws_params) = (self.pointers(), self.workspace_params());
        let fallible = self.signature.fallible;
        let types = self.result_params();
        let takes = quote!(#params #types);
        let results = self.signature.results.iter().enumerate();
        if !fallible {
            let views = self.names.results.iter();
            let views = views.map(|r| quote!(let mut #r = #krate::rt::fixed_mut(#r);));
            let arguments = self.run_arguments(&pointers, false);
            return quote! {
                /// Writes the result in place; never allocates.
                #[inline]
                pub fn into(#takes #ws_params) {
                    #inputs
                    #(#views)*
                    unsafe { run(#arguments) }
                }
            };
        }
        let bind = self.bind_call(&quote!());
        let views = results.map(|(number, result)| {
            let (r, e) = (&self.names.results[number], &self.names.extents[number]);
            let (name, dims) = (self.result_name(number), Names::dim_texts(&result.dims));
            quote!(let mut #r = #krate::rt::result(#name, #r, #e, #dims)?;)
        });
        let arguments = self.run_arguments(&quote!(#ws), false);
        let memory = if self.is_bounded() {
            quote!(let #ws = #pointers;)
        } else {
            let dims = &self.names.all_dims;
            quote!(let #ws = #krate::rt::workspace(#ws, workspace(#dims))?;)
        };
        quote! {
            /// Writes the results in place; never allocates.
            #[inline]
            pub fn into(#takes #ws_params) -> ::core::result::Result<(), #krate::Error> {
                #inputs
                #bind
                #(#views)*
                #memory
                unsafe { run(#arguments) }
            }
        }
    }
}

/// The conditions among what the items carry over.
pub(super) fn cfgs_of(outer: &Outer) -> Vec<&TokenStream> {
    let is_cfg = |a: &&TokenStream| a.to_string().replace(' ', "").starts_with("#[cfg(");
    outer.attributes.iter().filter(is_cfg).collect()
}
