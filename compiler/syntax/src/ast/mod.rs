//! The tree of one tensor function, as written.
//!
//! The tree is data: it holds [node numbers](NodeId) and no places, so equal functions are equal trees wherever they
//! stand. Parentheses, invisible groups, comments, doc comments and trailing commas leave no trace. Names are in NFC
//! and without `r#`.
//!
//! Nothing here is resolved. The tree does not know which names are dims, closures or operators, what dtypes there
//! are, or what an operator takes: that is the elaborator's. Where the source was refused, an `Error` variant stands
//! in for it: its diagnostic is already reported, and it has an unknown type of which nothing more is to be said.

mod expr;
mod schedule;

use std::fmt;

pub use expr::{BinaryOp, Call, Expr, ExprKind, GetMode, Literal, NamedArg, UnaryOp};
pub use schedule::{Schedule, ScheduleArg, ScheduleArgKind, ScheduleBind, ScheduleStep};

/// Number of a node, in pre-order of the parsed source. [`NodeId::FUNCTION`] is the function's name, the place of
/// errors about the whole function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The function's name.
    pub const FUNCTION: NodeId = NodeId(0);
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An identifier with its place: `x`, `B`, `f32`, `axis`.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// Its place.
    pub node: NodeId,
    /// In NFC and without `r#`.
    pub text: String,
}

/// A string literal with its place: `"weights/digits.safetensors"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Its place.
    pub node: NodeId,
    /// What stands between the quotes, escapes resolved.
    pub value: String,
}

/// A path with its place: `self::fft_stage`, `crate::dsp::smooth`, `f32::consts::PI`.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Its place, from the first segment to the last.
    pub node: NodeId,
    /// `["crate", "dsp", "smooth"]`; never empty.
    pub segments: Vec<String>,
}

impl Path {
    /// The name, if the path is one name alone.
    pub fn name(&self) -> Option<&str> {
        match self.segments.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.segments.join("::"))
    }
}

/// One tensor function.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorFn {
    /// `fn digits`; its node is [`NodeId::FUNCTION`].
    pub name: Name,
    /// `#[tensor_fn(…)]`.
    pub attributes: Attributes,
    /// `#[schedule(…)]`, in source order.
    pub schedules: Vec<Schedule>,
    /// `<T, const K: usize>`.
    pub generics: Vec<Generic>,
    /// `(x: Tensor<f32, B, 64>, …)`.
    pub params: Vec<Param>,
    /// `-> Tensor<f32, B, 10>`; none for `()`.
    pub result: Option<Type>,
    /// None for a model: `fn net(x: …) -> …;`.
    pub body: Option<Block>,
}

/// What stands in `#[tensor_fn(…)]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    /// `dims(K = 8, B <= 64, N % 8 == 0)`.
    pub dims: Vec<Fact>,
    /// `workspace <= "64K"`, `weights <= "256K"`, `stack <= "2K"`.
    pub budgets: Vec<Budget>,
    /// `pool(dtcm = "64K", psram = "8M")`, in source order.
    pub pools: Vec<Pool>,
    /// `params(w1, b1 = "fc1.bias")`, in source order.
    pub params: Vec<LoadedParam>,
    /// `weights(section = ".qspi")`.
    pub weights_section: Option<Text>,
    /// `numerics = "strict"`.
    pub numerics: Option<Text>,
    /// `precision = "bf16"`.
    pub precision: Option<Text>,
    /// `targets("cpu", "spirv")`.
    pub targets: Vec<Text>,
    /// `onnx = "net.onnx"`, `tflite = "net.tflite"`.
    pub model: Option<Model>,
    /// `T = [f32, f16]`, `K = [3, 5]`.
    pub instances: Vec<Instances>,
    /// `crate = other::tenfold`: how the runtime is called in the user's crate.
    pub krate: Option<Path>,
    /// `module = name`: the name of the emitted module.
    pub module: Option<Name>,
}

impl Attributes {
    /// The targets that are devices: all but the processor that calls.
    pub fn devices(&self) -> impl Iterator<Item = &Text> {
        self.targets.iter().filter(|target| target.value != CPU)
    }
}

/// The target that every function has: the processor that calls.
pub const CPU: &str = "cpu";

/// A fact about dims and scalar parameters, from `dims(…)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Its place.
    pub node: NodeId,
    /// Which form it has.
    pub kind: FactKind,
}

/// The forms of a [`Fact`].
#[derive(Clone, Debug, PartialEq)]
pub enum FactKind {
    /// `K = 8`: the dim is this everywhere.
    Fixed(Name, Expr),
    /// `B <= 64`, `N % 8 == 0`: checked at the call.
    Holds(Expr),
}

