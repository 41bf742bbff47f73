//! The operators that a user names: one entry each, with its name, operands, attributes, shape rule and texts.
//!
//! A bare name in a tensor function is looked up here ([`lookup`]). Names are NumPy's, else ONNX's in snake case.
//! An operator that works element by element has [`OpKind::Element`] and may also be called inside `compute`.

#[macro_use]
mod entry;

mod attention;
mod call;
mod check;
mod chosen;
mod compose;
mod create;
mod cumulative;
mod einsum;
mod element;
mod error;
mod fourier;
mod gather;
mod kernel;
mod linalg;
mod nn;
mod norm;
mod order;
mod phases;
mod pool;
mod random;
mod rearrange;
mod recurrent;
mod reduce;
mod resize;
mod shape;
mod transposed;
mod vision;
mod window;

use std::collections::BTreeMap;

use crate::arith::IntExpr;
use crate::op::ElementOp;
use crate::relax::{Builder, ValueId};
use crate::{DType, Scalar};

pub use call::check_call;
pub(crate) use call::float_attr;
pub(crate) use check::{computed, non_negative};
pub(crate) use error::count;
pub use error::{At, OpError, OpErrorKind, nearest, show_shape, show_tensor, show_type};

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
    /// Whether it takes a dtype in a turbofish.
    pub typed: bool,
    /// How it is built.
    pub kind: OpKind,
}

impl OpDef {
    /// A call of it, for texts: `softmax(x, axis = …)`.
    pub fn usage(&self) -> String {
        let turbofish = if self.typed { "::<f32>" } else { "" };
        format!("{}{turbofish}({})", self.name, self.signature)
    }
}

/// Every operator, family by family.
pub fn all() -> impl Iterator<Item = &'static OpDef> {
    let tables = [
        element::TABLE,
        crate::op::OPS,
        reduce::TABLE,
        nn::TABLE,
        pool::TABLE,
        transposed::TABLE,
        attention::TABLE,
        recurrent::TABLE,
        shape::TABLE,
        rearrange::TABLE,
        norm::TABLE,
        gather::TABLE,
        order::TABLE,
        chosen::TABLE,
        cumulative::TABLE,
        fourier::TABLE,
        window::TABLE,
        linalg::TABLE,
        einsum::TABLE,
        vision::TABLE,
        resize::TABLE,
        create::TABLE,
        random::TABLE,
    ];
    tables.into_iter().flatten()
}

/// The operator of that name.
pub fn lookup(name: &str) -> Option<&'static OpDef> {
    all().find(|def| def.name == name)
}

/// The operator that an unknown name most likely means: what another library calls it, else the nearest name.
pub fn suggest(name: &str) -> Option<&'static str> {
    let known = ELSEWHERE.iter().find(|(other, _)| *other == name).map(|(_, ours)| *ours);
    known.or_else(|| nearest(name, all().map(|def| def.name)))
}

/// Names of other libraries and what the operator is called here; where it is an operator of Rust, how to write it.
static ELSEWHERE: &[(&str, &str)] = &[
    ("absolute", "abs"),
    ("add", "a + b"),
    ("arccos", "acos"),
    ("arccosh", "acosh"),
    ("arcsin", "asin"),
    ("arcsinh", "asinh"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arctanh", "atanh"),
    ("adaptive_avg_pool2d", "adaptive_average_pool"),
    ("adaptive_max_pool2d", "adaptive_max_pool"),
    ("avg_pool", "average_pool"),
    ("avg_pool2d", "average_pool"),
    ("average_pool2d", "average_pool"),
    ("astype", "x as f32"),
    ("bmm", "matmul"),
    ("cast", "x as f32"),
    ("cat", "concat"),
    ("clamp", "clip"),
    ("concatenate", "concat"),
    ("conv1d", "conv"),
    ("conv2d", "conv"),
    ("conv3d", "conv"),
    ("conv_transpose2d", "conv_transpose"),
    ("divide", "a / b"),
    ("dot", "matmul"),
    ("equal", "a == b"),
    ("expand", "broadcast_to"),
    ("greater", "a > b"),
    ("greater_equal", "a >= b"),
    ("interpolate", "resize"),
    ("layer_norm", "layer_normalization"),
    ("layernorm", "layer_normalization"),
    ("less", "a < b"),
    ("less_equal", "a <= b"),
    ("logical_and", "a & b"),
    ("logical_not", "!a"),
    ("logical_or", "a | b"),
    ("logical_xor", "a ^ b"),
    ("max_pool2d", "max_pool"),
    ("mm", "matmul"),
    ("multiply", "a * b"),
    ("negative", "-a"),
    ("not_equal", "a != b"),
    ("ones_like", "ones::<f32>([N])"),
    ("permute", "transpose"),
    ("pixel_shuffle", "depth_to_space"),
    ("pixel_unshuffle", "space_to_depth"),
    ("pow", "power"),
    ("powf", "power"),
    ("powi", "power"),
    ("ravel", "reshape"),
    ("reduce_max", "max"),
    ("reduce_mean", "mean"),
    ("reduce_min", "min"),
    ("reduce_sum", "sum"),
    ("reverse", "flip"),
    ("scaled_dot_product_attention", "attention"),
    ("subtract", "a - b"),
    ("swish", "silu"),
    ("t", "transpose"),
    ("tile", "broadcast_to"),
    ("topk", "top_k"),
    ("unsqueeze", "expand_dims"),
    ("upsample", "resize"),
    ("view", "reshape"),
    ("where", "select"),
    ("zeros_like", "zeros::<f32>([N])"),
];

/// Emits a call of an operator: checks operands and attributes, gives literals their dtype, applies the shape rule.
pub fn apply(b: &mut Builder, def: &OpDef, call: &OpCall) -> Result<ValueId, OpError> {
    check_call(def, call)?;
    match def.kind {
        OpKind::Element(make) => {
            let op = make(call)?;
            let args = call::values(b, call, usize::from(op == ElementOp::Select))?;
            b.element(op, &args)
        }
        OpKind::Graph(build) => build(b, call),
    }
}
