//! What a text of PTX declares, and its instructions as they are written.

use std::collections::BTreeMap;

use crate::Error;
use crate::token::{Token, tokens};

/// An operand as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// A register, a label, a variable or a special register.
    Name(String),
    /// A predicate that is turned around.
    Not(String),
    /// A whole number.
    Number(i128),
    /// The bits of a float, and how many there are.
    Bits(u64, u32),
    /// What lies at an address: a name or nothing, and so many bytes behind it.
    Address(Option<String>, i64),
    /// A tensor's handle and coordinates.
    Tensor(Box<Operand>, Vec<Operand>),
    /// Several at once.
    List(Vec<Operand>),
}

/// An instruction as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) line: u32,
    /// The predicate that has to hold, or not to hold.
    pub(crate) guard: Option<(String, bool)>,
    /// The opcode, parted at its dots.
    pub(crate) opcode: Vec<String>,
    pub(crate) operands: Vec<Operand>,
}

impl Written {
    pub(crate) fn name(&self) -> String {
        self.opcode.join(".")
    }
}

/// A variable in shared or local memory, or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) align: u64,
    /// None where a launch says how long it is.
    pub(crate) bytes: Option<u64>,
    /// Of a parameter: whether it is an address, of memory that is aligned so.
    pub(crate) pointer: bool,
}

/// A function that launches start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) params: Vec<Variable>,
    /// Threads of a group, where they are fixed.
    pub(crate) threads: Option<[u32; 3]>,
    /// Registers and their bits; predicates have one.
    pub(crate) registers: BTreeMap<String, u32>,
    pub(crate) shared: Vec<Variable>,
    pub(crate) local: Vec<Variable>,
    pub(crate) labels: BTreeMap<String, u32>,
    pub(crate) body: Vec<Written>,
}

/// A whole text.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) target: String,
    /// Shared memory of all functions.
    pub(crate) shared: Vec<Variable>,
    pub(crate) entries: Vec<Entry>,
}

/// Reads words one after the other.
struct Reader<'a> {
    words: Vec<Token<'a>>,
    at: usize,
    /// Names that are declared within braces, each with the one that is used for it. The last braces are the innermost.
    scopes: Vec<BTreeMap<String, String>>,
    /// How many names were declared so.
    renamed: u32,
}

/// How many bits a type has; predicates have one.
pub(crate) fn bits(ty: &str) -> Option<u32> {
    Some(match ty {
        "pred" => 1,
        "b8" | "u8" | "s8" => 8,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 16,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "s16x2" | "u16x2" => 32,
        "b64" | "u64" | "s64" | "f64" => 64,
        _ => return None,
    })
}

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<File, Error> {
    let mut reader = Reader { words: tokens(text)?, at: 0, scopes: Vec::new(), renamed: 0 };
    let mut file = File::default();
    while let Some(word) = reader.next() {
        match word.text {
            ".version" | ".address_size" => reader.at += 1,
            ".target" => file.target = reader.expect()?.text.to_string(),
            ".visible" | ".extern" | ".weak" => {}
            ".entry" => file.entries.push(reader.entry()?),
            ".shared" => file.shared.push(reader.variable()?),
            other => return Err(Error::at(word.line, format!("unknown outside of functions: `{other}`"))),
        }
    }
    Ok(file)
}

