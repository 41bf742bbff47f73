//! The same from source text, for the build script: finds the attribute in front of a function.

use std::str::FromStr;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::cx::Cx;
use super::{Outer, Parsed, limits, name_place, parse_item};
use crate::ast::NodeId;
use crate::code::Code;

/// A `#[tensor_fn]` found in front of a function, as the macro would get it.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The conditions of the `cfg_attr`s that it stands in, all of which must hold.
    pub conditions: Vec<TokenStream>,
    /// What stands in the brackets of `#[tensor_fn(…)]`.
    pub attr: TokenStream,
    /// The function with its other attributes.
    pub item: TokenStream,
}

/// Parses the text of one function with its attributes: under the first `#[tensor_fn]`, whatever its `cfg_attr` says.
pub fn parse_text(text: &str) -> Parsed {
    let tokens = match tokens(text) {
        Ok(tokens) => tokens,
        Err(message) => return unreadable(&TokenStream::new(), |cx, node| cx.error(node, Code::NotRust, message)),
    };
    if let Err(excess) = limits::check(tokens.clone()) {
        return unreadable(&tokens, |cx, _| cx.excess(excess, "function"));
    }
    match split_candidates(tokens.clone()).into_iter().next() {
        Some(one) => parse_item(one.attr, one.item),
        None => unreadable(&tokens, |cx, node| {
            cx.error(node, Code::NotRust, "there is no `#[tensor_fn]` in front of this function");
        }),
    }
}

fn unreadable(tokens: &TokenStream, report: impl FnOnce(&mut Cx, NodeId)) -> Parsed {
    let mut cx = Cx::default();
    let node = cx.node(name_place(tokens));
    report(&mut cx, node);
    cx.finish(None, Outer::default())
}

/// Every `#[tensor_fn]` in front of one function: `#[tensor_fn]`, `#[tenfold::tensor_fn(…)]`,
/// `#[cfg_attr(x, tensor_fn(…))]`. More than one differ in their conditions.
///
/// # Errors
///
/// The text is no sequence of Rust's tokens, or beyond the limits.
pub fn candidates(text: &str) -> Result<Vec<Candidate>, String> {
    let tokens = tokens(text)?;
    if limits::check(tokens.clone()).is_err() {
        return Err(String::from("this is too large, or nested too deeply"));
    }
    Ok(split_candidates(tokens))
}

fn tokens(text: &str) -> Result<TokenStream, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    TokenStream::from_str(text).map_err(|e| format!("this is not Rust: {e}"))
}

fn split_candidates(tokens: TokenStream) -> Vec<Candidate> {
    let (attributes, rest) = leading_attributes(tokens);
    let mut flat = Vec::new();
    for (head, inner) in attributes {
        flatten(head, inner, &mut Vec::new(), &mut flat, 0);
    }
    let is_ours = |a: &Flat| a.name == "tensor_fn";
    let one = |i: usize| {
        let others = flat.iter().enumerate().filter(|(j, _)| *j != i);
        // Under other conditions the other is not there.
        let others = others.filter(|(_, a)| !is_ours(a) || a.conditions.is_empty());
        let mut item: TokenStream = others.flat_map(|(_, a)| a.tokens.clone()).collect();
        item.extend(rest.clone());
        Candidate { conditions: flat[i].conditions.clone(), attr: flat[i].arguments.clone(), item }
    };
    (0..flat.len()).filter(|i| is_ours(&flat[*i])).map(one).collect()
}

/// An attribute, taken out of its `cfg_attr`s.
struct Flat {
    conditions: Vec<TokenStream>,
    /// The last name of its path.
    name: String,
    /// What stands in its parentheses.
    arguments: TokenStream,
    /// `#[…]`.
    tokens: TokenStream,
}

/// The outer attributes (`#` and the brackets' group) and what follows them.
fn leading_attributes(tokens: TokenStream) -> (Vec<(TokenTree, Group)>, TokenStream) {
    let mut attributes = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(TokenTree::Punct(p)) = tokens.peek() {
        if p.as_char() != '#' {
            break;
        }
        let Some(hash) = tokens.next() else { break };
        match tokens.next() {
            Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Bracket => attributes.push((hash, g)),
            other => {
                let rest = [Some(hash), other].into_iter().flatten().chain(tokens).collect();
                return (attributes, rest);
            }
        }
    }
    (attributes, tokens.collect())
}

/// As rustc does: the attributes of a `cfg_attr` take its place.
fn flatten(hash: TokenTree, group: Group, conditions: &mut Vec<TokenStream>, out: &mut Vec<Flat>, depth: u32) {
    let (name, arguments) = head(group.stream());
    let mut parts = Vec::new();
    if name == "cfg_attr" && depth < 16 {
        parts = split(arguments.clone());
    }
    let ours = parts.iter().skip(1).any(|p| mentions(p.clone(), "tensor_fn"));
    if !ours {
        let bracket = TokenTree::Group(group);
        out.push(Flat {
            conditions: conditions.clone(),
            name,
            arguments,
            tokens: [hash, bracket].into_iter().collect(),
        });
        return;
    }
    let mut parts = parts.into_iter();
    conditions.push(parts.next().unwrap_or_default());
    for part in parts {
        let mut inner = Group::new(Delimiter::Bracket, part);
        inner.set_span(group.span());
        flatten(hash.clone(), inner, conditions, out, depth + 1);
    }
    conditions.pop();
}

/// The last name of an attribute's path, and what stands in its parentheses.
fn head(attribute: TokenStream) -> (String, TokenStream) {
    let mut name = String::new();
    for tree in attribute {
        match tree {
            TokenTree::Ident(i) => name = i.to_string(),
            TokenTree::Punct(p) if p.as_char() == ':' => {}
            TokenTree::Group(g) if g.delimiter() == Delimiter::Parenthesis => {
                return (name, g.stream());
            }
            _ => break,
        }
    }
    (name, TokenStream::new())
}

fn mentions(tokens: TokenStream, word: &str) -> bool {
    let (name, arguments) = head(tokens);
    name == word || (name == "cfg_attr" && split(arguments).into_iter().skip(1).any(|p| mentions(p, word)))
}

/// Splits at commas.
fn split(tokens: TokenStream) -> Vec<TokenStream> {
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    for tree in tokens {
        if matches!(&tree, TokenTree::Punct(p) if p.as_char() == ',') {
            parts.push(part.drain(..).collect());
        } else {
            part.push(tree);
        }
    }
    if !part.is_empty() {
        parts.push(part.into_iter().collect());
    }
    parts
}
