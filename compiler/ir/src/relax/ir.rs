//! The data of relax, and its laws. Only declarations stand here.
//!
//! Laws (the verifier redoes each):
//! 1. Every binding's arguments have smaller ids than its result, so the order of ids is a topological order.
//! 2. A value is bound once: as a parameter or by one binding.
//! 3. A dataflow block holds pure bindings only; effects stand in effect blocks, in source order.
//! 4. A dim or index expression uses only symbols of [`Function::syms`] that are bound before it.
//! 5. `phase` only moves forward; a later phase forbids what its docs say.
//! 6. A region uses its own parameters and values bound before its binding; what it binds is seen in it alone. A
//!    binding's number is greater than every number in its regions.
//! 7. No function calls itself, neither directly nor through others.

use crate::arith::{Fact, IntExpr, Sym};
use crate::op::{ArgOp, ElementOp, ReduceOp};
use crate::{ConstId, DType, Loc, Scalar};

/// A value, printed `v7`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueId(pub u32);

/// Type of a tensor. Rank 0 is a scalar: `Tensor<f32>` and `f32` are one type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorType {
    /// Type of an element.
    pub dtype: DType,
    /// Extents; each is >= 0.
    pub shape: Vec<IntExpr>,
}

/// Type of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// A tensor or scalar.
    Tensor(TensorType),
    /// Several.
    Tuple(Vec<Type>),
    /// A shape of that rank as a value: extents that are known when the function runs.
    Shape(usize),
}

/// What a value is.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// The name in the user's source, else the operator's; for reports and block names.
    pub name: String,
    /// Where it comes from.
    pub loc: Loc,
    /// For integer tensors whose elements are known to lie in `lo..hi` (argmax, top_k, clip, …).
    pub range: Option<(IntExpr, IntExpr)>,
}

/// A symbol of a function: a named dim or an index value.
#[derive(Clone, Debug)]
pub struct SymDecl {
    /// Its name, unique in the function.
    pub sym: Sym,
    /// Where its value comes from.
    pub kind: SymKind,
    /// Where it was bound.
    pub loc: Loc,
}

/// Where a symbol's value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SymKind {
    /// A named dim, first bound by axis `axis` of parameter `param` (index into the user's parameter list).
    Dim {
        /// Index of the parameter.
        param: usize,
        /// Axis of it.
        axis: usize,
    },
    /// A parameter `n: usize` or `n: isize`; the `usize` one is >= 0.
    IndexParam {
        /// Index of the parameter in the user's list.
        param: usize,
        /// Whether it is `usize`.
        unsigned: bool,
    },
    /// The stride of an axis of a `Strided` parameter, in elements; made by the compiler.
    Stride {
        /// Index into [`Function::params`].
        param: usize,
        /// Axis of it.
        axis: usize,
    },
    /// Bound from a scalar integer value by [`Op::BindIndex`] or by [`Op::MatchShape`].
    Bound(ValueId),
    /// The variable of the [`Op::For`] that binds this value; known in its region only.
    Loop(ValueId),
}

/// Something checked once per call, before anything is written, and then known.
#[derive(Clone, Debug)]
pub struct FactDecl {
    /// The condition.
    pub fact: Fact,
    /// What the user wrote: the text of `assert!`, else the condition as written.
    pub text: String,
    /// Where.
    pub loc: Loc,
}

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// `Tensor<…>`: read only.
    Input,
    /// `Strided<…>`: read only, with a stride per axis.
    Strided,
    /// `&mut Tensor<…>`: read and updated.
    State,
    /// A scalar by value.
    Scalar,
}

/// A tensor or scalar parameter. Index parameters are symbols, not values.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its value at entry.
    pub value: ValueId,
    /// How it is passed.
    pub kind: ParamKind,
    /// Index in the user's parameter list.
    pub position: usize,
}

/// How far a function has come. Moves forward only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// As the front end or an importer made it.
    Imported,
    /// One op per binding, no nested tuples, callees inlined.
    Normalised,
    /// Normalised, and with the copies that memory needs: updates may write in place, and no copy may go.
    Materialised,
    /// Only `CallTir`, `Const`, `Tuple`, `TupleGet`, `Reshape` of contiguous values, `StoreState`.
    Legalised,
    /// Legalised, and every value has a place ([`Plan`]).
    Planned,
}

