//! Reads `cases.txt` and `activations.txt`; `writer.py` and `activations.py` say what stands in them.

use std::collections::BTreeMap;

use tenfold_ir::ops::{AttrValue, Literal};
use tenfold_ir::{DType, Scalar};

/// A call with its operands and what it gives.
#[derive(Debug)]
pub(crate) struct Row {
    /// As it stands in the file.
    pub text: &'static str,
    pub call: Call,
    pub dtypes: Vec<DType>,
    pub operands: BTreeMap<&'static str, Tensor>,
    pub results: Vec<(Tensor, Off)>,
}

/// What is called: an operator by its name, or one of Rust's (`+`; `-` of one operand is `neg`; `as i32`).
#[derive(Debug)]
pub(crate) struct Call {
    pub name: String,
    pub typed: Option<Turbofish>,
    pub args: Vec<Word>,
    pub attrs: Vec<(&'static str, AttrValue)>,
}

/// A dtype in a turbofish.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turbofish {
    /// The one that the case is made with.
    Own,
    This(DType),
}

/// A positional operand.
#[derive(Debug)]
pub(crate) enum Word {
    Name(&'static str),
    List(Vec<&'static str>),
    Shape(Vec<i64>),
    Number(Literal),
}

/// Numbers, which become elements of the dtype that a case is made with unless they have one of their own.
#[derive(Debug)]
pub(crate) struct Tensor {
    pub dtype: Option<DType>,
    pub shape: Vec<i64>,
    pub numbers: Vec<Number>,
}

/// A number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Whole(i128),
    Real(f64),
}

/// How many units in the last place a float may be off, and of what.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Off {
    /// What the operator states.
    Stated,
    /// Of the largest number of the result.
    Largest(f64),
    /// Of the number.
    Each(f64),
    /// Of the larger of the number and the first operand's.
    Operand(f64),
}

impl Number {
    fn read(text: &str) -> Self {
        match text.parse() {
            Ok(whole) => Number::Whole(whole),
            Err(_) => Number::Real(text.parse().unwrap_or_else(|_| panic!("no number: {text}"))),
        }
    }

    pub(crate) fn real(self) -> f64 {
        match self {
            Number::Whole(n) => n as f64,
            Number::Real(x) => x,
        }
    }

    pub(crate) fn scalar(self, dtype: DType) -> Scalar {
        match self {
            Number::Whole(n) if dtype.is_bool() => Scalar::bool(n != 0),
            Number::Whole(n) if dtype.is_int() || dtype.is_nibble() => Scalar::int(dtype, n),
            _ => Scalar::float(dtype, self.real()),
        }
    }
}

impl Tensor {
    /// `i64 [2, 3] 1 2 …`
    fn read(text: &'static str) -> Self {
        let (head, rest) = text.split_once('[').expect("a shape");
        let (shape, numbers) = rest.split_once(']').expect("a shape that ends");
        Tensor {
            dtype: (!head.trim().is_empty()).then(|| dtype(head.trim())),
            shape: pieces(shape).into_iter().map(|n| n.parse().expect("an extent")).collect(),
            numbers: numbers.split_whitespace().map(Number::read).collect(),
        }
    }

    pub(crate) fn dtype(&self, own: DType) -> DType {
        self.dtype.unwrap_or(own)
    }

    pub(crate) fn cells(&self, own: DType) -> Vec<Scalar> {
        self.numbers.iter().map(|n| n.scalar(self.dtype(own))).collect()
    }
}

fn dtype(name: &str) -> DType {
    DType::from_name(name).unwrap_or_else(|| panic!("no dtype: {name}"))
}

fn dtypes(text: &str) -> Vec<DType> {
    let those = |f: fn(&DType) -> bool| DType::ALL.into_iter().filter(f).collect();
    match text {
        "all" => those(|_| true),
        "numbers" => those(|d| !d.is_bool()),
        "floats" => those(|d| d.is_float()),
        names => names.split(' ').map(dtype).collect(),
    }
}

/// What commas part, outside of brackets and quotes.
fn pieces(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut start, mut all) = (0, false, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                all.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(text[start..].trim());
    all.retain(|piece| !piece.is_empty());
    all
}

