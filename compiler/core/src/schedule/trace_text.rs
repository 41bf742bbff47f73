//! Traces as text, in the words of `#[schedule]`:
//!
//! ```text
//! let b0 = s.get_block("matmul");
//! let [l0, l1, l2] = s.get_loops(b0);
//! s.parallel(l0);
//! ```

use std::collections::BTreeMap;
use std::fmt;

use tenfold_ir::arith::{IntExpr, Sym};

use super::args::{Arg, IndexMap};
use super::handle::{BlockRV, ExprRV, LoopRV, Rv};
use super::table::Gives;
use super::trace::{Instruction, Trace};

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.results.iter().map(ToString::to_string).collect();
        match super::primitives::find(&self.primitive).map(|p| p.gives) {
            Some(Gives::List) => write!(f, "let [{}] = ", names.join(", "))?,
            Some(Gives::One) => write!(f, "let {} = ", names.join(", "))?,
            Some(Gives::Nothing) | None => {}
        }
        let args: Vec<String> = self.args.iter().map(ToString::to_string).collect();
        write!(f, "s.{}({});", self.primitive, args.join(", "))
    }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Rv(rv) => write!(f, "{rv}"),
            Arg::Int(it) => write!(f, "{it}"),
            Arg::Real(it) => write!(f, "{it:?}"),
            Arg::Bool(it) => write!(f, "{it}"),
            Arg::Text(it) => write!(f, "{it:?}"),
            Arg::Infer => write!(f, "_"),
            Arg::List(all) => {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", all.join(", "))
            }
            Arg::Named(name, arg) => write!(f, "{name} = {arg}"),
            Arg::Map(it) => write!(f, "{it}"),
        }
    }
}

impl fmt::Display for IndexMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Vec<String> = self.params.iter().map(ToString::to_string).collect();
        let results: Vec<String> = self.results.iter().map(ToString::to_string).collect();
        write!(f, "|{}| [{}]", params.join(", "), results.join(", "))
    }
}

impl Trace {
    /// Reads a trace; comments begin with `//`. The error says the line, what was expected and what was found.
    pub fn parse(text: &str) -> Result<Trace, String> {
        let mut names = BTreeMap::new();
        let mut steps = Vec::new();
        for (n, line) in text.lines().enumerate() {
            let line = line.split_once("//").map_or(line, |(code, _)| code).trim();
            if !line.is_empty() {
                let mut reader = Reader { rest: line, names: &mut names, depth: 0 };
                steps.push(reader.step().map_err(|e| format!("line {}: {e}", n + 1))?);
            }
        }
        Ok(Trace { steps })
    }
}

/// Lists inside lists.
const DEPTH: u32 = 16;

struct Reader<'t> {
    rest: &'t str,
    names: &'t mut BTreeMap<String, Rv>,
    depth: u32,
}