/// Whether a block's bindings are pure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockKind {
    /// Pure.
    Dataflow,
    /// Effects, in order.
    Effect,
}

/// A run of bindings.
#[derive(Clone, Debug)]
pub struct BindingBlock {
    /// Pure or not.
    pub kind: BlockKind,
    /// In order.
    pub bindings: Vec<Binding>,
}

/// `out = op(args)`, with the regions that some ops own.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The value it defines.
    pub out: ValueId,
    /// What it does.
    pub op: Op,
    /// Tensor operands.
    pub args: Vec<ValueId>,
    /// Of [`Op::If`] two, of [`Op::For`] one, of [`Op::While`] two, of every other op none.
    pub regions: Vec<Region>,
}

/// A part of the body that a binding runs: not at all, once, or again and again.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// Values that its binding hands in: what a loop carries.
    pub params: Vec<ValueId>,
    /// The body.
    pub blocks: Vec<BindingBlock>,
    /// What it hands back.
    pub results: Vec<ValueId>,
}

/// A window over spatial axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// Extent per spatial axis.
    pub kernel: Vec<i64>,
    /// Step per spatial axis.
    pub strides: Vec<i64>,
    /// Padding before each spatial axis, then after each (ONNX order).
    pub pads: Vec<i64>,
    /// Dilation per spatial axis.
    pub dilations: Vec<i64>,
}

impl Window {
    /// Number of elements from the first to the last that it touches along a spatial axis.
    pub fn reach(&self, axis: usize) -> i64 {
        (self.kernel[axis] - 1) * self.dilations[axis] + 1
    }
}

/// How a pool combines its window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PoolOp {
    /// Largest; padding never wins.
    Max,
    /// Mean.
    Average {
        /// Whether padding counts in the divisor.
        count_include_pad: bool,
    },
}

/// How `pad` fills.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PadMode {
    /// With the scalar operand.
    Constant,
    /// With the nearest element.
    Edge,
    /// Mirrored without the edge.
    Reflect,
    /// Periodic.
    Wrap,
}

/// One axis of a slice: `begin, begin + step, …`, `extent` of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SliceAxis {
    /// First index.
    pub begin: IntExpr,
    /// Number of indices.
    pub extent: IntExpr,
    /// Distance; not 0.
    pub step: i64,
}

/// Whose calling convention a function outside the module has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Linkage {
    /// A Rust function of the user's crate, which rustc checks.
    Rust,
    /// A C function, for which the user vouches.
    C,
}

/// A function outside the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Extern {
    /// Its path as the user's crate names it; of a C function, its name.
    pub path: String,
    /// Its convention.
    pub linkage: Linkage,
    /// The symbol that is called: of a Rust function, that of the shim which the attribute prints for this call. Empty
    /// as long as nobody has given it one, and for C functions, whose name is their symbol.
    pub symbol: String,
}

impl Extern {
    /// A function whose symbol is not known yet, or is its name.
    pub fn new(path: impl Into<String>, linkage: Linkage) -> Self {
        Extern { path: path.into(), linkage, symbol: String::new() }
    }

    /// What a linker looks for; none of a Rust function that has no symbol yet.
    pub fn link_name(&self) -> Option<&str> {
        match self.linkage {
            _ if !self.symbol.is_empty() => Some(&self.symbol),
            Linkage::C => Some(&self.path),
            Linkage::Rust => None,
        }
    }
}

