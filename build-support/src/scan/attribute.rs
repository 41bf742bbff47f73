//! Attributes by their text.

use crate::cfg;
use quote::ToTokens as _;
use syn::punctuated::Punctuated;
use syn::{Meta, Token};

/// An attribute as it applies, with what is known of the `cfg_attr` around it.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    /// `#[name(…)]`.
    pub(crate) text: String,
    /// Whether it applies; none if that is undetermined.
    pub(crate) on: Option<bool>,
}

/// The attributes that a text stands for: itself, or what `cfg_attr` holds.
pub(crate) fn expand(text: &str) -> Vec<Attribute> {
    let Some(inner) = cfg::argument(text, "cfg_attr") else {
        return vec![Attribute { text: text.into(), on: Some(true) }];
    };
    let list = syn::parse::Parser::parse_str(Punctuated::<Meta, Token![,]>::parse_terminated, inner);
    let Ok(list) = list else { return Vec::new() };
    let mut metas = list.iter();
    let Some(predicate) = metas.next() else {
        return Vec::new();
    };
    let on = cfg::eval(predicate);
    metas
        .flat_map(|meta| expand(&format!("#[{}]", meta.to_token_stream())))
        .map(|inner| Attribute { on: both(on, inner.on), text: inner.text })
        .filter(|attribute| attribute.on != Some(false))
        .collect()
}

/// Whether two conditions hold.
pub(crate) fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        (None, _) | (_, None) => None,
    }
}

impl Attribute {
    /// The path before the arguments, its last segment: `tensor_fn` of `#[tenfold::tensor_fn(…)]`.
    pub(crate) fn name(&self) -> &str {
        let inner = self.text.trim_start_matches(['#', '[', ' ', '\n', '\t', '\r']);
        let path = inner.split(['(', ']', '=', '{']).next().unwrap_or("");
        path.rsplit("::").next().unwrap_or("").trim()
    }

    /// Whether it makes a tensor function.
    pub(crate) fn is_tensor_fn(&self) -> bool {
        self.name() == "tensor_fn"
    }

    /// The string of `#[name = "…"]`.
    pub(crate) fn string(&self, name: &str) -> Option<String> {
        if self.name() != name {
            return None;
        }
        let (_, value) = self.text.split_once('=')?;
        let value = value.trim().strip_suffix(']')?.trim();
        let literal = syn::parse_str::<syn::LitStr>(value).ok()?;
        Some(literal.value())
    }

    /// The file of `#[doc = include_str!("…")]`.
    pub(crate) fn included_doc(&self) -> Option<String> {
        if self.name() != "doc" {
            return None;
        }
        let (_, call) = self.text.split_once("include_str")?;
        let call = call.trim_start().strip_prefix('!')?.trim_start();
        let end = call.rfind([')', '}'])?;
        let literal = call.get(1..end)?.trim();
        Some(syn::parse_str::<syn::LitStr>(literal).ok()?.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Attribute {
        expand(text).remove(0)
    }

    #[test]
    fn names() {
        assert!(one("#[tensor_fn]").is_tensor_fn());
        assert!(one("#[ tenfold :: tensor_fn ( dims(K = 8) ) ]").is_tensor_fn());
        assert!(!one("#[not_tensor_fn]").is_tensor_fn());
        assert!(!one("#[doc = \"tensor_fn\"]").is_tensor_fn());
        assert!(!one("#[cfg(tensor_fn)]").is_tensor_fn());
    }

    #[test]
    fn cfg_attr_holds_attributes() {
        assert!(one("#[cfg_attr(all(), tenfold::tensor_fn(dims(K = 8)))]").is_tensor_fn());
        assert!(expand("#[cfg_attr(any(), tensor_fn)]").is_empty());
        assert_eq!(one("#[cfg_attr(test, tensor_fn)]").on, None);
        assert_eq!(expand("#[cfg_attr(all(), a, cfg_attr(all(), b))]").len(), 2);
    }

    #[test]
    fn values() {
        assert_eq!(one("#[path = r\"a/b.rs\"]").string("path").as_deref(), Some("a/b.rs"));
        assert_eq!(one("#[pathological = \"a\"]").string("path"), None);
        assert_eq!(one("#[doc = include_str!(\"../README.md\")]").included_doc().as_deref(), Some("../README.md"));
    }
}
