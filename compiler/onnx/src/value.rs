//! What a name of an ONNX graph stands for while the graph is walked.

use std::rc::Rc;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::ValueId;

use crate::elem::Elem;
use crate::tensor::TensorData;

/// A value of the walk.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Computed by the function.
    Node(ValueId, Elem),
    /// Known now.
    Known(Rc<TensorData>),
    /// Small integers, known as expressions over the dims.
    Ints(Rc<Ints>),
    /// An operand that was left out, or an optional without a value.
    None,
    /// What a node with an error gives: nothing more is said of it.
    Poison,
}

/// A small tensor of integers over the dims.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ints {
    /// Type of an element: int64 or int32.
    pub(crate) elem: Elem,
    /// Extents.
    pub(crate) shape: Vec<usize>,
    /// Elements, row-major.
    pub(crate) values: Vec<IntExpr>,
}

impl Ints {
    /// A vector of int64.
    pub(crate) fn vector(values: Vec<IntExpr>) -> Self {
        Ints { elem: Elem::Int64, shape: vec![values.len()], values }
    }
}

impl From<Ints> for Value {
    fn from(ints: Ints) -> Self {
        Value::Ints(Rc::new(ints))
    }
}

impl From<TensorData> for Value {
    fn from(data: TensorData) -> Self {
        Value::Known(Rc::new(data))
    }
}

/// Why a node is not converted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// This is wrong with it.
    Message(String),
    /// The value of these inputs must be known.
    Wanted(Vec<String>),
    /// An operand comes from a node with an error.
    Poison,
}

pub(crate) type Outcome<T> = Result<T, Fault>;

/// A fault with a text.
pub(crate) fn fault<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Fault::Message(text.into()))
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Fault::Message(text)
    }
}

impl From<tenfold_ir::ops::OpError> for Fault {
    fn from(error: tenfold_ir::ops::OpError) -> Self {
        Fault::Message(error.message)
    }
}