/// `workspace <= "64K"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Its place.
    pub node: NodeId,
    /// What it bounds.
    pub of: BudgetOf,
    /// The bound.
    pub limit: Size,
}

/// What a [`Budget`] bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetOf {
    /// `workspace`.
    Workspace,
    /// `weights`.
    Weights,
    /// `stack`.
    Stack,
}

impl BudgetOf {
    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            BudgetOf::Workspace => "workspace",
            BudgetOf::Weights => "weights",
            BudgetOf::Stack => "stack",
        }
    }
}

/// A number of bytes: `"64K"`, `"8M"`, `"512"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// Its place.
    pub node: NodeId,
    /// `K` is 1024, `M` 1024², `G` 1024³.
    pub bytes: u64,
}

/// A memory of the workspace: `dtcm = "64K"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Its place.
    pub node: NodeId,
    /// `dtcm`.
    pub name: Name,
    /// `"64K"`.
    pub size: Size,
}

/// A parameter that is read from a file of weights when the program runs: `b1 = "fc1.bias"`.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedParam {
    /// Its place.
    pub node: NodeId,
    /// `b1`.
    pub name: Name,
    /// `"fc1.bias"`, the tensor in the file; the parameter's own name if there is none.
    pub tensor: Option<Text>,
}

/// A model file: `onnx = "net.onnx"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its place.
    pub node: NodeId,
    /// `onnx` or `tflite`.
    pub format: ModelFormat,
    /// `"net.onnx"`, from the package root.
    pub file: Text,
}

/// The formats of a [`Model`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFormat {
    /// `onnx = "…"`.
    Onnx,
    /// `tflite = "…"`.
    Tflite,
}

impl ModelFormat {
    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            ModelFormat::Onnx => "onnx",
            ModelFormat::Tflite => "tflite",
        }
    }
}

/// The values of a generic parameter: `T = [f32, f16]`, `K = [3, 5]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Instances {
    /// Its place.
    pub node: NodeId,
    /// `T`.
    pub name: Name,
    /// [`ExprKind::Name`] for a dtype, a literal for a constant.
    pub values: Vec<Expr>,
}

/// A generic parameter: `T` or `const K: usize`.
#[derive(Clone, Debug, PartialEq)]
pub struct Generic {
    /// Its place.
    pub node: NodeId,
    /// `T`, `K`.
    pub name: Name,
    /// Which of the two.
    pub kind: GenericKind,
}

/// The kinds of a [`Generic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenericKind {
    /// `T`: a dtype.
    Dtype,
    /// `const K: usize`: an index constant.
    Const,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its place: name and type.
    pub node: NodeId,
    /// `x`.
    pub name: Name,
    /// Input or state.
    pub passing: Passing,
    /// The type, without the `&mut` of a state.
    pub ty: Type,
}

/// How a [`Param`] is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// `x: Tensor<…>`, `k: f32`: read only.
    Input,
    /// `s: &mut Tensor<…>`: read and updated in place.
    State,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// Its place.
    pub node: NodeId,
    /// What it is.
    pub kind: TypeKind,
}

/// The kinds of a [`Type`].
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `Tensor<f32, B, 64>`, `Strided<f32, H, { W - 2 }>`.
    Tensor(TensorType),
    /// A bare name: a dtype (`f32`, `T`), `usize` or `isize`.
    Scalar(String),
    /// `(Tensor<f32, K, D>, Tensor<i32, N>)`, in results and annotations.
    Tuple(Vec<Type>),
    /// Refused, and reported.
    Error,
}

/// `Tensor<f32, B, 64>`.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorType {
    /// `Tensor` or `Strided`.
    pub layout: Layout,
    /// `f32`, or the name of a generic parameter.
    pub dtype: Name,
    /// Each a literal, a name, or the `e` of `{ e }`.
    pub dims: Vec<Expr>,
}

/// How the elements of a [`TensorType`] lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `Tensor`: row-major, without gaps.
    Dense,
    /// `Strided`: a stride per axis.
    Strided,
}

impl Layout {
    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Dense => "Tensor",
            Layout::Strided => "Strided",
        }
    }
}

/// `{ let d = x - y; d * d }`: a function's body, a branch, the body of a loop. An `else if` is an `else` with a block
/// around that `if`.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its place, braces included.
    pub node: NodeId,
    /// In source order.
    pub stmts: Vec<Stmt>,
    /// The last expression, if it stands without `;` and has a value: an `if` or a block whose branches end in no
    /// value is the last of `stmts` instead.
    pub value: Option<Box<Expr>>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// Its place.
    pub node: NodeId,
    /// What it does.
    pub kind: StmtKind,
}

