//! A generic function: its instances as functions and modules of their own, and one function that chooses by type.
//!
//! The instances stand in the function's module, `axpy::of_f32` for `axpy::<f32>`. `axpy::Of<f32>` stands for the
//! choice, and the trait `axpy::Instance` says what each choice takes and gives; it has the impls printed here and no
//! others, so that a missing instance is an error of rustc in our words.

use super::Emit;
use super::module::cfgs_of;
use super::names::{Names, fixed, identifier, krate, own};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use tenfold_syntax::ast::{Expr, ExprKind, GenericKind, TensorFn, TypeKind};
use tenfold_syntax::index::Artefact;
use tenfold_syntax::signature::{GenericValue, Instance, SigKind, SigParam, Signature};
use tenfold_syntax::{Outer, Parsed};

/// The function, its module, and the shims of all instances.
pub(super) fn emit(
    parsed: &Parsed,
    function: &TensorFn,
    all: &[(Instance, Signature)],
    artefacts: &[Artefact],
) -> TokenStream {
    let named = |(instance, signature): &(Instance, Signature)| {
        let name = format!("{}::{}", signature.name, instance.name());
        Signature { name, ..signature.clone() }
    };
    let signatures: Vec<Signature> = all.iter().map(named).collect();
    let outers: Vec<Outer> = all.iter().map(|(instance, _)| outer_of(function, instance)).collect();
    let emits = all.iter().enumerate().map(|(number, (instance, _))| {
        let names = Names::of_instance(function, &signatures[number], parsed, &instance.name());
        let (signature, outer) = (&signatures[number], &outers[number]);
        Emit { names, signature, parsed, outer, artefact: artefacts.get(number) }
    });
    let emits: Vec<Emit<'_>> = emits.collect();
    let instances: Vec<&Instance> = all.iter().map(|(instance, _)| instance).collect();
    let generic = Generic { function, parsed, instances, emits, krate: krate(function) };
    let (call, module) = (generic.call(), generic.module());
    let shims = generic.emits.iter().map(Emit::shims);
    quote!(#call #module #(#shims)*)
}

/// `T, const K: usize`, each dtype with a bound.
pub(super) fn parameters(parsed: &Parsed, function: &TensorFn, bound: &TokenStream) -> TokenStream {
    let parameters = function.generics.iter().map(|generic| {
        let name = identifier(&generic.name.text, parsed.spans.get(generic.name.node).0);
        match generic.kind {
            GenericKind::Dtype => quote!(#name #bound),
            GenericKind::Const => quote!(const #name: usize),
        }
    });
    quote!(#(#parameters),*)
}

/// An instance carries nothing over but what it is.
fn outer_of(function: &TensorFn, instance: &Instance) -> Outer {
    let doc = format!("`{}` with `{instance}`.", function.name.text);
    Outer { docs: vec![quote!(#[doc = #doc])], visibility: quote!(pub), ..Outer::default() }
}

struct Generic<'a> {
    function: &'a TensorFn,
    parsed: &'a Parsed,
    instances: Vec<&'a Instance>,
    emits: Vec<Emit<'a>>,
    krate: TokenStream,
}

impl Generic<'_> {
    /// The function that chooses.
    fn call(&self) -> TokenStream {
        let krate = &self.krate;
        let Outer { docs, attributes, visibility: vis, .. } = &self.parsed.outer;
        let (name, module) = (self.name(), self.module_name());
        let parameters = parameters(self.parsed, self.function, &quote!(: #krate::Element));
        let of = self.of(&quote!(#module::));
        let users: Vec<Ident> = self.emits[0].names.user.clone();
        let takes = self.written(&quote!(<#of as #module::Instance>::));
        let bounds = self.bounds();
        quote! {
            #krate::rt::with_alloc! {
                #(#docs)*
                #(#attributes)*
                #[allow(dead_code, clippy::too_many_arguments, clippy::type_complexity, clippy::missing_errors_doc, clippy::missing_const_for_fn)]
                #vis fn #name<#parameters>(#(#users: #takes),*) -> <#of as #module::Instance>::Output
                where
                    #of: #module::Instance<#(#bounds),*>,
                {
                    <#of as #module::Instance>::call(#(#users),*)
                }
            }
        }
    }

    /// The module with the instances.
    fn module(&self) -> TokenStream {
        let krate = &self.krate;
        let (vis, name) = (&self.parsed.outer.visibility, self.module_name());
        let doc = format!("The instances of `{}`.", self.function.name.text);
        let cfgs = cfgs_of(&self.parsed.outer);
        let instances = self.emits.iter().map(|emit| {
            let (function, module, load) = (emit.function(), emit.module(), emit.call_of_params());
            quote!(#function #module #load)
        });
        let choice = self.choice();
        let (the_trait, impls) = (self.the_trait(), self.impls());
        quote! {
            #(#cfgs)*
            #[doc = #doc]
            #[allow(dead_code, unreachable_pub, clippy::too_many_arguments, clippy::type_complexity, clippy::missing_errors_doc)]
            #vis mod #name {
                #(#instances)*
                #choice
                #krate::rt::with_alloc! {
                    #the_trait
                    #(#impls)*
                }
            }
        }
    }

    /// `pub struct Of<T, const K: usize>(…)`.
    fn choice(&self) -> TokenStream {
        let parameters = parameters(self.parsed, self.function, &quote!());
        let dtypes = self.function.generics.iter().filter(|generic| generic.kind == GenericKind::Dtype);
        let dtypes = dtypes.map(|generic| identifier(&generic.name.text, self.parsed.spans.get(generic.name.node).0));
        quote! {
            /// A choice of values for the generic parameters.
            #[derive(Clone, Copy, Debug)]
            pub struct Of<#parameters>(#(::core::marker::PhantomData<#dtypes>),*);
        }
    }

    /// What each choice takes and gives.
    fn the_trait(&self) -> TokenStream {
        let krate = &self.krate;
        let fallible = self.emits[0].signature.fallible;
        let types = self.varying().map(|(number, param)| {
            let (element, shape) = (element(number), shape(number));
            let bound = if fallible { quote!(Shape) } else { quote!(FixedShape) };
            let shape = is_tensor(param).then(|| {
                quote!(
                    #[doc = "Its axes."]
                    type #shape: #krate::#bound;
                )
            });
            quote!(
                #[doc = "The elements of an argument."]
                type #element: #krate::Element;
                #shape
            )
        });
        let takes = self.takes(&quote!(Self::));
        let params = &self.emits[0].names.params;
        let message = format!("`{}` has no instance with these generic arguments", self.function.name.text);
        let listed: Vec<String> = self.instances.iter().map(|instance| format!("`{instance}`")).collect();
        let note = format!("it has the instances {}: list more in `#[tensor_fn(…)]`", listed.join(", "));
        quote! {
            /// What an instance takes and gives.
            #[diagnostic::on_unimplemented(message = #message, label = "no such instance", note = #note)]
            pub trait Instance {
                #(#types)*
                /// What the call gives.
                type Output;
                /// Calls the instance.
                fn call(#(#params: #takes),*) -> Self::Output;
            }
        }
    }

    fn impls(&self) -> impl Iterator<Item = TokenStream> {
        let takes = self.takes(&quote!(Self::));
        let params = &self.emits[0].names.params;
        self.emits.iter().zip(&self.instances).map(move |(emit, instance)| {
            let values = instance.values().map(|value| match value {
                GenericValue::Dtype(dtype) => emit.names.dtype(dtype),
                GenericValue::Const(value) => {
                    let value = usize::try_from(value).unwrap_or_default();
                    quote!(#value)
                }
            });
            let types = emit.signature.params.iter().enumerate().filter(|(_, param)| is_element(param));
            let types = types.map(|(number, param)| {
                let (element, dtype) = (element(number), emit.names.dtype(param.dtype));
                let (shape, axes) = (shape(number), emit.names.shape(&param.dims));
                let shape = is_tensor(param).then(|| quote!(type #shape = #axes;));
                quote!(type #element = #dtype; #shape)
            });
            let (name, output) = (&emit.names.function, emit.output());
            quote! {
                impl Instance for Of<#(#values),*> {
                    #(#types)*
                    type Output = #output;
                    #[inline]
                    fn call(#(#params: #takes),*) -> Self::Output {
                        #name(#(#params),*)
                    }
                }
            }
        })
    }

    /// The parameters whose types the trait says.
    fn varying(&self) -> impl Iterator<Item = (usize, &SigParam)> {
        self.emits[0].signature.params.iter().enumerate().filter(|(_, param)| is_element(param))
    }

    /// The types of the parameters; the trait's are those of `place`.
    fn takes(&self, place: &TokenStream) -> Vec<TokenStream> {
        let Emit { names, signature, .. } = &self.emits[0];
        let take = |(number, param)| {
            let (element, shape) = (element(number), shape(number));
            names.argument_of(param, signature.fallible, &quote!(#place #element), &quote!(#place #shape))
        };
        signature.params.iter().enumerate().map(take).collect()
    }

    /// The types of the parameters as the signature writes them, from which rustc infers what it can; those of `place`
    /// where they depend on the instance.
    fn written(&self, place: &TokenStream) -> Vec<TokenStream> {
        let Emit { names, signature, .. } = &self.emits[0];
        let take = |(number, param)| {
            let shape = shape(number);
            let shape = self.written_shape(number).unwrap_or_else(|| quote!(#place #shape));
            names.argument_of(param, signature.fallible, &self.written_element(number, param), &shape)
        };
        signature.params.iter().enumerate().map(take).collect()
    }

    /// What the signature says of the trait's types as it is written: `E0 = T, S0 = (Dyn, Fixed<K>)`.
    fn bounds(&self) -> Vec<TokenStream> {
        let mut bounds = Vec::new();
        for (number, param) in self.varying() {
            let (element, shape) = (element(number), shape(number));
            let written = self.written_element(number, param);
            bounds.push(quote!(#element = #written));
            if let Some(axes) = is_tensor(param).then(|| self.written_shape(number)).flatten() {
                bounds.push(quote!(#shape = #axes));
            }
        }
        bounds
    }

    fn written_element(&self, number: usize, param: &SigParam) -> TokenStream {
        let written = match &self.function.params[number].ty.kind {
            TypeKind::Tensor(tensor) => Some(&tensor.dtype.text),
            TypeKind::Scalar(name) => Some(name),
            TypeKind::Tuple(_) | TypeKind::Error => None,
        };
        match written.and_then(|name| self.parameter(name, GenericKind::Dtype)) {
            Some(name) => quote!(#name),
            None => self.emits[0].names.dtype(param.dtype),
        }
    }

    /// None if an axis is not the same for all instances and not one of the parameters either.
    fn written_shape(&self, number: usize) -> Option<TokenStream> {
        let TypeKind::Tensor(tensor) = &self.function.params[number].ty.kind else { return None };
        let axes = tensor.dims.iter().enumerate().map(|(axis, dim)| self.written_axis(number, axis, dim));
        let axes: Option<Vec<TokenStream>> = axes.collect();
        axes.map(|axes| quote!((#(#axes,)*)))
    }

    fn written_axis(&self, number: usize, axis: usize, dim: &Expr) -> Option<TokenStream> {
        let krate = &self.krate;
        if let ExprKind::Name(name) = &dim.kind
            && let Some(name) = self.parameter(name, GenericKind::Const)
        {
            return Some(quote!(#krate::Fixed<#name>));
        }
        let mut extents = self.emits.iter().map(|emit| fixed(&emit.signature.params[number].dims[axis]));
        let first = extents.next()?;
        let same = extents.all(|extent| extent == first);
        same.then(|| match first {
            Some(extent) => quote!(#krate::Fixed<#extent>),
            None => quote!(#krate::Dyn),
        })
    }

    /// A generic parameter by its name.
    fn parameter(&self, name: &str, kind: GenericKind) -> Option<Ident> {
        let found = self.function.generics.iter().find(|generic| generic.name.text == name && generic.kind == kind)?;
        Some(identifier(name, self.parsed.spans.get(found.name.node).0))
    }

    /// `axpy::Of<T, K>`.
    fn of(&self, place: &TokenStream) -> TokenStream {
        let names = self.function.generics.iter();
        let names = names.map(|generic| identifier(&generic.name.text, self.parsed.spans.get(generic.name.node).0));
        quote!(#place Of<#(#names),*>)
    }

    fn name(&self) -> Ident {
        identifier(&self.function.name.text, self.parsed.spans.get(self.function.name.node).0)
    }

    fn module_name(&self) -> Ident {
        let module = self.function.attributes.module.as_ref();
        module.map_or_else(|| self.name(), |name| identifier(&name.text, self.parsed.spans.get(name.node).0))
    }
}

/// Whether the trait says its type: of all but index values.
fn is_element(param: &SigParam) -> bool {
    !matches!(param.kind, SigKind::Index { .. })
}

/// Whether it has axes.
fn is_tensor(param: &SigParam) -> bool {
    matches!(param.kind, SigKind::Input | SigKind::Strided | SigKind::State)
}

fn element(number: usize) -> Ident {
    own(&format!("E{number}"))
}

fn shape(number: usize) -> Ident {
    own(&format!("S{number}"))
}
