//! A schedule as `#[schedule]` has it: steps over names, each with its place in the source.

use super::args::IndexMap;

/// The steps of one `#[schedule]`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// In source order.
    pub steps: Vec<Step>,
    /// Whether sums must be taken in the order that was written.
    pub strict: bool,
}

/// `let [jo, ji] = s.split(j, [_, 16]);`.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Its place.
    pub node: u32,
    /// What it binds.
    pub binds: Binds,
    /// `split`.
    pub primitive: String,
    /// `j, [_, 16]`.
    pub args: Vec<Written>,
}

/// What a step binds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Binds {
    /// Nothing.
    Nothing,
    /// `let b = …`: all that the step gives, under one name.
    One(String),
    /// `let [i, j] = …`; `_` binds nothing.
    Each(Vec<String>),
}

/// An argument, with its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Written {
    /// Its place.
    pub node: u32,
    /// What it is.
    pub what: What,
}

/// The kinds of an argument.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// A name that an earlier step bound.
    Name(String),
    /// A number.
    Int(i64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
    /// `_`.
    Infer,
    /// Several.
    List(Vec<Written>),
    /// `depth = 2`.
    Named(String, Box<Written>),
    /// A map of indices.
    Map(IndexMap),
}

impl std::fmt::Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.what {
            What::Name(name) => write!(f, "{name}"),
            What::Int(n) => write!(f, "{n}"),
            What::Bool(b) => write!(f, "{b}"),
            What::Text(text) => write!(f, "{text:?}"),
            What::Infer => write!(f, "_"),
            What::List(all) => write!(f, "[{}]", joined(all)),
            What::Named(name, arg) => write!(f, "{name} = {arg}"),
            What::Map(map) => write!(f, "{map}"),
        }
    }
}

/// Arguments, with commas.
pub(super) fn joined(all: &[Written]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