impl<'t> Reader<'t> {
    fn fail<T>(&self, expected: &str) -> Result<T, String> {
        let found: String = self.rest.chars().take(20).collect();
        let found = if found.is_empty() { "the end of the line".to_string() } else { format!("`{found}`") };
        Err(format!("expected {expected}, found {found}"))
    }

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

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { self.fail(&format!("`{token}`")) }
    }

    fn take(&mut self, ok: impl Fn(char) -> bool) -> &'t str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c| !ok(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn word(&mut self) -> Result<&'t str, String> {
        let word = self.take(|c| c.is_alphanumeric() || c == '_');
        if word.is_empty() { self.fail("a name") } else { Ok(word) }
    }

    fn step(&mut self) -> Result<Instruction, String> {
        let results = if self.eat("let ") { self.binding()? } else { Vec::new() };
        self.expect("s.")?;
        let word = self.word()?;
        let Some(primitive) = super::primitives::find(word) else {
            return Err(format!("there is no primitive `{word}`"));
        };
        self.expect("(")?;
        let args = self.list(")")?;
        self.expect(";")?;
        if !self.rest.trim().is_empty() {
            return self.fail("the end of the line");
        }
        let results = results.into_iter().map(|name| self.name(name)).collect::<Result<Vec<_>, _>>()?;
        Ok(Instruction { primitive: primitive.name.to_string(), args, results })
    }

    fn binding(&mut self) -> Result<Vec<&'t str>, String> {
        let mut names = Vec::new();
        if self.eat("[") {
            while !self.eat("]") {
                names.push(self.word()?);
                if !self.eat(",") {
                    self.expect("]")?;
                    break;
                }
            }
        } else {
            names.push(self.word()?);
        }
        self.expect("=")?;
        Ok(names)
    }

    /// A new name: `b…` of a block, `l…` of a loop, `v…` of a number.
    fn name(&mut self, name: &str) -> Result<Rv, String> {
        let number = name.get(1..).and_then(|n| n.parse().ok());
        let rv = match (name.chars().next(), number) {
            (Some('b'), Some(n)) => Rv::Block(BlockRV(n)),
            (Some('l'), Some(n)) => Rv::Loop(LoopRV(n)),
            (Some('v'), Some(n)) => Rv::Expr(ExprRV(n)),
            _ => return Err(format!("expected `b`, `l` or `v` and a number, found `{name}`")),
        };
        self.names.insert(name.to_string(), rv);
        Ok(rv)
    }

    fn list(&mut self, end: &str) -> Result<Vec<Arg>, String> {
        let mut all = Vec::new();
        while !self.eat(end) {
            all.push(self.arg()?);
            if !self.eat(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(all)
    }

    fn arg(&mut self) -> Result<Arg, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("lists are nested deeper than {DEPTH}"));
        }
        let arg = self.arg_here();
        self.depth -= 1;
        arg
    }

    fn arg_here(&mut self) -> Result<Arg, String> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            Some('[') => {
                self.expect("[")?;
                self.list("]").map(Arg::List)
            }
            Some('"') => self.text(),
            Some('|') => self.map().map(Arg::Map),
            Some(c) if c == '-' || c.is_ascii_digit() => self.number(),
            _ => self.named(),
        }
    }

    fn text(&mut self) -> Result<Arg, String> {
        self.expect("\"")?;
        let mut out = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(Arg::Text(out));
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => out.push(c),
                    _ => return self.fail("`\\\"` or `\\\\`"),
                },
                c => out.push(c),
            }
        }
        self.fail("`\"`")
    }

    fn number(&mut self) -> Result<Arg, String> {
        let text = self.take(|c| c.is_ascii_digit() || "-+.e".contains(c));
        if let Ok(int) = text.parse() {
            return Ok(Arg::Int(int));
        }
        text.parse().map(Arg::Real).map_err(|_| format!("expected a number, found `{text}`"))
    }

    fn named(&mut self) -> Result<Arg, String> {
        let word = self.word()?;
        if self.eat("=") {
            return Ok(Arg::Named(word.to_string(), Box::new(self.arg()?)));
        }
        match word {
            "_" => Ok(Arg::Infer),
            "true" => Ok(Arg::Bool(true)),
            "false" => Ok(Arg::Bool(false)),
            name => {
                let known = self.names.get(name).copied();
                known.map(Arg::Rv).ok_or_else(|| format!("`{name}` is not bound by an earlier line"))
            }
        }
    }

    /// `|i, j| [i / 4, j]`, with the expressions as `arith` prints them.
    fn map(&mut self) -> Result<IndexMap, String> {
        self.expect("|")?;
        let mut params = Vec::new();
        while !self.eat("|") {
            params.push(Sym::new(self.word()?));
            if !self.eat(",") {
                self.expect("|")?;
                break;
            }
        }
        self.expect("[")?;
        let mut results = Vec::new();
        while !self.eat("]") {
            results.push(self.int_expr()?);
            if !self.eat(",") {
                self.expect("]")?;
                break;
            }
        }
        Ok(IndexMap { params, results })
    }

    fn int_expr(&mut self) -> Result<IntExpr, String> {
        let mut depth = 0u32;
        let end = self.rest.find(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                ',' | ']' => return depth == 0,
                _ => {}
            }
            false
        });
        let (text, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        IntExpr::parse(text.trim()).map_err(|e| format!("`{}` is no integer expression: {e}", text.trim()))
    }
}
