//! Arguments of primitives: as a caller gives them, and resolved to blocks, loops and numbers.

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::VarId;

use super::handle::{BlockRV, ExprRV, LoopRV, Rv};

/// An argument as a caller or a trace gives it.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// A reference.
    Rv(Rv),
    /// A number.
    Int(i64),
    /// A real number.
    Real(f64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
    /// `_`: to be found.
    Infer,
    /// Several.
    List(Vec<Arg>),
    /// By its name.
    Named(String, Box<Arg>),
    /// A map of indices.
    Map(IndexMap),
}

impl From<BlockRV> for Arg {
    fn from(it: BlockRV) -> Self {
        Arg::Rv(Rv::Block(it))
    }
}
impl From<LoopRV> for Arg {
    fn from(it: LoopRV) -> Self {
        Arg::Rv(Rv::Loop(it))
    }
}
impl From<ExprRV> for Arg {
    fn from(it: ExprRV) -> Self {
        Arg::Rv(Rv::Expr(it))
    }
}
impl From<i64> for Arg {
    fn from(it: i64) -> Self {
        Arg::Int(it)
    }
}
impl From<bool> for Arg {
    fn from(it: bool) -> Self {
        Arg::Bool(it)
    }
}
impl From<&str> for Arg {
    fn from(it: &str) -> Self {
        Arg::Text(it.to_string())
    }
}
impl From<IndexMap> for Arg {
    fn from(it: IndexMap) -> Self {
        Arg::Map(it)
    }
}
impl<T: Into<Arg> + Clone> From<&[T]> for Arg {
    fn from(all: &[T]) -> Self {
        Arg::List(all.iter().cloned().map(Into::into).collect())
    }
}
impl<T: Into<Arg>> From<Vec<T>> for Arg {
    fn from(all: Vec<T>) -> Self {
        Arg::List(all.into_iter().map(Into::into).collect())
    }
}

/// A map of indices, `|i, j| [i / 4, j, i % 4]`: floor division and remainder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexMap {
    /// The names of the indices it takes.
    pub params: Vec<Sym>,
    /// The indices it gives, over `params`.
    pub results: Vec<IntExpr>,
}

/// An argument, resolved: what a primitive works with.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    /// A block by its name.
    Block(String),
    /// A loop by its variable.
    Loop(VarId),
    /// A number.
    Int(i64),
    /// A real number.
    Real(f64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
    /// `_`: to be found, or an optional argument that was not given.
    Infer,
    /// Several.
    List(Vec<Value>),
    /// A map of indices.
    Map(IndexMap),
}

/// The resolved arguments of a call, one for each parameter. Their kinds were checked against the primitive's table.
pub(super) struct Args(pub(super) Vec<Value>);

impl Args {
    /// The value of parameter `n`.
    pub(super) fn get(&self, n: usize) -> &Value {
        self.0.get(n).unwrap_or(&Value::Infer)
    }
    /// The block of parameter `n`.
    pub(super) fn block(&self, n: usize) -> &str {
        match self.get(n) {
            Value::Block(name) => name,
            _ => "",
        }
    }
    /// The loop of parameter `n`.
    pub(super) fn loop_var(&self, n: usize) -> VarId {
        match self.get(n) {
            Value::Loop(var) => *var,
            _ => VarId(u32::MAX),
        }
    }
    /// The loops of the list of parameter `n`.
    pub(super) fn loops(&self, n: usize) -> Vec<VarId> {
        let one = |v: &Value| match v {
            Value::Loop(var) => Some(*var),
            _ => None,
        };
        self.list(n).iter().filter_map(one).collect()
    }
    /// The list of parameter `n`.
    pub(super) fn list(&self, n: usize) -> &[Value] {
        match self.get(n) {
            Value::List(all) => all,
            _ => &[],
        }
    }
    /// The number of parameter `n`, if it was given.
    pub(super) fn int(&self, n: usize) -> Option<i64> {
        match self.get(n) {
            Value::Int(it) => Some(*it),
            _ => None,
        }
    }
    /// The numbers of the list of parameter `n`.
    pub(super) fn ints(&self, n: usize) -> Vec<i64> {
        let one = |v: &Value| match v {
            Value::Int(it) => Some(*it),
            _ => None,
        };
        self.list(n).iter().filter_map(one).collect()
    }
    /// Whether parameter `n` was given as `true`.
    pub(super) fn flag(&self, n: usize) -> bool {
        matches!(self.get(n), Value::Bool(true))
    }
    /// The text of parameter `n`.
    pub(super) fn text(&self, n: usize) -> &str {
        match self.get(n) {
            Value::Text(text) => text,
            _ => "",
        }
    }
    /// The map of parameter `n`, if it was given.
    pub(super) fn map(&self, n: usize) -> Option<&IndexMap> {
        match self.get(n) {
            Value::Map(it) => Some(it),
            _ => None,
        }
    }
}
