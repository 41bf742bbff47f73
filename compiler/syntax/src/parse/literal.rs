//! Numbers and truth values.

use super::cx::{Cx, value_of};
use super::expr::Place;
use crate::ast::{ExprKind, Literal, NodeId};
use crate::code::Code;

impl Cx {
    pub(super) fn literal(&mut self, node: NodeId, literal: &syn::Lit, place: Place) -> ExprKind {
        match (self.number(node, literal), literal) {
            (Some(number), _) => ExprKind::Literal(number),
            (None, syn::Lit::Str(s)) if place == Place::Named => ExprKind::Literal(Literal::Text(value_of(s))),
            (None, syn::Lit::Str(_)) => {
                self.refuse(
                    node,
                    Code::Literal,
                    "a text is not a value",
                    "a text stands only where a file or a message is expected, or behind the name of an attribute: `equation = \"ij,jk->ik\"`",
                );
                ExprKind::Error
            }
            (None, syn::Lit::Int(_) | syn::Lit::Float(_)) => ExprKind::Error,
            (None, _) => {
                self.refuse(
                    node,
                    Code::Literal,
                    "this literal is not part of the language",
                    "write the number itself, with a dtype as suffix if it needs one: `97u8`",
                );
                ExprKind::Error
            }
        }
    }

    /// A number or a truth value; reports a number that cannot be read.
    fn number(&mut self, node: NodeId, literal: &syn::Lit) -> Option<Literal> {
        match literal {
            syn::Lit::Bool(b) => Some(Literal::Bool(b.value)),
            syn::Lit::Int(i) if FLOAT_SUFFIXES.contains(&i.suffix()) => {
                Some(Literal::Float { digits: i.base10_digits().to_owned(), suffix: Some(i.suffix().to_owned()) })
            }
            syn::Lit::Int(i) => match i.base10_digits().parse() {
                Ok(value) => Some(Literal::Int { value, suffix: self.suffix(node, i.suffix(), INTEGER_SUFFIXES) }),
                Err(_) => {
                    self.refuse(node, Code::Literal, "this integer does not fit into 128 bits", "no dtype holds it");
                    None
                }
            },
            syn::Lit::Float(f) => Some(Literal::Float {
                digits: float_digits(f.base10_digits()),
                suffix: self.suffix(node, f.suffix(), FLOAT_SUFFIXES),
            }),
            _ => None,
        }
    }

    fn suffix(&mut self, node: NodeId, suffix: &str, known: &[&str]) -> Option<String> {
        if suffix.is_empty() {
            return None;
        }
        if !known.contains(&suffix) {
            self.refuse(
                node,
                Code::Literal,
                format!("`{suffix}` is not a suffix of this literal"),
                format!("write one of {}, or none", list_of(known)),
            );
            return None;
        }
        Some(suffix.to_owned())
    }
}

const INTEGER_SUFFIXES: &[&str] = &["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "isize", "usize"];

const FLOAT_SUFFIXES: &[&str] = &["f16", "bf16", "f32", "f64"];

fn list_of(names: &[&str]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// `1.` is `1.0`.
fn float_digits(digits: &str) -> String {
    match digits.strip_suffix('.') {
        Some(whole) => format!("{whole}.0"),
        None => digits.to_owned(),
    }
}
