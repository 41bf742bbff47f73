//! From what a caller passes to the entry point: binding of dims, sizes, and the one item that names the symbol.

use super::Emit;
use super::expr::Scope;
use super::names::{dim_text, fixed};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use tenfold_abi::{DType, number_of_level};
use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_syntax::index::{Artefact, Variant};
use tenfold_syntax::signature::{SigFact, SigKind};

impl Emit<'_> {
    /// `let p0 = rt::input("x", x)?;` for each parameter that is not taken as it is.
    pub(super) fn inputs(&self) -> TokenStream {
        let krate = &self.names.krate;
        let fallible = self.signature.fallible;
        let params = self.signature.params.iter().enumerate();
        params
            .map(|(number, param)| {
                let (p, user) = (&self.names.params[number], &self.names.user[number]);
                let name = &param.name;
                match (param.kind, fallible) {
                    (SigKind::Input, true) => quote!(let #p = #krate::rt::input(#name, #user)?;),
                    (SigKind::Input, false) => quote!(let #p = #krate::rt::fixed(#user);),
                    (SigKind::Strided, true) => quote!(let #p = #krate::rt::strided(#name, #user)?;),
                    (SigKind::Strided, false) => quote!(let #p = #krate::rt::fixed_strided(#user);),
                    (SigKind::State, true) => quote!(let mut #p = #krate::rt::state(#name, #user)?;),
                    (SigKind::State, false) => quote!(let mut #p = #krate::rt::fixed_mut(#user);),
                    (SigKind::Scalar, _) => quote!(let #p = #user;),
                    (SigKind::Index { .. }, _) => quote!(let #p = #krate::rt::index(#user);),
                }
            })
            .collect()
    }

    /// The arguments of `run`; results of rank 0 are owned by the function, or views in `into`.
    pub(super) fn run_arguments(&self, ws: &TokenStream, owned: bool) -> TokenStream {
        let params = self.signature.params.iter().zip(&self.names.params);
        let params = params.map(|(param, p)| match param.kind {
            SigKind::Input => quote!(#p.as_ptr()),
            SigKind::Strided => quote!(#p.as_ptr(), #p.strides()),
            SigKind::State => quote!(#p.as_mut_ptr()),
            SigKind::Scalar | SigKind::Index { .. } => quote!(#p),
        });
        let results = self.signature.results.iter().zip(&self.names.results);
        let results = results
            .map(|(result, r)| if result.dims.is_empty() && owned { quote!(&mut #r) } else { quote!(#r.as_mut_ptr()) });
        let dims = &self.names.all_dims;
        let dims = self.signature.fallible.then(|| quote!(#dims,));
        quote!(#(#params,)* #(#results,)* #dims #ws)
    }

    /// `let (dims, e0, e1) = bind(…)?;`.
    pub(super) fn bind_call(&self, path: &TokenStream) -> TokenStream {
        let (dims, extents) = (&self.names.all_dims, &self.names.extents);
        let params = self.signature.params.iter().zip(&self.names.params);
        let arguments = params.filter_map(|(param, p)| match param.kind {
            SigKind::Input | SigKind::Strided | SigKind::State => Some(quote!(#p.shape())),
            SigKind::Index { .. } => Some(quote!(#p)),
            SigKind::Scalar => None,
        });
        quote!(let (#dims, #(#extents,)*) = #path bind(#(#arguments),*)?;)
    }

    /// What expressions over dims and index values are printed with.
    fn scope(&self) -> Scope<'_> {
        let dims = self.signature.dims.iter().zip(&self.names.dims);
        let dims = dims.map(|(dim, name)| (dim.sym.clone(), name.clone()));
        let params = self.signature.params.iter().zip(&self.names.params);
        let index = params.filter_map(|(param, p)| match param.kind {
            SigKind::Index { .. } => Some((Sym::new(&param.name), p.clone())),
            SigKind::Input | SigKind::Strided | SigKind::State | SigKind::Scalar => None,
        });
        Scope { krate: &self.names.krate, names: dims.chain(index).collect() }
    }

    /// Binds the dims, checks every other place of them, the facts, and the results' extents.
    pub(super) fn bind(&self) -> TokenStream {
        let krate = &self.names.krate;
        let params = self.signature.params.iter().zip(&self.names.params);
        let arguments = params.filter_map(|(param, p)| match param.kind {
            SigKind::Input | SigKind::Strided | SigKind::State => {
                let rank = param.dims.len();
                Some(quote!(#p: [usize; #rank]))
            }
            SigKind::Index { .. } => Some(quote!(#p: i64)),
            SigKind::Scalar => None,
        });
        let lets = self.signature.dims.iter().zip(&self.names.dims);
        let lets = lets.map(|(dim, name)| {
            let (p, axis) = (&self.names.params[dim.param], dim.axis);
            quote!(let #name = #p[#axis] as i64;)
        });
        let checks = self.checks();
        let facts = self.facts();
        let extents = self.extents();
        let (count, dims, names) = (self.signature.dims.len(), &self.names.dims, &self.names.extents);
        let ranks = self.signature.results.iter().map(|result| {
            let rank = result.dims.len();
            quote!([usize; #rank])
        });
        quote! {
            #[allow(unused_variables)]
            #[inline]
            pub(super) fn bind(#(#arguments),*)
                -> ::core::result::Result<([i64; #count], #(#ranks,)*), #krate::Error>
            {
                #(#lets)*
                #checks
                #facts
                #extents
                ::core::result::Result::Ok(([#(#dims),*], #(#names,)*))
            }
        }
    }

    fn checks(&self) -> TokenStream {
        let krate = &self.names.krate;
        let scope = self.scope();
        let computed = |extent: &IntExpr| fixed(extent).is_none();
        let checks = self.signature.checks.iter().filter(|check| computed(&check.extent));
        checks
            .map(|check| {
                let (p, axis) = (&self.names.params[check.param], check.axis);
                let param = &self.signature.params[check.param].name;
                let text = dim_text(&check.extent);
                let value = scope.value(&check.extent);
                let origin =
                    check.extent.as_var().and_then(|sym| self.signature.dims.iter().find(|dim| dim.sym == *sym));
                match origin {
                    Some(dim) => {
                        let (from, from_axis) = (&self.signature.params[dim.param].name, dim.axis);
                        quote!(#krate::rt::same(#param, #axis, #p[#axis], #text, #value, (#from, #from_axis))?;)
                    }
                    None => quote!(#krate::rt::expect(#param, #axis, #p[#axis], #text, #value)?;),
                }
            })
            .collect()
    }

    /// The facts that the source states. That the extents of results are not negative is checked with them.
    pub(super) fn stated_facts(&self) -> impl Iterator<Item = &SigFact> {
        let results = self.signature.results.iter().flat_map(|result| &result.dims);
        let implied: Vec<String> = results.map(|dim| format!("{dim} >= 0")).collect();
        self.signature.facts.iter().filter(move |fact| !implied.contains(&fact.text))
    }

    fn facts(&self) -> TokenStream {
        let krate = &self.names.krate;
        let scope = self.scope();
        self.stated_facts()
            .map(|fact| {
                let (holds, text) = (scope.holds(&fact.fact), fact.fact.to_string());
                let said = &fact.text;
                if *said == text {
                    quote!(#krate::rt::fact(#holds, #text)?;)
                } else {
                    quote!(#krate::rt::fact_text(#holds, #text, #said)?;)
                }
            })
            .collect()
    }

    fn extents(&self) -> TokenStream {
        let krate = &self.names.krate;
        let scope = self.scope();
        let results = self.signature.results.iter().zip(&self.names.extents);
        results
            .map(|(result, e)| {
                let rank = result.dims.len();
                let axes = result.dims.iter().map(|dim| match fixed(dim) {
                    Some(extent) => quote!(#extent),
                    None => {
                        let (text, value) = (dim_text(dim), scope.value(dim));
                        quote!(#krate::rt::extent(#text, #value)?)
                    }
                });
                quote!(let #e: [usize; #rank] = [#(#axes),*];)
            })
            .collect()
    }

    /// The bytes of workspace for the dims.
    pub(super) fn workspace(&self) -> TokenStream {
        let krate = &self.names.krate;
        let scope = self.scope();
        let (count, dims) = (self.signature.dims.len(), &self.names.dims);
        let all = &self.names.all_dims;
        let size = self.artefact.and_then(|artefact| expression(&artefact.workspace_expr));
        let size = scope.value(&size.unwrap_or_else(|| IntExpr::from(0)));
        quote! {
            #[allow(unused_variables)]
            #[inline]
            pub(super) fn workspace(#all: [i64; #count]) -> usize {
                let [#(#dims),*] = #all;
                #krate::rt::bytes(#krate::rt::round_up(#size, 64_i64))
            }
        }
    }

    /// The one item that names the symbol and links the archives.
    pub(super) fn run(&self) -> TokenStream {
        let krate = &self.names.krate;
        let (ws, all) = (&self.names.ws, &self.names.all_dims);
        let params = self.signature.params.iter().zip(&self.names.params);
        let takes = params.map(|(param, p)| {
            let dtype = self.names.dtype(param.dtype);
            let strides = strides(p);
            let rank = param.dims.len();
            match param.kind {
                SigKind::Input => quote!(#p: *const #dtype),
                SigKind::Strided => quote!(#p: *const #dtype, #strides: [isize; #rank]),
                SigKind::State => quote!(#p: *mut #dtype),
                SigKind::Scalar => quote!(#p: #dtype),
                SigKind::Index { .. } => quote!(#p: i64),
            }
        });
        let results = self.signature.results.iter().zip(&self.names.results);
        let results: Vec<_> = results
            .map(|(result, r)| {
                let dtype = self.names.dtype(result.dtype);
                quote!(#r: *mut #dtype)
            })
            .collect();
        let (dims, result) = if self.signature.fallible {
            let count = self.signature.dims.len();
            let result = quote!(-> ::core::result::Result<(), #krate::Error>);
            (quote!(#all: [i64; #count],), result)
        } else {
            (quote!(), quote!())
        };
        let pointer = match self.names.pools.len() {
            0 => quote!(*mut u8),
            count => quote!([*mut u8; #count]),
        };
        let body = match self.artefact {
            Some(artefact) => self.enter(artefact),
            None => quote!(::core::panic!("this tensor function was not compiled")),
        };
        quote! {
            #[allow(unused_variables, clippy::missing_safety_doc)]
            #[inline]
            pub(super) unsafe fn run(#(#takes,)* #(#results,)* #dims #ws: #pointer) #result {
                #body
            }
        }
    }

    /// The call of the symbol.
    fn enter(&self, artefact: &Artefact) -> TokenStream {
        let krate = &self.names.krate;
        let (ws, all, results) = (&self.names.ws, &self.names.all_dims, &self.names.results);
        let symbol = format_ident!("{}", artefact.symbol);
        let mut archives = artefact.archives.iter();
        let own = archives.next().map(|name| quote!(#[link(name = #name, kind = "static")]));
        let (mut declared, mut passed) = (Vec::new(), Vec::new());
        for (param, p) in self.signature.params.iter().zip(&self.names.params) {
            let dtype = self.names.dtype(param.dtype);
            match param.kind {
                SigKind::Input => {
                    declared.push(quote!(#p: *const #dtype));
                    passed.push(quote!(#p));
                }
                SigKind::Strided => {
                    declared.push(quote!(#p: *const #dtype));
                    passed.push(quote!(#p));
                    let strides = strides(p);
                    for axis in 0..param.dims.len() {
                        let one = format_ident!("{}_{}", strides, axis);
                        declared.push(quote!(#one: isize));
                        passed.push(quote!(#strides[#axis]));
                    }
                }
                SigKind::State => {
                    declared.push(quote!(#p: *mut #dtype));
                    passed.push(quote!(#p));
                }
                SigKind::Scalar => {
                    let abi = abi(param.dtype);
                    declared.push(quote!(#p: #abi));
                    passed.push(quote!(#krate::rt::scalar(#p)));
                }
                SigKind::Index { .. } => {
                    declared.push(quote!(#p: isize));
                    passed.push(quote!(#p as isize));
                }
            }
        }
        for (result, r) in self.signature.results.iter().zip(results) {
            let dtype = self.names.dtype(result.dtype);
            declared.push(quote!(#r: *mut #dtype));
            passed.push(quote!(#r));
        }
        for (number, dim) in self.names.dims.iter().enumerate() {
            declared.push(quote!(#dim: isize));
            passed.push(quote!(#all[#number] as isize));
        }
        let checks = &artefact.checks;
        let finish = if self.signature.fallible {
            quote!(#krate::rt::finish(status, &[#(#checks),*]))
        } else {
            quote!(let _ = status;)
        };
        let symbols = artefact.variants.iter().map(|variant| format_ident!("{}", variant.symbol));
        let symbols = symbols.chain([symbol]);
        let (memory, given) = match self.names.pools.len() {
            0 => (quote!(#ws: *mut u8), quote!(#ws)),
            count => {
                let (pools, numbers) = (&self.names.pools, 0..count);
                (quote!(#(#pools: *mut u8),*), quote!(#(#ws[#numbers]),*))
            }
        };
        let declared = quote!((#(#declared,)* #memory, context: *const ::core::ffi::c_void) -> i32);
        let entry = self.entry(artefact);
        quote! {
            #(#[link(name = #archives, kind = "static")] unsafe extern "C" {})*
            #own
            #[allow(improper_ctypes)]
            unsafe extern "C" {
                #(fn #symbols #declared;)*
            }
            let context = #krate::rt::Context::new();
            let status = unsafe { #entry(#(#passed,)* #given, context.as_ptr()) };
            #finish
        }
    }

    /// The entry of the best variant that the processor runs, or that the caller has asked for.
    fn entry(&self, artefact: &Artefact) -> TokenStream {
        let krate = &self.names.krate;
        let baseline = format_ident!("{}", artefact.symbol);
        let levels: Vec<(u8, Ident)> = levels(artefact).map(|(n, v)| (n, format_ident!("{}", v.symbol))).collect();
        if levels.is_empty() {
            return quote!(#baseline);
        }
        let there = levels.iter().fold(0, |there, (number, _)| there | 1_u8 << number);
        let arms = levels.iter().map(|(number, symbol)| quote!(#number => #symbol));
        quote!((match #krate::rt::level(#there) { #(#arms,)* _ => #baseline }))
    }
}

/// The variants of a function with the numbers of their levels, from 1 on.
fn levels(artefact: &Artefact) -> impl Iterator<Item = (u8, &Variant)> {
    artefact.variants.iter().filter_map(|variant| Some((number_of_level(&variant.name)?, variant)))
}

/// How a scalar is passed.
fn abi(dtype: DType) -> TokenStream {
    let name = match dtype {
        DType::I4 => "i8",
        _ if dtype.is_half() => "u16",
        _ if dtype.is_bool() || dtype.is_stored() => "u8",
        _ => dtype.name(),
    };
    let name = format_ident!("{}", name);
    quote!(#name)
}

/// The strides of a parameter.
pub(super) fn strides(p: &Ident) -> Ident {
    Ident::new(&format!("{p}_strides"), p.span())
}

/// An expression of the index.
pub(super) fn expression(text: &str) -> Option<IntExpr> {
    IntExpr::parse(text).ok()
}