impl<'a> Reader<'a> {
    fn peek(&self) -> &'a str {
        self.words.get(self.at).map_or("", |word| word.text)
    }

    fn line(&self) -> u32 {
        self.words.get(self.at.min(self.words.len().saturating_sub(1))).map_or(0, |word| word.line)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        word
    }

    fn expect(&mut self) -> Result<Token<'a>, Error> {
        let line = self.line();
        self.next().ok_or_else(|| Error::at(line, "the text ends too early".into()))
    }

    /// Passes a word if it is this one.
    fn take(&mut self, text: &str) -> bool {
        let is = self.peek() == text;
        self.at += usize::from(is);
        is
    }

    fn need(&mut self, text: &str) -> Result<(), Error> {
        if self.take(text) { Ok(()) } else { Err(self.wrong(&format!("`{text}`"))) }
    }

    fn wrong(&self, wanted: &str) -> Error {
        Error::at(self.line(), format!("expected {wanted}, found `{}`", self.peek()))
    }

    fn number(&mut self) -> Result<i128, Error> {
        match self.operand()? {
            Operand::Number(value) => Ok(value),
            _ => Err(self.wrong("a whole number behind this")),
        }
    }

    /// `.align 16 .b8 name[64]`, without the braces of what it holds.
    fn variable(&mut self) -> Result<Variable, Error> {
        let (mut align, mut pointer, mut size) = (1, false, None);
        while self.peek().starts_with('.') {
            let word = self.expect()?;
            match word.text {
                ".align" => align = self.number()? as u64,
                ".ptr" => pointer = true,
                ".global" | ".shared" | ".const" => {}
                ty => size = Some(bits(&ty[1..]).ok_or_else(|| self.wrong("a type"))?),
            }
        }
        let size = u64::from(size.ok_or_else(|| self.wrong("a type"))?.div_ceil(8));
        let name = self.expect()?.text.to_string();
        let mut bytes = Some(size);
        while self.take("[") {
            bytes = if self.peek() == "]" { None } else { bytes.zip(Some(self.number()? as u64)).map(|(a, b)| a * b) };
            self.need("]")?;
        }
        self.take(";");
        Ok(Variable { name, align: align.max(size), bytes, pointer })
    }

    fn entry(&mut self) -> Result<Entry, Error> {
        let mut entry = Entry { name: self.expect()?.text.to_string(), ..Entry::default() };
        if self.take("(") {
            while self.take(".param") {
                entry.params.push(self.variable()?);
                self.take(",");
            }
            self.need(")")?;
        }
        while self.peek().starts_with('.') {
            match self.expect()?.text {
                ".reqntid" => entry.threads = Some(self.sizes()?),
                ".maxntid" => drop(self.sizes()?),
                ".minnctapersm" | ".maxnreg" | ".maxnctapersm" => drop(self.number()?),
                _ => return Err(self.wrong("a directive that is known before this")),
            }
        }
        self.need("{")?;
        self.block(&mut entry)?;
        Ok(entry)
    }

    fn sizes(&mut self) -> Result<[u32; 3], Error> {
        let mut all = [1; 3];
        for (n, size) in all.iter_mut().enumerate() {
            if n > 0 && !self.take(",") {
                break;
            }
            *size = self.number()? as u32;
        }
        Ok(all)
    }

    /// All up to the brace that closes what was opened.
    fn block(&mut self, entry: &mut Entry) -> Result<(), Error> {
        let labels = self.labels();
        self.scopes.push(labels);
        while !self.take("}") {
            match self.peek() {
                ";" => self.at += 1,
                "{" => {
                    self.at += 1;
                    self.block(entry)?;
                }
                ".reg" => self.registers(entry)?,
                ".shared" => {
                    self.at += 1;
                    entry.shared.push(self.variable()?);
                }
                ".local" => {
                    self.at += 1;
                    entry.local.push(self.variable()?);
                }
                ".pragma" | ".loc" => while !matches!(self.expect()?.text, ";") {},
                _ if self.words.get(self.at + 1).is_some_and(|word| word.text == ":") => {
                    let name = self.expect()?.text.to_string();
                    self.at += 1;
                    let own = self.known(&name);
                    entry.labels.insert(own, entry.body.len() as u32);
                }
                _ => {
                    let written = self.instruction()?;
                    entry.body.push(written);
                }
            }
        }
        self.scopes.pop();
        Ok(())
    }

    /// Labels of what follows up to the brace that closes it, which are known from its beginning on.
    fn labels(&mut self) -> BTreeMap<String, String> {
        let (mut all, mut depth) = (BTreeMap::new(), 0);
        for pair in self.words.get(self.at..).unwrap_or_default().windows(2) {
            match (pair[0].text, pair[1].text) {
                ("{", _) => depth += 1,
                ("}", _) if depth == 0 => break,
                ("}", _) => depth -= 1,
                (name, ":") if depth == 0 => {
                    self.renamed += 1;
                    all.insert(name.to_string(), format!("{name}@{}", self.renamed));
                }
                _ => {}
            }
        }
        all
    }

    /// `.reg .b32 %r<5>;`, `.reg .pred p, q;`
    fn registers(&mut self, entry: &mut Entry) -> Result<(), Error> {
        self.at += 1;
        let word = self.expect()?;
        let bits = bits(word.text.trim_start_matches('.')).ok_or_else(|| self.wrong("a type before this"))?;
        while !self.take(";") {
            let name = self.expect()?.text.to_string();
            if self.take("<") {
                let count = self.number()?;
                self.need(">")?;
                entry.registers.extend((0..count).map(|n| (format!("{name}{n}"), bits)));
            } else {
                self.renamed += 1;
                let own = format!("{name}@{}", self.renamed);
                entry.registers.insert(own.clone(), bits);
                if let Some(scope) = self.scopes.last_mut() {
                    scope.insert(name, own);
                }
            }
            self.take(",");
        }
        Ok(())
    }

    /// The name that stands for a name here.
    fn known(&self, name: &str) -> String {
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(name));
        found.cloned().unwrap_or_else(|| name.to_string())
    }

    fn instruction(&mut self) -> Result<Written, Error> {
        let line = self.line();
        let mut guard = None;
        if self.take("@") {
            let holds = !self.take("!");
            let name = self.expect()?.text;
            guard = Some((self.known(name), holds));
        }
        let opcode = self.expect()?.text.split('.').map(str::to_string).collect();
        let mut operands = Vec::new();
        while !self.take(";") {
            operands.push(self.operand()?);
            if !self.take(",") && !self.take("|") && self.peek() != ";" {
                return Err(self.wrong("`,` or `;`"));
            }
        }
        Ok(Written { line, guard, opcode, operands })
    }

    fn operand(&mut self) -> Result<Operand, Error> {
        if self.take("[") {
            return self.address();
        }
        if self.take("{") {
            return self.list("}").map(Operand::List);
        }
        if self.take("!") {
            let name = self.expect()?.text;
            return Ok(Operand::Not(self.known(name)));
        }
        if self.take("-") {
            return match self.operand()? {
                Operand::Number(value) => Ok(Operand::Number(-value)),
                _ => Err(self.wrong("a whole number before this")),
            };
        }
        let word = self.expect()?;
        literal(word.text).map_or_else(
            || Ok(Operand::Name(self.known(word.text))),
            |value| value.ok_or_else(|| self.wrong("a number before this")),
        )
    }

    /// Operands up to a closing word.
    fn list(&mut self, close: &str) -> Result<Vec<Operand>, Error> {
        let mut all = Vec::new();
        while !self.take(close) {
            all.push(self.operand()?);
            self.take(",");
        }
        Ok(all)
    }

    /// What stands behind `[`.
    fn address(&mut self) -> Result<Operand, Error> {
        let first = self.operand()?;
        if self.take(",") {
            self.need("{")?;
            let coordinates = self.list("}")?;
            self.need("]")?;
            return Ok(Operand::Tensor(Box::new(first), coordinates));
        }
        let offset = if self.take("+") { self.number()? as i64 } else { 0 };
        self.need("]")?;
        match first {
            Operand::Name(name) => Ok(Operand::Address(Some(name), offset)),
            Operand::Number(value) => Ok(Operand::Address(None, value as i64 + offset)),
            _ => Err(self.wrong("an address before this")),
        }
    }
}

