//! The Rust that a tensor function becomes: a function and a module of one name.
//!
//! `compiler/docs/runtime.md` is the reference, item by item. The tokens are the macro's own and so outside of the
//! user's lints, apart from the user's names; `unsafe` above all must never carry a span of the user's. Locals are
//! hygienic, so that no parameter of the user's meets them.

mod call;
mod device;
mod expr;
mod function;
mod generic;
mod module;
mod names;
mod params;
mod pools;
mod shim;
mod unknown;

use names::Names;
use proc_macro2::TokenStream;
use quote::quote;
use tenfold_syntax::ast::TensorFn;
use tenfold_syntax::index::{Artefact, Entry};
use tenfold_syntax::signature::{Signature, signatures};
use tenfold_syntax::{Outer, Parsed};

/// What a function becomes, with the code that the build script made for it, if any.
pub(crate) fn emit(parsed: &Parsed, entry: Option<&Entry>) -> TokenStream {
    let Some(function) = &parsed.function else {
        return TokenStream::new();
    };
    let associated = crate::is_associated(parsed, entry);
    let Some(all) = signatures(function) else {
        return unknown::emit(parsed, function, associated);
    };
    if associated || has_one_name_twice(function) {
        return unknown::emit(parsed, function, associated);
    }
    let artefacts = entry.map_or(&[][..], |entry| &entry.artefacts);
    match all.as_slice() {
        [(instance, signature)] if instance.is_empty() => {
            let names = Names::new(function, signature, parsed);
            let emit = Emit { names, signature, parsed, outer: &parsed.outer, artefact: artefacts.first() };
            let (function, module, shims) = (emit.function(), emit.module(), emit.shims());
            let load = emit.call_of_params();
            quote!(#function #module #load #shims)
        }
        all => generic::emit(parsed, function, all, artefacts),
    }
}

/// Whether two parameters are called the same, of which rustc would complain once more.
fn has_one_name_twice(function: &TensorFn) -> bool {
    let names: Vec<&str> = function.params.iter().map(|param| param.name.text.as_str()).collect();
    names.iter().enumerate().any(|(place, name)| names[..place].contains(name))
}

/// Everything that the parts are printed from.
struct Emit<'a> {
    names: Names,
    signature: &'a Signature,
    parsed: &'a Parsed,
    /// What the items carry over.
    outer: &'a Outer,
    artefact: Option<&'a Artefact>,
}
