//! Reading expressions and facts.
//!
//! Grammar, loosest first: `||`, `&&`, one comparison (`== != < <= > >=`), `+ -`, `* / %`, unary `-`, then integers,
//! names, parentheses and the calls `floordiv floormod min max`. A name is what Rust takes for one, with `.`, `$`
//! and `#` allowed inside.

use super::expr::IntExpr;
use super::fact::Fact;
use super::limits;
use super::sym::Sym;

impl IntExpr {
    /// Reads the form that `Display` writes, and C-like text in general.
    pub fn parse(text: &str) -> Result<IntExpr, String> {
        let mut parser = Parser { text, at: 0, nesting: 0 };
        let expr = parser.sum()?;
        parser.end()?;
        Ok(expr)
    }
}

impl Fact {
    /// Reads comparisons joined by `&&` and `||`.
    pub fn parse(text: &str) -> Result<Fact, String> {
        let mut parser = Parser { text, at: 0, nesting: 0 };
        let fact = parser.alternatives()?;
        parser.end()?;
        Ok(fact)
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    nesting: u32,
}

impl Parser<'_> {
    fn rest(&mut self) -> &str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(self.error(&format!("`{token}`"))) }
    }

    fn error(&mut self, expected: &str) -> String {
        let at = self.at;
        match self.rest().chars().next() {
            Some(found) => format!("expected {expected}, found `{found}` at offset {at}"),
            None => format!("expected {expected}, found the end"),
        }
    }

    fn end(&mut self) -> Result<(), String> {
        if self.rest().is_empty() { Ok(()) } else { Err(self.error("the end")) }
    }

    fn alternatives(&mut self) -> Result<Fact, String> {
        let mut all = vec![self.conjunction()?];
        while self.eat("||") {
            all.push(self.conjunction()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Fact::Or(all) })
    }

    fn conjunction(&mut self) -> Result<Fact, String> {
        let mut all = vec![self.comparison()?];
        while self.eat("&&") {
            all.push(self.comparison()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Fact::And(all) })
    }

    fn comparison(&mut self) -> Result<Fact, String> {
        let (start, nesting) = (self.at, self.nesting);
        if self.rest().starts_with('(') {
            // Either a fact in parentheses or an expression that begins with one.
            self.at += 1;
            self.enter()?;
            let inner = self.alternatives();
            self.nesting = nesting;
            if let Ok(fact) = inner
                && self.eat(")")
            {
                return Ok(fact);
            }
            self.at = start;
        }
        let left = self.sum()?;
        for (token, make) in COMPARISONS {
            if self.eat(token) {
                let right = self.sum()?;
                return Ok(make(&left, &right));
            }
        }
        Err(self.error("a comparison"))
    }

    fn sum(&mut self) -> Result<IntExpr, String> {
        let mut value = self.product()?;
        loop {
            if self.eat("+") {
                value = value + self.product()?;
            } else if self.eat("-") {
                let sign = self.at - 1;
                if self.least_follows() {
                    self.at = sign;
                    value = value + self.product()?;
                } else {
                    value = value - self.product()?;
                }
            } else {
                return Ok(value);
            }
        }
    }

    /// Whether what follows is a number that fits 64 bits with a minus before it alone.
    fn least_follows(&mut self) -> bool {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse() == Ok(i64::MIN.unsigned_abs())
    }

    fn product(&mut self) -> Result<IntExpr, String> {
        let mut value = self.unary()?;
        loop {
            if self.eat("*") {
                value = value * self.unary()?;
            } else if self.eat("/") {
                value = value.trunc_div(&self.unary()?);
            } else if self.eat("%") {
                value = value.trunc_rem(&self.unary()?);
            } else {
                return Ok(value);
            }
        }
    }

    fn unary(&mut self) -> Result<IntExpr, String> {
        if !self.eat("-") {
            return self.primary();
        }
        if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            // The least value has no positive counterpart.
            return self.number("-");
        }
        self.enter()?;
        let value = -self.unary()?;
        self.nesting -= 1;
        Ok(value)
    }

    fn enter(&mut self) -> Result<(), String> {
        self.nesting += 1;
        if self.nesting > limits::NESTING {
            return Err(format!("nested deeper than {}", limits::NESTING));
        }
        Ok(())
    }

    fn primary(&mut self) -> Result<IntExpr, String> {
        if self.eat("(") {
            self.enter()?;
            let value = self.sum()?;
            self.nesting -= 1;
            self.expect(")")?;
            return Ok(value);
        }
        match self.rest().chars().next() {
            Some(c) if c.is_ascii_digit() => self.number(""),
            Some(c) if c.is_alphabetic() || "_.$#".contains(c) => self.name(),
            Some(_) | None => Err(self.error("an expression")),
        }
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let rest = self.rest();
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        let taken = rest[..end].to_owned();
        self.at += end;
        taken
    }

    fn number(&mut self, sign: &str) -> Result<IntExpr, String> {
        let digits = self.take_while(|c| c.is_ascii_digit());
        let text = format!("{sign}{digits}");
        let value = text.parse().map_err(|_| format!("`{text}` does not fit 64 bits"))?;
        Ok(IntExpr::constant(value))
    }

    fn name(&mut self) -> Result<IntExpr, String> {
        let name = self.take_while(|c| c.is_alphanumeric() || "_.$#".contains(c));
        let call = match name.as_str() {
            "floordiv" => IntExpr::floor_div,
            "floormod" => IntExpr::floor_mod,
            "min" => IntExpr::minimum,
            "max" => IntExpr::maximum,
            _ => return Ok(IntExpr::var(Sym::new(name))),
        };
        if !self.eat("(") {
            return Ok(IntExpr::var(Sym::new(name)));
        }
        self.enter()?;
        let a = self.sum()?;
        self.expect(",")?;
        let b = self.sum()?;
        self.expect(")")?;
        self.nesting -= 1;
        Ok(call(&a, &b))
    }
}

type Make = fn(&IntExpr, &IntExpr) -> Fact;

/// Longer tokens stand before those that begin them.
const COMPARISONS: [(&str, Make); 6] =
    [("==", Fact::eq), ("!=", Fact::ne), ("<=", Fact::le), (">=", Fact::ge), ("<", Fact::lt), (">", Fact::gt)];
