//! The operators that a user names: one entry each, with its name, operands, attributes, shape rule and texts.
//!
//! A bare name in a tensor function is looked up here ([`lookup`]). Names are NumPy's, else ONNX's in snake case.
//! An operator that works element by element has [`OpKind::Element`] and may also be called inside `compute`.

use std::collections::BTreeMap;

use crate::arith::IntExpr;
use crate::op::ElementOp;
use crate::relax::{Builder, ValueId};
use crate::{DType, Scalar};

/// An operand or shape, as the front end hands it over.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A tensor or scalar.
    Value(ValueId),
    /// A shape: `[B, 64]`.
    Shape(Vec<IntExpr>),
    /// An index value.
    Index(IntExpr),
    /// A list of tensors: `[a, b]`, of `concat` and `stack`.
    List(Vec<ValueId>),
    /// A literal without suffix that has met nothing yet; the operator decides its dtype.
    Literal(Literal),
}

/// A literal without suffix.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Literal {
    /// An integer, with its sign.
    Int(i128),
    /// A float.
    Float(f64),
}

/// Value of a named attribute, known at build time.
#[derive(Clone, PartialEq, Debug)]
pub enum AttrValue {
    /// An integer or index expression.
    Int(IntExpr),
    /// A float.
    Float(f64),
    /// A bool.
    Bool(bool),
    /// A list.
    List(Vec<AttrValue>),
    /// A word in quotes (`mode = "edge"`).
    Text(String),
    /// A typed scalar.
    Scalar(Scalar),
}

/// A call of an operator.
#[derive(Clone, Debug, Default)]
pub struct OpCall {
    /// Positional operands.
    pub args: Vec<Arg>,
    /// Named attributes.
    pub attrs: BTreeMap<String, AttrValue>,
    /// `zeros::<f32>`.
    pub dtype: Option<DType>,
}

/// Which part of a call an error is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum At {
    /// The call as a whole.
    Call,
    /// Positional operand `0`.
    Arg(usize),
    /// A named attribute.
    Attr(String),
}

/// What kind of mistake it is; the front end maps it to a code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OpErrorKind {
    /// Too few or too many operands.
    Arity,
    /// An operand of the wrong sort (a shape for a tensor, …).
    Operand,
    /// A dtype that the operator does not take, or operands that disagree.
    DType,
    /// Wrong rank.
    Rank,
    /// Shapes that do not broadcast.
    Broadcast,
    /// Extents that are not (provably) equal.
    Dims,
    /// An unknown, missing or ill-valued attribute.
    Attribute,
    /// An axis outside the rank.
    Axis,
    /// An extent that must be proven non-empty, or a range not proven inside.
    Range,
    /// Known to the language, not compiled yet.
    Unsupported,
}

/// A mistake in a call of an operator: expected, found, next step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpError {
    /// Where.
    pub at: At,
    /// What kind.
    pub kind: OpErrorKind,
    /// What was expected and found.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Another operand to point at (where the other dim or dtype came from), with a text.
    pub also: Option<(At, String)>,
}

/// A named attribute of an operator.
#[derive(Clone, Copy, Debug)]
pub struct AttrDef {
    /// Its name.
    pub name: &'static str,
    /// Its type and default, for docs: `int = -1`.
    pub ty: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// Makes the relax bindings of a call, or says what is wrong with it.
pub type BuildFn = fn(&mut Builder, &OpCall) -> Result<ValueId, OpError>;
/// Makes the element operator of a call from its attributes.
pub type ElementFn = fn(&OpCall) -> Result<ElementOp, OpError>;

/// How an operator is built.
#[derive(Clone, Copy, Debug)]
pub enum OpKind {
    /// Element by element: also allowed on scalars inside `compute`.
    Element(ElementFn),
    /// On whole tensors.
    Graph(BuildFn),
    /// Part of the language, compiled by a later version; the text names what it is.
    Later(&'static str),
}

/// One operator.
#[derive(Clone, Copy, Debug)]
pub struct OpDef {
    /// The name a user writes.
    pub name: &'static str,
    /// The ONNX operator that settles what is left open; empty if none.
    pub onnx: &'static str,
    /// Positional operands, as in a signature: `x, shape`.
    pub signature: &'static str,
    /// Least and greatest number of positional operands.
    pub arity: (usize, usize),
    /// Named attributes.
    pub attrs: &'static [AttrDef],
    /// One or two sentences, and the equation.
    pub doc: &'static str,
    /// How it is built.
    pub kind: OpKind,
}
