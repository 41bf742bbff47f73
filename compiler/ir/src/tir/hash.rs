//! Structural equality and a stable 128-bit hash.
//!
//! Two functions are equal if they print alike, but for their places in the source and the names of their variables,
//! buffers and blocks: those are numbered in the order in which the text meets them. Constants count by their hashes.

use std::collections::{BTreeMap, BTreeSet};

use super::copy::Bound;
use super::{BufferData, Param, PrimFunc, Stmt, free_vars, print};
use crate::arith::Fact;
use crate::{Loc, Module};

/// Whether two functions of these modules have the same structure.
pub fn structurally_equal(a: (&Module, &PrimFunc), b: (&Module, &PrimFunc)) -> bool {
    canonical(a.0, a.1) == canonical(b.0, b.1)
}

/// The hash of a function's structure: equal on every machine and in every run.
pub fn structural_hash(module: &Module, func: &PrimFunc) -> u128 {
    crate::relax::fnv1a(canonical(module, func).as_bytes())
}

fn canonical(module: &Module, func: &PrimFunc) -> String {
    let mut func = func.clone();
    func.loc = Loc::default();
    func.body = without_places(func.body);
    let text = print(module, &func);
    rename(&func, &text)
}

fn without_places(stmt: Stmt) -> Stmt {
    stmt.map(&mut |s| match s {
        Stmt::At(_, body) => *body,
        Stmt::Seq(all) => Stmt::seq(all),
        other => other,
    })
}

/// The text with every name of a variable, buffer or block replaced by `$` and a number, in the order of first use.
fn rename(func: &PrimFunc, text: &str) -> String {
    let mut names = BTreeMap::new();
    let mut known = variables(func);
    known.extend(func.buffers.iter().map(|b| b.name.clone()));
    let block = |line: &str| line.trim().strip_prefix("block ").and_then(|l| l.strip_suffix(" {")).map(str::to_string);
    known.extend(text.lines().filter_map(block));
    let word = |c: char| c.is_alphanumeric() || "_.$#".contains(c);
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let token = &rest[..end];
        rest = &rest[end..];
        // Before a bracket of a call stands a function's name, after `@` too, and behind a colon a type: a loop may be
        // called `i4`, and a local `index`.
        let is_type = out.ends_with(": ") || out.ends_with('<');
        if known.contains(token) && !rest.starts_with('(') && !out.ends_with('@') && !is_type {
            let next = names.len();
            let number = *names.entry(token.to_string()).or_insert(next);
            out += &format!("${number}");
        } else {
            out += token;
        }
    }
    out
}

/// The names of the variables that a function mentions. Others may be called as a word of the text: `at`.
fn variables(func: &PrimFunc) -> BTreeSet<String> {
    let mut inside = Bound::default();
    inside.collect(&func.body);
    let values = func.params.iter().filter_map(|param| match param {
        Param::Value(var) => Some(*var),
        Param::Buffer(..) | Param::Workspace => None,
    });
    let vars = free_vars(func, &func.body).into_iter().chain(inside.vars).chain(values);
    let sizes = func.buffers.iter().flat_map(BufferData::symbols);
    let symbols = vars.map(|var| func.vars[var.0 as usize].sym.clone()).chain(sizes);
    symbols.chain(func.facts.iter().flat_map(Fact::vars)).map(|sym| sym.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn one(text: &str) -> PrimFunc {
        parse(&Module::default(), text).expect("it parses").remove(0)
    }

    fn copy(var: &str, node: u32, kind: &str) -> PrimFunc {
        one(&format!(
            "prim @copy(N: index, in x: f32[N], out y: f32[N]) phase blocks at 0:1 {{
               at 0:{node} {{
                 for {var} in 0 +: N {kind} {{
                   y[{var}] = x[{var}]
                 }}
               }}
             }}"
        ))
    }

    #[test]
    fn names_and_places_do_not_count() {
        let module = Module::default();
        let (a, b, c) = (copy("i", 7, "serial"), copy("j", 9, "serial"), copy("i", 7, "parallel"));
        assert!(structurally_equal((&module, &a), (&module, &b)));
        assert_eq!(structural_hash(&module, &a), structural_hash(&module, &b));
        assert!(!structurally_equal((&module, &a), (&module, &c)));
    }

    #[test]
    fn a_variable_that_is_not_mentioned_does_not_count() {
        let module = Module::default();
        let plain = copy("i", 7, "serial");
        let mut b = crate::tir::Builder::resume(plain.clone());
        b.index_var("at");
        b.push(plain.body.clone());
        let func = b.finish();
        assert!(structurally_equal((&module, &func), (&module, &plain)));
    }

    #[test]
    fn a_loop_may_be_called_as_a_type() {
        let module = Module::default();
        let stored = |var: &str| {
            one(&format!(
                "prim @copy(N: index, in x: i4[8], out y: i4[8]) phase blocks at 0:1 {{
                   for {var} in 0 +: 8 serial {{
                     y[{var}] = bitcast<i4>(bitcast<i8>(x[{var}]))
                   }}
                 }}"
            ))
        };
        for name in ["i4", "index"] {
            assert_eq!(canonical(&module, &stored(name)), canonical(&module, &stored("j")));
        }
    }
}
