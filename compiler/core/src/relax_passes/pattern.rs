//! A small language of patterns over relax, which passes and tables of external kernels share.
//!
//! ```text
//! pattern = [name "="] term
//! term    = word {"|" word} "(" pattern {"," pattern} ")" [":once"]   an op, whatever its attributes
//!         | name [":const"] [":scalar"] [":once"]                     any value; a name twice is one value twice
//!         | number                                                    a constant that has this value all over
//! ```
//!
//! `add`, `mul`, `minimum`, `maximum`, `and`, `or`, `xor`, `eq` and `ne` match with operands in either order. A name
//! before `=` catches the value of the term. Attributes are looked at by the caller, through what was caught. Matching
//! costs what the pattern's size costs, never the graph's.

use std::collections::BTreeMap;

use tenfold_ir::Scalar;
use tenfold_ir::relax::{ValueId, op_name};

use super::rewrite::Rewriter;

/// A pattern, read from its text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Pattern {
    /// Any value.
    Any {
        /// What it is caught as.
        name: String,
        /// What must hold of it.
        must: Must,
    },
    /// A constant of this value all over; of a float, this sign of zero too.
    Number(f64),
    /// An op.
    Op {
        /// Words of which one is the op's.
        words: Vec<String>,
        /// Its operands.
        args: Vec<Pattern>,
        /// What its value is caught as.
        name: Option<String>,
        /// What must hold of its value.
        must: Must,
    },
}

/// What must hold of a value beside its definition.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Must {
    /// A constant.
    pub(crate) constant: bool,
    /// Of rank 0, or one value all over.
    pub(crate) scalar: bool,
    /// Read by this pattern alone.
    pub(crate) once: bool,
}

/// What a pattern caught, by name.
pub(crate) type Caught = BTreeMap<String, ValueId>;

impl Pattern {
    /// Reads a pattern. An error says what was expected.
    pub(crate) fn parse(text: &str) -> Result<Pattern, String> {
        let mut reader = Reader { rest: text };
        let pattern = reader.pattern()?;
        match reader.rest.trim() {
            "" => Ok(pattern),
            rest => Err(format!("expected the end of the pattern, found `{rest}`")),
        }
    }

    /// What the pattern catches where it matches a value that `word` and `args` define.
    pub(crate) fn catch_root(&self, cx: &mut Rewriter<'_>, word: &str, args: &[ValueId]) -> Option<Caught> {
        let Pattern::Op { words, args: patterns, .. } = self else { return None };
        if !words.iter().any(|w| w == word) {
            return None;
        }
        let mut caught = Caught::new();
        operands(cx, word, patterns, args, &mut caught).then_some(caught)
    }

    /// The words of which a root must have one; none if any value matches.
    pub(crate) fn roots(&self) -> &[String] {
        match self {
            Pattern::Op { words, .. } => words,
            Pattern::Any { .. } | Pattern::Number(_) => &[],
        }
    }

    /// The names of values in the order in which they first stand.
    pub(crate) fn leaves(&self, out: &mut Vec<String>) {
        match self {
            Pattern::Any { name, .. } if !out.contains(name) => out.push(name.clone()),
            Pattern::Any { .. } | Pattern::Number(_) => {}
            Pattern::Op { args, .. } => args.iter().for_each(|arg| arg.leaves(out)),
        }
    }

    fn matches(&self, cx: &mut Rewriter<'_>, v: ValueId, caught: &mut Caught) -> bool {
        match self {
            Pattern::Any { name, must } => must.holds(cx, v) && bind(caught, name, v),
            Pattern::Number(value) => cx.splat(v).is_some_and(|s| is_number(s, *value)),
            Pattern::Op { words, args, name, must } => {
                let Some(def) = cx.def(v) else { return false };
                let word = op_name(&def.op).to_string();
                if !words.contains(&word) || !must.holds(cx, v) {
                    return false;
                }
                let Some(def) = cx.def(v).cloned() else { return false };
                operands(cx, &word, args, &def.args, caught) && name.as_ref().is_none_or(|name| bind(caught, name, v))
            }
        }
    }
}