fn bracketed(text: &'static str) -> Option<Vec<&'static str>> {
    Some(pieces(text.strip_prefix('[')?.strip_suffix(']')?))
}

fn attribute(text: &'static str) -> AttrValue {
    if let Some(items) = bracketed(text) {
        return AttrValue::List(items.into_iter().map(attribute).collect());
    }
    match text {
        "true" | "false" => AttrValue::Bool(text == "true"),
        _ if text.starts_with('"') => AttrValue::Text(text.trim_matches('"').to_string()),
        _ => match text.parse::<i64>() {
            Ok(n) => AttrValue::Int(n.into()),
            Err(_) => AttrValue::Float(text.parse().unwrap_or_else(|_| panic!("no attribute: {text}"))),
        },
    }
}

fn word(text: &'static str) -> Word {
    let is_name = |text: &str| text.starts_with(|c: char| c.is_alphabetic());
    match bracketed(text) {
        Some(items) if items.first().is_some_and(|item| is_name(item)) => Word::List(items),
        Some(items) => Word::Shape(items.into_iter().map(|n| n.parse().expect("an extent")).collect()),
        None if is_name(text) => Word::Name(text),
        None => Word::Number(Literal::Int(text.parse().expect("an integer"))),
    }
}

/// `x + y`, `-x`, `x as i8`, or a call.
fn call(text: &'static str) -> Call {
    let plain = |name: String, args: Vec<&'static str>| Call {
        name,
        typed: None,
        args: args.into_iter().map(Word::Name).collect(),
        attrs: Vec::new(),
    };
    if let Some((name, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let (name, typed) = match name.split_once("::<") {
            Some((name, "T>")) => (name, Some(Turbofish::Own)),
            Some((name, this)) => (name, Some(Turbofish::This(dtype(this.trim_end_matches('>'))))),
            None => (name, None),
        };
        let (attrs, args): (Vec<_>, Vec<_>) = pieces(inner).into_iter().partition(|piece| piece.contains(" = "));
        let attr = |text: &'static str| text.split_once(" = ").map(|(name, value)| (name, attribute(value)));
        let attrs = attrs.into_iter().filter_map(attr).collect();
        return Call { name: name.to_string(), typed, args: args.into_iter().map(word).collect(), attrs };
    }
    match text.split(' ').collect::<Vec<_>>().as_slice() {
        [x, "as", to] => plain(format!("as {to}"), vec![*x]),
        [x, name, y] => plain((*name).to_string(), vec![*x, *y]),
        _ if text.starts_with('-') => plain("neg".into(), vec![&text[1..]]),
        _ => plain("not".into(), vec![&text[1..]]),
    }
}

fn result(text: &'static str) -> (Tensor, Off) {
    let Some((tensor, off)) = text.split_once(" ~ ") else { return (Tensor::read(text), Off::Stated) };
    let units = |text: &str| text.parse().expect("a count of units");
    let off = match off.split_once(' ') {
        None => Off::Largest(units(off)),
        Some((n, "each")) => Off::Each(units(n)),
        Some((n, _)) => Off::Operand(units(n)),
    };
    (Tensor::read(tensor), off)
}

fn row(block: &'static str) -> Row {
    let (head, rest) = block.split_once('\n').expect("a call and its results");
    let (text, on) = head.rsplit_once(" : ").expect("a call and its dtypes");
    let (mut operands, mut results) = (BTreeMap::new(), Vec::new());
    for line in rest.lines() {
        let (name, tensor) = line.split_once(' ').expect("a name and a tensor");
        match name {
            "=" => results.push(result(tensor)),
            name => drop(operands.insert(name, Tensor::read(tensor))),
        }
    }
    Row { text, call: call(text), dtypes: dtypes(on), operands, results }
}

/// What parts the call of a definition from its meaning.
const DEFINES: &str = " := ";

const CASES: &str = include_str!("cases.txt");
const ACTIVATIONS: &str = include_str!("activations.txt");

fn blocks() -> impl Iterator<Item = &'static str> {
    let all = [CASES, ACTIVATIONS].into_iter().flat_map(|file| file.split("\n\n"));
    all.map(str::trim).filter(|block| !block.is_empty())
}

/// Calls that are defined in `activations.txt`.
pub(crate) fn definitions() -> Vec<&'static str> {
    blocks().filter_map(|block| block.split_once(DEFINES)).map(|(call, _)| call).collect()
}

/// All cases of the files.
pub(crate) fn rows() -> Vec<Row> {
    blocks().filter(|block| !block.contains(DEFINES)).map(row).collect()
}