/// The number that a word is, if it begins like one: none where it is no number all the same.
fn literal(text: &str) -> Option<Option<Operand>> {
    text.starts_with(|c: char| c.is_ascii_digit()).then(|| {
        let radix = |digits: &str, radix| i128::from_str_radix(digits.trim_end_matches('U'), radix).ok();
        let float = |digits: &str, bits| u64::from_str_radix(digits, 16).ok().map(|value| Operand::Bits(value, bits));
        match (text.get(..2), text.get(2..)) {
            (Some("0f" | "0F"), Some(digits)) => float(digits, 32),
            (Some("0d" | "0D"), Some(digits)) => float(digits, 64),
            (Some("0x" | "0X"), Some(digits)) => radix(digits, 16).map(Operand::Number),
            (Some("0b" | "0B"), Some(digits)) => radix(digits, 2).map(Operand::Number),
            _ => radix(text, 10).map(Operand::Number),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Operand, parse};

    const TEXT: &str = "
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 dynamic[];
.visible .entry k(
	.param .u64 .ptr .align 16 k_param_0,
	.param .u8 k_param_1
)
.reqntid 128, 1, 1
.minnctapersm 2
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<3>;
	// demoted variable
	.shared .align 16 .b8 S[256];
	@!%p1 bra 	$L__BB0_2;
	{ .reg .b64 left; add.s64 left, %rd1, -4; }
$L__BB0_2:
	st.shared.v2.b32 	[%r1+-8], {%r2, 0f3F800000};
	ret;
}
";

    #[test]
    fn a_function_is_read() {
        let file = parse(TEXT).expect("PTX");
        let entry = &file.entries[0];
        assert_eq!((file.target.as_str(), entry.name.as_str(), entry.threads), ("sm_90a", "k", Some([128, 1, 1])));
        let params: Vec<_> = entry.params.iter().map(|p| (p.align, p.bytes)).collect();
        assert_eq!(params, [(16, Some(8)), (1, Some(1))]);
        assert_eq!((file.shared[0].bytes, entry.shared[0].bytes), (None, Some(256)));
        assert_eq!(entry.labels["$L__BB0_2@1"], 2);
        assert_eq!(entry.body[0].operands, [Operand::Name("$L__BB0_2@1".into())]);
        assert_eq!(entry.body[0].guard, Some(("%p1".into(), false)));
        assert_eq!(entry.body[1].operands[0], Operand::Name("left@2".into()));
        let list = Operand::List(vec![Operand::Name("%r2".into()), Operand::Bits(0x3F80_0000, 32)]);
        assert_eq!(entry.body[2].operands, [Operand::Address(Some("%r1".into()), -8), list]);
        assert_eq!(entry.registers["left@2"], 64);
    }

    #[test]
    fn what_is_unknown_is_named_with_its_line() {
        let error = parse(".version 8.0\n.weird x;").expect_err("no PTX");
        assert_eq!(error.to_string(), "line 2: unknown outside of functions: `.weird`");
    }
}