/// What a binding does. Operands are in [`Binding::args`]; attributes are here.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// A constant tensor.
    Const(ConstId),
    /// A scalar literal.
    Scalar(Scalar),
    /// An index value as a scalar of a dtype (`pos as f32`).
    IndexValue {
        /// The value.
        expr: IntExpr,
        /// dtype of the result.
        dtype: DType,
    },
    /// Element by element, operands broadcast as in NumPy.
    Element(ElementOp),
    /// Reduction over axes (sorted, each in range).
    Reduce {
        /// How.
        op: ReduceOp,
        /// Over which axes.
        axes: Vec<usize>,
        /// Whether reduced axes stay with extent 1.
        keepdims: bool,
    },
    /// Index of an extreme along an axis, as i64.
    ArgReduce {
        /// Which extreme.
        op: ArgOp,
        /// Along which axis; `None` over all elements, flattened.
        axis: Option<usize>,
        /// Whether the axis stays with extent 1.
        keepdims: bool,
    },
    /// NumPy's matmul: batched, broadcasting, vectors allowed.
    MatMul,
    /// Softmax along an axis.
    Softmax {
        /// The axis.
        axis: usize,
        /// Whether its logarithm.
        log: bool,
    },
    /// ONNX BatchNormalization as in inference; operands x, scale, bias, mean and variance, the last four of one axis.
    BatchNorm {
        /// The axis of channels.
        axis: usize,
        /// Added to the variance.
        epsilon: crate::op::Real,
    },
    /// ONNX LayerNormalization over axes `axis..`; operands x, scale, and bias if present.
    LayerNorm {
        /// First normalised axis.
        axis: usize,
        /// Added to the variance.
        epsilon: crate::op::Real,
    },
    /// Another shape with as many elements.
    Reshape {
        /// The new shape.
        shape: Vec<IntExpr>,
    },
    /// Axes permuted: result axis `i` is operand axis `perm[i]`.
    Transpose {
        /// The permutation.
        perm: Vec<usize>,
    },
    /// NumPy's broadcast_to.
    BroadcastTo {
        /// The new shape.
        shape: Vec<IntExpr>,
    },
    /// Joined along an axis.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// A strided part. Axes in `drop` are removed from the result (they were indexed, not sliced).
    Slice {
        /// Per operand axis.
        axes: Vec<SliceAxis>,
        /// Operand axes that the result lacks.
        drop: Vec<usize>,
    },
    /// `dst` with a part replaced: operands dst, src (src has the slice's shape, or is a scalar).
    SliceUpdate {
        /// Per axis of dst.
        axes: Vec<SliceAxis>,
        /// Axes of dst that src lacks.
        drop: Vec<usize>,
    },
    /// Padding per axis; operands x and, for `PadMode::Constant`, a scalar.
    Pad {
        /// How.
        mode: PadMode,
        /// Before each axis.
        before: Vec<IntExpr>,
        /// After each axis.
        after: Vec<IntExpr>,
    },
    /// ONNX Conv; operands x, w and bias if present.
    Conv {
        /// Strides, pads, dilations; `kernel` repeats w's spatial extents.
        window: Window,
        /// Number of groups.
        group: i64,
        /// The order of the operands' axes.
        layout: super::ConvLayout,
    },
    /// ONNX MaxPool and AveragePool.
    Pool {
        /// How.
        op: PoolOp,
        /// Over what.
        window: Window,
        /// Whether the last, partial window counts.
        ceil_mode: bool,
        /// The order of the operand's axes.
        layout: super::DataLayout,
    },
    /// A tensor of one value; operand a scalar.
    Full {
        /// Its shape.
        shape: Vec<IntExpr>,
    },
    /// `start + i * step` along one axis of extent `extent`.
    Arange {
        /// First value.
        start: IntExpr,
        /// Distance.
        step: IntExpr,
        /// Number of values.
        extent: IntExpr,
        /// dtype of the result.
        dtype: DType,
    },
    /// A prim-func in destination-passing style. Operands are its input buffers in order; `syms` its index
    /// parameters; the results, of the types given, are its output buffers. One result is a tensor, several a tuple.
    /// `in_place[i] = Some(j)` lets result `i` use operand `j`'s memory (an inout buffer).
    CallTir {
        /// Name of the prim-func.
        func: String,
        /// Index arguments.
        syms: Vec<IntExpr>,
        /// Result types.
        results: Vec<TensorType>,
        /// Results that update an operand in place.
        in_place: Vec<Option<usize>>,
    },
    /// A call of another relax function of the module. State parameters' new values follow the results in the tuple.
    CallFn {
        /// Name of the function.
        func: String,
        /// Index arguments: values of the callee's `IndexParam` symbols, in their order.
        syms: Vec<IntExpr>,
        /// Type of the result.
        result: Type,
    },
    /// A pure function outside the module in destination-passing style: it reads the operands and fills the results,
    /// which come last. One result is a tensor, several a tuple.
    CallDps {
        /// The function.
        callee: Extern,
        /// Result types.
        results: Vec<TensorType>,
    },
    /// Effect: a function outside the module that may do anything. The value is the new values of the operands that
    /// it updates: one as itself, several or none as a tuple.
    CallPacked {
        /// The function.
        callee: Extern,
        /// Operands that it updates, in order.
        updates: Vec<usize>,
    },
    /// One of two regions: operand 0 is a scalar bool, region 0 runs if it is true, else region 1. The value is what
    /// the region hands back: one as itself, several or none as a tuple.
    If,
    /// Region 0 runs `extent` times (not at all if that is negative) with `var` at `begin`, `begin + step`, …. The
    /// operands are what is carried at first, its parameters what is carried, its results the next; the value is the
    /// last: one as itself, several or none as a tuple.
    For {
        /// Its variable, a [`SymKind::Loop`].
        var: Sym,
        /// First value.
        begin: IntExpr,
        /// Number of turns.
        extent: IntExpr,
        /// Distance; not 0.
        step: i64,
    },
    /// Region 1 runs as long as region 0, a scalar bool, holds. Both take what is carried; otherwise as [`Op::For`].
    While,
    /// The operand's shape as a value.
    ShapeOf,
    /// A shape of these extents.
    Shape {
        /// Extents.
        dims: Vec<IntExpr>,
    },
    /// A shape's extents as a tensor `i64[rank]`.
    ShapeToTensor,
    /// A tensor `i64[rank]` as a shape; a number below 0 is an error when the function runs.
    TensorToShape,
    /// Several values as one.
    Tuple,
    /// Component `0` of a tuple.
    TupleGet(usize),
    /// Binds a symbol to a scalar integer's value. An effect-free definition; the value is used through the symbol.
    BindIndex(Sym),
    /// Checks (and binds, where a symbol is `Bound` to this value) the shape of the operand, a tensor or a shape, at
    /// run time.
    MatchShape {
        /// The shape it must have.
        shape: Vec<IntExpr>,
    },
    /// What is typed, so that programs check, and refused by the build.
    Later {
        /// Name of the operator.
        name: String,
        /// Type of the result.
        result: Type,
    },
    /// Effect: the function ends with an error unless the fact holds; it is known from then on.
    Assert {
        /// The fact.
        fact: Fact,
        /// What does not hold, for the user.
        text: String,
    },
    /// Effect: state parameter `param` (index into [`Function::params`]) takes the operand's value.
    StoreState {
        /// Index into [`Function::params`].
        param: usize,
    },
}

