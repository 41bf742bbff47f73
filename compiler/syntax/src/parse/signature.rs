//! The function as a whole: name, generic parameters, parameters, result.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};

use super::Outer;
use super::cx::{Cx, Ends, ends, text_of};
use super::stmt::string_of;
use super::types::{bare_type, plain_ident};
use crate::ast::{
    ExprKind, Generic, GenericKind, Instances, Name, NodeId, Param, Passing, Schedule, TensorFn, Type, TypeKind,
};
use crate::code::Code;
use crate::diagnostic::Diagnostic;
use crate::signature::{Instance, dtype, generic_value};

/// A function whose body is still tokens, so that an error in it leaves the rest readable.
pub(super) struct Shell {
    attrs: Vec<syn::Attribute>,
    vis: syn::Visibility,
    sig: syn::Signature,
    body: Option<(Ends, TokenStream)>,
}

impl Parse for Shell {
    fn parse(input: ParseStream) -> syn::Result<Shell> {
        let attrs = input.call(syn::Attribute::parse_outer)?;
        let vis = input.parse()?;
        let sig = match input.fork().parse::<syn::Signature>() {
            Err(_) if !is_function(input) => {
                return Err(input.error("`#[tensor_fn]` stands on a function, expected `fn`"));
            }
            _ => input.parse()?,
        };
        if input.peek(syn::Token![;]) {
            input.parse::<syn::Token![;]>()?;
            return Ok(Shell { attrs, vis, sig, body: None });
        }
        let content;
        let brace = syn::braced!(content in input);
        let tokens = content.parse()?;
        let place = (brace.span.open(), brace.span.close());
        Ok(Shell { attrs, vis, sig, body: Some((place, tokens)) })
    }
}

/// Whether a function begins here, if not one that can be read.
fn is_function(input: ParseStream) -> bool {
    let words = ["fn", "async", "unsafe", "safe", "extern"];
    let word = input.cursor().ident().map(|(word, _)| word.to_string());
    match word.as_deref() {
        Some("const") => {
            input.peek2(syn::Token![fn]) || input.peek2(syn::Token![async]) || input.peek2(syn::Token![unsafe])
        }
        Some(word) => words.contains(&word),
        None => false,
    }
}

impl Cx {
    pub(super) fn function(&mut self, attr: TokenStream, shell: Shell) -> (TensorFn, Outer) {
        let attributes = self.tensor_fn_arguments(attr);
        let (outer, ours) = self.split_attributes(&shell);
        for attr in &ours {
            self.no_cfg(attr.meta.to_token_stream());
        }
        self.no_cfg(shell.sig.to_token_stream());
        if let Some((_, tokens)) = &shell.body {
            self.no_cfg(tokens.clone());
        }
        let schedules: Vec<_> = ours.iter().filter_map(|a| self.schedule(a)).collect();
        self.one_per_target(&schedules);
        self.plain_function(&shell.sig);
        let generics: Vec<Generic> = shell.sig.generics.params.iter().filter_map(|p| self.generic(p)).collect();
        let params = shell.sig.inputs.iter().filter_map(|p| self.param(p)).collect();
        let result = match &shell.sig.output {
            syn::ReturnType::Default => None,
            syn::ReturnType::Type(_, ty) => Some(self.ty(ty)).filter(|t| !is_unit(t)),
        };
        let body = shell.body.map(|(place, tokens)| {
            let node = self.node(place);
            self.body(node, tokens)
        });
        let mut function = TensorFn {
            name: Name { node: NodeId::FUNCTION, text: text_of(&shell.sig.ident) },
            attributes,
            schedules,
            generics,
            params,
            result,
            body,
        };
        self.whole(&function);
        self.cap_instances(&mut function);
        (function, outer)
    }

