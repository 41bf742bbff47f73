//! Attributes inside of a function, where few have a meaning.

use super::cx::{Cx, ends, text_of};
use crate::code::Code;

impl Cx {
    /// Attributes where none has a meaning.
    pub(super) fn attributes(&mut self, attrs: &[syn::Attribute]) {
        for attr in attrs {
            self.attribute(attr);
        }
    }

    pub(super) fn attribute(&mut self, attr: &syn::Attribute) {
        let path = attr.path();
        let words: Vec<String> = path.segments.iter().map(|s| text_of(&s.ident)).collect();
        let name = words.join("::");
        let help = match name.as_str() {
            "doc" | "rustfmt::skip" => return,
            // Reported wherever it stands.
            "cfg" | "cfg_attr" => return,
            "unroll" => "it is written `#[unroll]` and stands on a `for`",
            _ => "leave it out; rustc does not see the body",
        };
        self.refuse_at(ends(attr), Code::UnsupportedAttribute, format!("`#[{name}]` has no meaning here"), help);
    }

    /// Attributes of an expression, where none has a meaning. Those of loops are read with the loop.
    pub(super) fn expr_attributes(&mut self, e: &syn::Expr) {
        use syn::Expr as E;
        let attrs = match e {
            E::Array(e) => &e.attrs,
            E::Assign(e) => &e.attrs,
            E::Binary(e) => &e.attrs,
            E::Block(e) => &e.attrs,
            E::Call(e) => &e.attrs,
            E::Cast(e) => &e.attrs,
            E::Closure(e) => &e.attrs,
            E::If(e) => &e.attrs,
            E::Index(e) => &e.attrs,
            E::Lit(e) => &e.attrs,
            E::Macro(e) => &e.attrs,
            E::MethodCall(e) => &e.attrs,
            E::Path(e) => &e.attrs,
            E::Tuple(e) => &e.attrs,
            E::Unary(e) => &e.attrs,
            E::Unsafe(e) => &e.attrs,
            E::Paren(e) => &e.attrs,
            E::Range(e) => &e.attrs,
            E::Reference(e) => &e.attrs,
            _ => return,
        };
        self.attributes(attrs);
    }
}