/// The kinds of a [`Stmt`].
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `let mut y: Tensor<f32, N> = x;`, `let (u, v) = (a - c, b - d);`, `let at = |di, dj| …;`.
    Let {
        /// What is bound.
        pattern: Pattern,
        /// `: Tensor<f32, N>`, to be proven.
        ty: Option<Type>,
        /// The right side.
        value: Expr,
    },
    /// `const W: Tensor<f32, 64, 32> = safetensors!("file", "name");`, seen in the whole block.
    Const {
        /// `W`.
        name: Name,
        /// `Tensor<f32, 64, 32>`.
        ty: Type,
        /// Where its value comes from.
        source: ConstSource,
    },
    /// `assert!(pos < S, "text");`: only among the first statements of a function.
    Assert {
        /// `pos < S`.
        condition: Expr,
        /// `"text"`.
        text: Option<Text>,
    },
    /// `x = e;`, `x[[i, j]] += e;`, `(a, b) = (b, a);`.
    Assign {
        /// The left side.
        target: Target,
        /// `+` of `+=`; never a comparison, `&&` or `||`.
        op: Option<BinaryOp>,
        /// The right side, evaluated first.
        value: Expr,
    },
    /// `for i in (a..b).rev() { … }`.
    For {
        /// Under `#[unroll]`.
        unroll: bool,
        /// `i` or `_`; never a tuple, never `mut`.
        variable: Pattern,
        /// `a..b`, both ends given.
        range: Range,
        /// The body, without a value.
        body: Block,
    },
    /// `while c { … }`.
    While {
        /// `c`.
        condition: Expr,
        /// The body, without a value.
        body: Block,
    },
    /// An expression for its effect: `if` without a value, a block, `extern_call!(…);`, `self::f(&mut s);`.
    Expr(Expr),
    /// Refused, and reported. A name that it would have bound is unknown.
    Error,
}

/// Where the value of a `const` comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstSource {
    /// `safetensors!("file", "name")`.
    Safetensors {
        /// `"file"`, from the package root.
        file: Text,
        /// `"name"`, of the tensor in the file.
        tensor: Text,
    },
    /// `npz!("file", "name")`.
    Npz {
        /// `"file"`, from the package root.
        file: Text,
        /// `"name"`, of the array in the file.
        tensor: Text,
    },
    /// `npy!("file")`.
    Npy {
        /// `"file"`, from the package root.
        file: Text,
    },
    /// `[0.135, 0.607]`, `1e-5`, `hann_window(512)`.
    Value(Expr),
}

/// What a `let`, a closure or a `for` binds.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Its place.
    pub node: NodeId,
    /// What it binds.
    pub kind: PatternKind,
}

/// The kinds of a [`Pattern`].
#[derive(Clone, Debug, PartialEq)]
pub enum PatternKind {
    /// `x`, `mut x`.
    Name {
        /// `x`.
        name: String,
        /// Under `mut`.
        mutable: bool,
    },
    /// `_`.
    Ignore,
    /// `(a, mut b)`.
    Tuple(Vec<Pattern>),
    /// Refused, and reported.
    Error,
}

/// The left side of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its place.
    pub node: NodeId,
    /// What is assigned to.
    pub kind: TargetKind,
}

/// The kinds of a [`Target`].
#[derive(Clone, Debug, PartialEq)]
pub enum TargetKind {
    /// `x`.
    Name(String),
    /// `x[[i, ..]]`.
    Element {
        /// `x`.
        tensor: Name,
        /// One per axis; an [`ExprKind::Range`] keeps its axis.
        indices: Vec<Expr>,
    },
    /// `(keys[[.., pos, ..]], b)`.
    Tuple(Vec<Target>),
    /// `_`.
    Ignore,
    /// Refused, and reported.
    Error,
}

/// `a..b`, `1..`, `..`, `(0..N).step_by(2)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// Its place, with the steps.
    pub node: NodeId,
    /// `a`.
    pub start: Option<Box<Expr>>,
    /// `b`, not part of the range.
    pub end: Option<Box<Expr>>,
    /// Applied from first to last: `(0..N).rev().step_by(2)` begins at `N - 1`.
    pub steps: Vec<RangeStep>,
}

/// A method on a [`Range`].
#[derive(Clone, Debug, PartialEq)]
pub enum RangeStep {
    /// `.rev()`.
    Rev,
    /// `.step_by(e)`.
    StepBy(Expr),
}