    /// Splits the attributes into what is carried over and our own.
    fn split_attributes<'a>(&mut self, shell: &'a Shell) -> (Outer, Vec<&'a syn::Attribute>) {
        let receiver = shell.sig.receiver().map(ToTokens::to_token_stream);
        let mut outer = Outer { visibility: shell.vis.to_token_stream(), receiver, ..Outer::default() };
        let mut ours = Vec::new();
        for attr in &shell.attrs {
            let name = attr.path().segments.last().map(|s| text_of(&s.ident)).unwrap_or_default();
            match name.as_str() {
                "schedule" => ours.push(attr),
                "tensor_fn" => self.refuse_at(
                    ends(attr),
                    Code::AttributeTwice,
                    "`#[tensor_fn]` is given twice",
                    "write all arguments into one",
                ),
                "cfg_attr" if mentions_schedule(attr.to_token_stream()) => self.refuse_at(
                    ends(attr),
                    Code::UnsupportedAttribute,
                    "a schedule cannot depend on `cfg`",
                    "the build script and rustc could disagree: write `#[schedule(target = \"…\", |s| …)]`",
                ),
                "doc" if attr.path().segments.len() == 1 => outer.docs.push(attr.to_token_stream()),
                _ => outer.attributes.push(attr.to_token_stream()),
            }
        }
        (outer, ours)
    }

    fn one_per_target(&mut self, schedules: &[Schedule]) {
        let target = |s: &Schedule| s.target.as_ref().map(|t| t.value.clone());
        for (i, schedule) in schedules.iter().enumerate() {
            if let Some(first) = schedules[..i].iter().find(|s| target(s) == target(schedule)) {
                self.diagnostics.report(
                    Diagnostic::new(schedule.node, Code::AttributeTwice, "a second schedule for the same target")
                        .label(first.node, "the first is here")
                        .help("write `#[schedule(target = \"…\", |s| …)]` for another target"),
                );
            }
        }
    }

    /// Refuses what makes it another kind of function.
    fn plain_function(&mut self, sig: &syn::Signature) {
        let words: [(Option<Ends>, &str); 5] = [
            (sig.constness.as_ref().map(ends), "`const fn`"),
            (sig.asyncness.as_ref().map(ends), "`async`"),
            ((!matches!(sig.safety, syn::Safety::Default)).then(|| ends(&sig.safety)), "`unsafe fn` or `safe fn`"),
            (sig.abi.as_ref().map(ends), "`extern`"),
            (sig.variadic.as_ref().map(ends), "variadic"),
        ];
        for (place, what) in words {
            if let Some(place) = place {
                self.refuse_at(place, Code::UnsupportedItem, format!("a tensor function is not {what}"), "write `fn`");
            }
        }
        if let Some(clause) = &sig.generics.where_clause {
            self.refuse_at(
                ends(clause),
                Code::UnsupportedItem,
                "a tensor function has no `where` clause",
                "state facts in the attribute: `#[tensor_fn(dims(N >= 1))]`",
            );
        }
    }

    fn generic(&mut self, param: &syn::GenericParam) -> Option<Generic> {
        match param {
            syn::GenericParam::Lifetime(l) => {
                self.refuse_at(
                    ends(l),
                    Code::UnsupportedItem,
                    "a tensor function has no lifetimes",
                    "leave it out: inputs are borrowed by the call",
                );
                None
            }
            syn::GenericParam::Type(t) => {
                let node = self.node(ends(t));
                if !t.bounds.is_empty() || t.default.is_some() {
                    self.refuse(
                        node,
                        Code::UnsupportedItem,
                        "a generic dtype has neither bounds nor default",
                        "write `<T>`, and its values in the attribute: `#[tensor_fn(T = [f32, f16])]`",
                    );
                }
                self.attributes(&t.attrs);
                Some(Generic { node, name: self.name(&t.ident), kind: GenericKind::Dtype })
            }
            syn::GenericParam::Const(c) => {
                let node = self.node(ends(c));
                let is_usize = plain_ident(&c.ty).is_some_and(|i| i == "usize");
                if !is_usize || c.default.is_some() {
                    self.refuse(
                        node,
                        Code::UnsupportedItem,
                        "a generic constant is a `usize` without default",
                        "write `<const K: usize>`, and its values in the attribute: `#[tensor_fn(K = [3, 5])]`",
                    );
                }
                self.attributes(&c.attrs);
                Some(Generic { node, name: self.name(&c.ident), kind: GenericKind::Const })
            }
        }
    }

    fn param(&mut self, arg: &syn::FnArg) -> Option<Param> {
        let typed = match arg {
            syn::FnArg::Receiver(r) => {
                self.refuse_at(
                    ends(r),
                    Code::UnsupportedItem,
                    "a tensor function is a free function and has no `self`",
                    "write a function beside the `impl`, with each tensor as a parameter",
                );
                return None;
            }
            syn::FnArg::Typed(typed) => typed,
        };
        let node = self.node((ends(&typed.pat).0, ends(&typed.ty).1));
        self.attributes(&typed.attrs);
        let name = self.param_name(node, &typed.pat)?;
        let (passing, ty) = match bare_type(&typed.ty) {
            syn::Type::Reference(r) if r.mutability.is_some() => {
                if let Some(lifetime) = &r.lifetime {
                    self.refuse_at(
                        ends(lifetime),
                        Code::UnsupportedItem,
                        "a tensor function has no lifetimes",
                        "write `s: &mut Tensor<f32, N>`",
                    );
                }
                (Passing::State, self.state_type(&r.elem))
            }
            ty => (Passing::Input, self.param_type(ty)),
        };
        Some(Param { node, name, passing, ty })
    }

    fn param_name(&mut self, node: NodeId, pat: &syn::Pat) -> Option<Name> {
        let help = match pat {
            syn::Pat::Ident(i) if i.by_ref.is_none() && i.subpat.is_none() && i.mutability.is_none() => {
                return Some(self.name(&i.ident));
            }
            syn::Pat::Ident(i) if i.mutability.is_some() => {
                "inputs are read only: write `let mut y = x;` in the body, or `s: &mut Tensor<f32, N>` for state"
            }
            _ => "give each value a name and a type of its own",
        };
        self.refuse(node, Code::UnsupportedItem, "a parameter is a name", help);
        match pat {
            syn::Pat::Ident(i) => Some(self.name(&i.ident)),
            _ => None,
        }
    }

    fn state_type(&mut self, ty: &syn::Type) -> Type {
        let ty = self.ty(ty);
        if matches!(&ty.kind, TypeKind::Scalar(_) | TypeKind::Tuple(_)) {
            self.refuse(
                ty.node,
                Code::UnsupportedType,
                "state is a tensor",
                "write `s: &mut Tensor<f32>` for one number",
            );
        }
        ty
    }

    fn param_type(&mut self, ty: &syn::Type) -> Type {
        let ty = self.ty(ty);
        if matches!(&ty.kind, TypeKind::Tuple(_)) {
            self.refuse(
                ty.node,
                Code::UnsupportedType,
                "a parameter is not a tuple",
                "give each of its parts a parameter",
            );
        }
        ty
    }

    /// What the parts say about each other.
    fn whole(&mut self, f: &TensorFn) {
        match (&f.attributes.model, &f.body) {
            (None, None) => self.refuse(
                NodeId::FUNCTION,
                Code::MissingBody,
                format!("`{}` has neither a body nor a model", f.name.text),
                "write a body, or name the file: `#[tensor_fn(onnx = \"net.onnx\")]`",
            ),
            (Some(model), Some(_)) => self.refuse(
                model.node,
                Code::MissingBody,
                format!("`{}` has both a body and a model", f.name.text),
                "write `;` instead of the body, or leave the model out",
            ),
            (Some(_), None) | (None, Some(_)) => {}
        }
        for generic in &f.generics {
            if !f.attributes.instances.iter().any(|i| i.name.text == generic.name.text) {
                let (name, example) = (&generic.name.text, example(generic.kind));
                self.refuse(
                    generic.node,
                    Code::GenericInstances,
                    format!("`{name}` has no values"),
                    format!("write `#[tensor_fn({name} = {example})]`"),
                );
            }
        }
        for instances in &f.attributes.instances {
            self.instances_fit(instances, &f.generics);
        }
    }

    /// Keeps one value of each if there are too many combinations to look at.
    fn cap_instances(&mut self, f: &mut TensorFn) {
        let counts = f.attributes.instances.iter().map(|i| i.values.len());
        if counts.fold(1, usize::saturating_mul) <= INSTANCES {
            return;
        }
        self.refuse(
            NodeId::FUNCTION,
            Code::TooLarge,
            format!("`{}` has more than {INSTANCES} instances", f.name.text),
            "every value of one generic parameter meets every value of the others: name fewer",
        );
        for instances in &mut f.attributes.instances {
            instances.values.truncate(1);
        }
    }

    fn instances_fit(&mut self, instances: &Instances, generics: &[Generic]) {
        let name = &instances.name.text;
        let Some(generic) = generics.iter().find(|g| g.name.text == *name) else {
            self.refuse(
                instances.node,
                Code::GenericInstances,
                format!("`{name}` is not a generic parameter"),
                format!("write `<{name}>` or `<const {name}: usize>` behind the function's name; a dim is fixed by `dims({name} = 8)`"),
            );
            return;
        };
        let mut seen = Vec::new();
        for value in instances.values.iter().filter(|value| !matches!(value.kind, ExprKind::Error)) {
            if let (GenericKind::Dtype, ExprKind::Name(text)) = (generic.kind, &value.kind)
                && let Err(error) = dtype(&Name { node: value.node, text: text.clone() }, &Instance::default())
            {
                self.diagnostics.report(error);
                continue;
            }
            let known = generic_value(generic.kind, value);
            if let Some(again) = known.filter(|known| seen.contains(known)) {
                let message = format!("`{name} = {again}` is given twice");
                self.refuse(value.node, Code::GenericInstances, message, "leave one of them out");
            }
            seen.extend(known);
            if known.is_none() {
                self.diagnostics.report(
                    Diagnostic::new(value.node, Code::GenericInstances, format!("this is not a value of `{name}`"))
                        .label(generic.node, "declared here")
                        .help(format!("write `{name} = {}`", example(generic.kind))),
                );
            }
        }
    }

    /// A text, or an error that says what it is for.
    pub(super) fn text_value(&mut self, e: &syn::Expr, code: Code, help: &str) -> Option<crate::ast::Text> {
        match string_of(e) {
            Some(literal) => Some(self.text(literal)),
            None => {
                self.refuse_at(super::cx::expr_ends(e), code, "expected a text", help);
                None
            }
        }
    }
}

/// Instances of one function.
const INSTANCES: usize = 256;

fn example(kind: GenericKind) -> &'static str {
    match kind {
        GenericKind::Dtype => "[f32, f16]",
        GenericKind::Const => "[3, 5]",
    }
}

fn is_unit(ty: &Type) -> bool {
    matches!(&ty.kind, TypeKind::Tuple(parts) if parts.is_empty())
}

fn mentions_schedule(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|tree| match tree {
        proc_macro2::TokenTree::Ident(i) => i == "schedule",
        proc_macro2::TokenTree::Group(g) => mentions_schedule(g.stream()),
        _ => false,
    })
}
