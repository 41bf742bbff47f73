//! Expressions.

use super::{Block, Name, NodeId, Path, Pattern, Range};

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Its place.
    pub node: NodeId,
    /// What it is.
    pub kind: ExprKind,
}

/// The kinds of an [`Expr`].
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `1`, `1.0f16`, `true`; a text only as the value of a named attribute.
    Literal(Literal),
    /// A bare name: a parameter, dim, binding, constant, or (in a turbofish or `instances`) a dtype.
    Name(String),
    /// A path that is not called: `f32::INFINITY`, `i8::MAX`, `f32::consts::PI` (also from `std::` and `core::`, which
    /// are dropped). At least two segments.
    Path(Vec<String>),
    /// `-x`, `!x`.
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`, `a && b`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `x as i32`: the name of a dtype, of a generic parameter, `usize` or `isize`.
    Cast(Box<Expr>, Name),
    /// `(a, b)`, `(a,)`, `()`.
    Tuple(Vec<Expr>),
    /// `[H, W]`: a shape, indices, tensors to concatenate, the value of a constant.
    Array(Vec<Expr>),
    /// `0..K`, `..`: among the indices of a slice and as the range of a reduction.
    Range(Range),
    /// `x[[i, ..]]`; never empty.
    Element {
        /// `x`.
        tensor: Box<Expr>,
        /// One per axis; an [`ExprKind::Range`] keeps its axis.
        indices: Vec<Expr>,
    },
    /// `x.get_or([i, j], 0.0)` and the other total forms.
    Get {
        /// Which form.
        mode: GetMode,
        /// `x`.
        tensor: Box<Expr>,
        /// `[i, j]`, one per axis.
        indices: Vec<Expr>,
        /// `0.0`: given for [`GetMode::Or`] alone.
        default: Option<Box<Expr>>,
    },
    /// `softmax(x, axis = -1)`, `self::f(x, &mut s)`, `at(0, 1)`, `zeros::<u32>([256])`. `x.op(a)` is `op(x, a)`.
    Call(Call),
    /// `match_shape(e, [M, 4])`.
    MatchShape {
        /// `e`.
        value: Box<Expr>,
        /// `M` is bound unless known, anything else is checked.
        dims: Vec<Expr>,
    },
    /// `extern_call!(crate::dsp::smooth, x, 3)`.
    ExternCall {
        /// `crate::dsp::smooth`.
        path: Path,
        /// `x, 3`.
        args: Vec<Expr>,
    },
    /// `&mut s`, only as an argument.
    MutRef(Name),
    /// `|i, j| e`: the argument of a call, or the right side of a `let`.
    Closure {
        /// `i, j`; a tuple component by component.
        params: Vec<Pattern>,
        /// `e`; braces around an expression alone leave no trace.
        body: Box<Expr>,
    },
    /// `if c { a } else { b }`.
    If {
        /// `c`.
        condition: Box<Expr>,
        /// `{ a }`.
        then: Block,
        /// `{ b }`.
        otherwise: Option<Block>,
    },
    /// `{ let d = x - y; d * d }`.
    Block(Block),
    /// `unsafe { x.get_unchecked([i, j]) }`.
    Unsafe(Block),
    /// Refused, and reported.
    Error,
}

/// A call, by a bare name (a local closure or an operator) or by a path (a tensor function).
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// `softmax`, `self::f`.
    pub callee: Path,
    /// `<u32>`: names of dtypes, or constants for a `const` generic.
    pub turbofish: Vec<Expr>,
    /// The positional arguments.
    pub args: Vec<Expr>,
    /// The named attributes, all after the arguments, no name twice.
    pub named: Vec<NamedArg>,
}

/// A named attribute of a call: `axis = -1`.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArg {
    /// Its place.
    pub node: NodeId,
    /// `axis`.
    pub name: Name,
    /// `-1`.
    pub value: Expr,
}

/// What a `get` gives outside of the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetMode {
    /// `get_or`: the value given.
    Or,
    /// `get_clamped`: the nearest element.
    Clamped,
    /// `get_wrapped`: the element on the torus.
    Wrapped,
    /// `get_reflected`: the element mirrored at the edge, which is not repeated.
    Reflected,
    /// `get_unchecked`: the caller vouches for the indices.
    Unchecked,
}

impl GetMode {
    /// Every mode.
    pub const ALL: [GetMode; 5] =
        [GetMode::Or, GetMode::Clamped, GetMode::Wrapped, GetMode::Reflected, GetMode::Unchecked];

    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            GetMode::Or => "get_or",
            GetMode::Clamped => "get_clamped",
            GetMode::Wrapped => "get_wrapped",
            GetMode::Reflected => "get_reflected",
            GetMode::Unchecked => "get_unchecked",
        }
    }
}

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `true`.
    Bool(bool),
    /// `3`, `3u8`, `0xff`; a sign is a [`UnaryOp::Neg`] around it.
    Int {
        /// Its value.
        value: u128,
        /// `u8`, an integer dtype, `usize` or `isize`.
        suffix: Option<String>,
    },
    /// `1.0`, `1e-5`, `1.0f16`, `1f32`.
    Float {
        /// Decimal digits as written, without `_` and suffix: rounded once, to the dtype it takes.
        digits: String,
        /// `f16`, a float dtype.
        suffix: Option<String>,
    },
    /// `"reflect"`, only as the value of a named attribute.
    Text(String),
}

/// A unary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`.
    Neg,
    /// `!`.
    Not,
}

impl UnaryOp {
    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
        }
    }
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`.
    Add,
    /// `-`.
    Sub,
    /// `*`.
    Mul,
    /// `/`.
    Div,
    /// `%`.
    Rem,
    /// `&`.
    BitAnd,
    /// `|`.
    BitOr,
    /// `^`.
    BitXor,
    /// `<<`.
    Shl,
    /// `>>`.
    Shr,
    /// `==`.
    Eq,
    /// `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `&&`, of scalars, the right side only if needed.
    And,
    /// `||`, of scalars, the right side only if needed.
    Or,
}

impl BinaryOp {
    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
        }
    }
}