/// Where a value lives once memory is planned.
#[derive(Clone, PartialEq, Debug)]
pub enum Place {
    /// In the buffer of parameter `0` (index into [`Function::params`]).
    Param(usize),
    /// In the buffer of result `0`.
    Result(usize),
    /// In the workspace.
    Workspace {
        /// First byte, a multiple of 64.
        offset: IntExpr,
        /// Size in bytes.
        bytes: IntExpr,
    },
    /// A constant.
    Const(ConstId),
    /// Nowhere: a tuple or a scalar held in a register.
    None,
}

/// The memory plan.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// By value id.
    pub places: Vec<Option<Place>>,
    /// Places of the components of calls with several results.
    pub tuples: std::collections::BTreeMap<ValueId, Vec<Place>>,
    /// Size of the workspace over the named dims.
    pub workspace: Option<IntExpr>,
    /// Its greatest value if every dim in it is bounded.
    pub workspace_bound: Option<u64>,
    /// Bytes of it that lie in each of the function's pools, one behind the other; none if it has no pools.
    pub pools: Vec<u64>,
}

/// A memory of its own among which the workspace is split.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolInfo {
    /// Its name.
    pub name: String,
    /// How much there is of it.
    pub bytes: u64,
    /// Where the source says so.
    pub loc: Loc,
}

/// A graph function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name in the module.
    pub name: String,
    /// Symbols, in the order in which the CPU convention passes them (dims and index parameters), then bound ones.
    pub syms: Vec<SymDecl>,
    /// Facts.
    pub facts: Vec<FactDecl>,
    /// Tensor and scalar parameters.
    pub params: Vec<Param>,
    /// All values.
    pub values: Vec<ValueData>,
    /// The body.
    pub blocks: Vec<BindingBlock>,
    /// What it returns, in the order of the user's tuple.
    pub results: Vec<ValueId>,
    /// Whether it is a group of kernels that will be one: private, and called by `call_fn` even where graphs call no
    /// others.
    pub primitive: bool,
    /// How far it has come.
    pub phase: Phase,
    /// Whether function passes that only optimise leave it alone.
    pub skip_optimization: bool,
    /// The memories of the workspace, the fastest first; none if it is one whose size is not limited.
    pub pools: Vec<PoolInfo>,
    /// Set by memory planning.
    pub plan: Option<Plan>,
}
