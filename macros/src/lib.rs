//! The attribute of Tenfold. `tenfold` re-exports it; its documentation stands there.
//!
//! Thin: it parses the item, checks what the item alone decides, looks up what the build script made of it, and prints
//! Rust. It writes no file, knows no back end and never panics.

mod emit;
mod error;
mod lookup;

use lookup::Outcome;
use proc_macro2::TokenStream;
use quote::quote;
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::elaborate::{ItemAlone, elaborate};
use tenfold_syntax::index::Entry;
use tenfold_syntax::{Code, Diagnostic, Diagnostics, Parsed, parse_item};

/// Compiles a function of tensors while `cargo build` runs.
///
/// The function is Rust syntax and its own language; the package's build script calls `tenfold_build::compile()`. It
/// becomes a function that allocates its result and a module of the same name with the call that allocates nothing:
///
/// ```ignore
/// use tenfold::prelude::*;
///
/// /// `a` times `x` plus `y`.
/// #[tensor_fn]
/// fn saxpy(a: f32, x: Tensor<f32, N>, y: Tensor<f32, N>) -> Tensor<f32, N> {
///     a * x + y
/// }
///
/// let z = saxpy(2.0, &[1.0, 2.0], &[10.0, 20.0])?;
/// ```
#[proc_macro_attribute]
pub fn tensor_fn(attr: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(attr.into(), item.into()).into()
}

fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    let parsed = parse_item(attr, item);
    let mut errors = Diagnostics::default();
    errors.extend(parsed.diagnostics.clone());
    let mut in_a_build = Diagnostics::default();
    let mut entry = None;
    if let (Some(function), true) = (&parsed.function, parsed.diagnostics.is_empty()) {
        let fingerprint = tenfold_syntax::fingerprint(function);
        let place = parsed.spans.get(function.name.node).0.unwrap();
        match lookup::find(&function.name.text, &fingerprint, place) {
            Outcome::Fresh(found) => entry = Some(found),
            Outcome::Missing(why) | Outcome::NoBuildScript(why) => in_a_build.report(why),
        }
    }
    match &entry {
        // the build script saw all that is to be seen
        Some(entry) => {
            if entry.associated {
                errors.report(free_function());
            }
            entry.diagnostics.iter().for_each(|d| errors.report(d.clone()));
        }
        None => errors.extend(item_errors(&parsed)),
    }
    errors.sort();
    let emitted = emit::emit(&parsed, entry.as_deref());
    let errors = print(errors, &parsed);
    // in an `impl` no constant without a name can stand; that it is one is refused already
    let in_a_build = match is_associated(&parsed, entry.as_deref()) {
        true => TokenStream::new(),
        false => error::only_in_a_build(&print(in_a_build, &parsed)),
    };
    quote!(#emitted #errors #in_a_build)
}

/// Whether the function stands in an `impl` or a trait: its receiver shows it, or the build script has seen it.
pub(crate) fn is_associated(parsed: &Parsed, entry: Option<&Entry>) -> bool {
    parsed.outer.receiver.is_some() || entry.is_some_and(|entry| entry.associated)
}

fn free_function() -> Diagnostic {
    let message = "a tensor function is a free function, and this one stands in an `impl` or a trait";
    Diagnostic::new(NodeId::FUNCTION, Code::UnsupportedItem, message)
        .help("write it outside, with each tensor as a parameter")
}

/// What the item alone decides.
fn item_errors(parsed: &Parsed) -> Diagnostics {
    match &parsed.function {
        Some(function) => elaborate(function, &ItemAlone).diagnostics,
        None => Diagnostics::default(),
    }
}

fn print(errors: Diagnostics, parsed: &Parsed) -> TokenStream {
    let print = |error: Diagnostic| error::diagnostic(&error, &parsed.spans);
    errors.into_iter().map(print).collect()
}