impl Must {
    fn holds(self, cx: &mut Rewriter<'_>, v: ValueId) -> bool {
        (!self.constant || cx.is_constant(v))
            && (!self.scalar || cx.shape(v).is_empty() || cx.splat(v).is_some())
            && (!self.once || cx.uses(v) <= 1)
    }
}

/// Whether a scalar is that number, in the scalar's dtype and exactly.
fn is_number(scalar: Scalar, value: f64) -> bool {
    let wanted = Scalar::float(scalar.dtype, value);
    scalar == wanted && wanted.to_f64() == value
}

/// A name that is caught twice must be one value.
fn bind(caught: &mut Caught, name: &str, v: ValueId) -> bool {
    *caught.entry(name.to_string()).or_insert(v) == v
}

/// Operators whose operands may change places without changing the result.
pub(crate) fn commutes(word: &str) -> bool {
    matches!(word, "add" | "mul" | "minimum" | "maximum" | "and" | "or" | "xor" | "eq" | "ne")
}

fn operands(cx: &mut Rewriter<'_>, word: &str, patterns: &[Pattern], args: &[ValueId], caught: &mut Caught) -> bool {
    if patterns.len() != args.len() {
        return false;
    }
    let before = caught.clone();
    if patterns.iter().zip(args).all(|(p, v)| p.matches(cx, *v, caught)) {
        return true;
    }
    *caught = before;
    commutes(word) && patterns.iter().zip(args.iter().rev()).all(|(p, v)| p.matches(cx, *v, caught))
}

/// Reads from the front of a text.
struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The longest run of characters of names and numbers.
    fn word(&mut self) -> Result<String, String> {
        self.rest = self.rest.trim_start();
        let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(format!("expected a name, a word or a number, found `{}`", self.rest));
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(word.to_string())
    }

    fn pattern(&mut self) -> Result<Pattern, String> {
        let first = self.word()?;
        if self.eat("=") {
            let word = self.word()?;
            return self.op(word, Some(first));
        }
        if let Ok(number) = first.parse::<f64>() {
            return Ok(Pattern::Number(number));
        }
        self.rest = self.rest.trim_start();
        if self.rest.starts_with(['(', '|']) {
            return self.op(first, None);
        }
        Ok(Pattern::Any { name: first, must: self.must()? })
    }

    fn op(&mut self, first: String, name: Option<String>) -> Result<Pattern, String> {
        let mut words = vec![first];
        while self.eat("|") {
            words.push(self.word()?);
        }
        if !self.eat("(") {
            return Err(format!("expected `(`, found `{}`", self.rest));
        }
        let mut args = Vec::new();
        while !self.eat(")") {
            args.push(self.pattern()?);
            if !self.eat(",") && !self.rest.trim_start().starts_with(')') {
                return Err(format!("expected `,` or `)`, found `{}`", self.rest));
            }
        }
        Ok(Pattern::Op { words, args, name, must: self.must()? })
    }

    fn must(&mut self) -> Result<Must, String> {
        let mut must = Must::default();
        while self.eat(":") {
            match self.word()?.as_str() {
                "const" => must.constant = true,
                "scalar" => must.scalar = true,
                "once" => must.once = true,
                other => return Err(format!("expected `const`, `scalar` or `once`, found `{other}`")),
            }
        }
        Ok(must)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read() {
        let pattern = Pattern::parse("relu|sigmoid(add(m=matmul(x, w:const):once, b))").unwrap();
        assert_eq!(pattern.roots(), ["relu", "sigmoid"]);
        assert_eq!(Pattern::parse("-0.5").unwrap(), Pattern::Number(-0.5));
        let Pattern::Any { must, .. } = Pattern::parse("c:const:scalar").unwrap() else { panic!("a value") };
        assert!(must.constant && must.scalar && !must.once);
    }

    #[test]
    fn what_is_no_pattern_says_what_was_expected() {
        for (text, error) in [
            ("", "expected a name"),
            ("add(x", "expected `,` or `)`"),
            ("add(x) y", "expected the end"),
            ("x:twice", "expected `const`"),
            ("a=b", "expected `(`"),
        ] {
            let found = Pattern::parse(text).unwrap_err();
            assert!(found.starts_with(error), "{text}: {found}");
        }
    }
}
