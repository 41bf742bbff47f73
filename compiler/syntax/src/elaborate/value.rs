//! What an expression of the language is worth while the program is being built.

use std::rc::Rc;

use tenfold_ir::Scalar;
use tenfold_ir::arith::{Fact, IntExpr};
use tenfold_ir::ops::Literal;
use tenfold_ir::relax::ValueId;
use tenfold_ir::tir::{BufId, ExprId};

use crate::ast::{Expr, NodeId, Pattern};

/// The value of an expression.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    /// Erroneous, and reported: nothing more is said about it.
    Unknown,
    /// `()`.
    Unit,
    /// An index value.
    Index(IntExpr),
    /// A literal without suffix that has met nothing yet.
    Literal(Literal),
    /// A scalar whose value and dtype are known.
    Fixed(Scalar),
    /// A text, of a named attribute.
    Text(String),
    /// A tensor or scalar of the graph.
    Tensor(ValueId),
    /// A scalar of the kernel being built.
    Scalar(ExprId),
    /// Several.
    Tuple(Vec<Value<'a>>),
    /// `[a, b]`: a shape, indices or tensors.
    Array(Vec<Value<'a>>),
    /// `|i, j| e`.
    Closure(Rc<Closure<'a>>),
}

impl Value<'_> {
    /// Whether it or a component is unknown.
    pub(super) fn is_unknown(&self) -> bool {
        match self {
            Value::Unknown => true,
            Value::Tuple(items) | Value::Array(items) => items.iter().any(Value::is_unknown),
            Value::Unit
            | Value::Index(_)
            | Value::Literal(_)
            | Value::Fixed(_)
            | Value::Text(_)
            | Value::Tensor(_)
            | Value::Scalar(_)
            | Value::Closure(_) => false,
        }
    }
}

/// A closure with what it sees.
#[derive(Debug)]
pub(super) struct Closure<'a> {
    /// Its place.
    pub(super) node: NodeId,
    /// `i, j`.
    pub(super) params: &'a [Pattern],
    /// `e`.
    pub(super) body: &'a Expr,
    /// The names where it stands.
    pub(super) names: Names,
}

/// Names in scope, the innermost last, and the variables they mean.
pub(super) type Names = Vec<(String, usize)>;

/// What a condition says of index values.
#[derive(Clone, Debug, Default)]
pub(super) struct Cond {
    /// What holds if it is true.
    pub(super) yes: Option<Fact>,
    /// What holds if it is false.
    pub(super) no: Option<Fact>,
}

impl Cond {
    /// A condition that is exactly this fact.
    pub(super) fn exactly(fact: Fact) -> Cond {
        Cond { no: Some(fact.negate()), yes: Some(fact) }
    }

    /// `!c`.
    pub(super) fn not(self) -> Cond {
        Cond { yes: self.no, no: self.yes }
    }

    /// `a && b`.
    pub(super) fn and(self, other: Cond) -> Cond {
        let yes = match (self.yes, other.yes) {
            (Some(a), Some(b)) => Some(Fact::And(vec![a, b])),
            (one, None) | (None, one) => one,
        };
        let no = self.no.zip(other.no).map(|(a, b)| Fact::Or(vec![a, b]));
        Cond { yes, no }
    }

    /// `a || b`.
    pub(super) fn or(self, other: Cond) -> Cond {
        self.not().and(other.not()).not()
    }
}

/// A variable of the program.
#[derive(Clone, Debug)]
pub(super) struct Variable<'a> {
    /// Its name.
    pub(super) name: String,
    /// Where it was bound.
    pub(super) node: NodeId,
    /// What it is.
    pub(super) kind: VariableKind,
    /// Its value now; if it has a cell, one of the same type.
    pub(super) value: Value<'a>,
    /// Where it lives while a loop over elements is walked.
    pub(super) cell: Option<Cell>,
}

/// Locals of a kernel that hold a variable.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    /// A scalar.
    Scalar(BufId),
    /// An index value, as an `i64`.
    Index(BufId),
    /// Several.
    Tuple(Vec<Cell>),
}

/// What a [`Variable`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VariableKind {
    /// `let x`, a parameter, a loop variable.
    Fixed,
    /// `let mut x`.
    Mutable,
    /// `s: &mut Tensor<…>`.
    State,
}
