//! What a `let`, a closure or a `for` binds.

use super::cx::{Cx, ends, text_of};
use crate::ast::{Pattern, PatternKind};
use crate::code::Code;

impl Cx {
    /// What a `let` (`mutable` allowed), a closure or a `for` binds.
    pub(super) fn pattern(&mut self, pat: &syn::Pat, mutable_allowed: bool) -> Pattern {
        let pat = bare_pattern(pat);
        let node = self.node(ends(pat));
        let kind = match pat {
            syn::Pat::Wild(_) => PatternKind::Ignore,
            syn::Pat::Tuple(t) => {
                PatternKind::Tuple(t.elems.iter().map(|p| self.pattern(p, mutable_allowed)).collect())
            }
            syn::Pat::Ident(i) if i.by_ref.is_none() && i.subpat.is_none() => {
                let mutable = i.mutability.is_some();
                if mutable && !mutable_allowed {
                    self.refuse(
                        node,
                        Code::UnsupportedPattern,
                        "the variable of a closure or a loop does not change",
                        "write `let mut v = …;` in the body",
                    );
                }
                PatternKind::Name { name: text_of(&i.ident), mutable: mutable && mutable_allowed }
            }
            syn::Pat::Type(_) => {
                self.refuse(
                    node,
                    Code::UnsupportedPattern,
                    "the variables of a closure have no written type",
                    "write `|i, j| e`; a type stands behind the whole pattern of a `let`",
                );
                PatternKind::Error
            }
            _ => {
                self.refuse(
                    node,
                    Code::UnsupportedPattern,
                    "this pattern is not part of the language",
                    "write a name, `_`, or a tuple of these",
                );
                PatternKind::Error
            }
        };
        Pattern { node, kind }
    }
}

fn bare_pattern(mut pat: &syn::Pat) -> &syn::Pat {
    while let syn::Pat::Paren(p) = pat {
        pat = &p.pat;
    }
    pat
}
