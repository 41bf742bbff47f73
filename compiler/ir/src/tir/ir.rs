//! The data of tir, and its laws. Only declarations stand here.
//!
//! Statements are a tree, expressions a pure DAG in one arena per function (equal expressions have equal ids).
//! A statement evaluates its expressions afresh, in order; a shared id never means a reused load.
//!
//! Laws (the verifier redoes each):
//! 1. Every variable is bound before it is used, once, and its name is unique in the function.
//! 2. Every index of a [`Access::Proven`] access lies inside its axis: from the ranges of loops and blocks, the
//!    function's facts, the conditions of enclosing `If` statements and expressions, buffers' value ranges, dtypes.
//! 3. Operands agree in type as each operator says; indices have type [`Elem::Index`] or an integer dtype.
//! 4. Every output buffer is written over its whole shape; no input buffer is written.
//! 5. `phase` only moves forward; a later phase forbids what its docs say.

use std::collections::BTreeSet;

use super::{Annotation, Intrinsic};
use crate::arith::{Fact, IntExpr, Sym};
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::{ConstId, DType, Loc, Scalar};

/// An expression, printed inline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExprId(pub u32);
/// A variable, printed by its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VarId(pub u32);
/// A buffer, printed by its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BufId(pub u32);

/// What a scalar (or each lane of a vector) is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Elem {
    /// An element dtype.
    Scalar(DType),
    /// An index value: signed 64 bits. `NarrowDataType` makes an `i32` of it where the range is proven.
    Index,
}

/// Type of an expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ty {
    /// Of a lane.
    pub elem: Elem,
    /// 1 for a scalar.
    pub lanes: u16,
}

impl Ty {
    /// A scalar of `dtype`.
    pub fn scalar(dtype: DType) -> Self {
        Ty { elem: Elem::Scalar(dtype), lanes: 1 }
    }
    /// An index value.
    pub fn index() -> Self {
        Ty { elem: Elem::Index, lanes: 1 }
    }
    /// One `bool`.
    pub fn bool() -> Self {
        Ty::scalar(DType::Bool)
    }
}

/// A variable: parameter, loop variable, block iterator or `let`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VarData {
    /// Its name; also its symbol in [`IntExpr`]s.
    pub sym: Sym,
    /// Its type.
    pub ty: Ty,
}

/// Where a buffer lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// A parameter.
    Param,
    /// Memory of a [`Stmt::Alloc`] that the memory plan places in the workspace.
    Global,
    /// A few elements on the stack or in registers: accumulators.
    Local,
    /// Memory of a GPU thread block.
    Shared,
    /// Memory of a GPU thread block whose size the launch says.
    SharedDyn,
    /// Memory that the threads of a warp share, spread over their registers.
    Warp,
    /// A view that a block's [`MatchBuffer`] makes of a part of another buffer.
    View,
    /// A constant of the module.
    Const(ConstId),
    /// A part of the workspace, at this byte offset: only in the entry function.
    Workspace,
}

/// Where threads wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Barrier {
    /// What they share: [`Scope::Shared`], [`Scope::SharedDyn`] or [`Scope::Warp`].
    pub scope: Scope,
    /// Copies by [`Intrinsic::CopyAsync`] begun behind the barrier so many before this one may be on their way: with 0 none.
    pub leaves: u8,
}

impl From<Scope> for Barrier {
    fn from(scope: Scope) -> Self {
        Barrier { scope, leaves: 0 }
    }
}

/// How a parameter buffer is used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufUse {
    /// Read only.
    In,
    /// Written over its whole shape; holds nothing at entry.
    Out,
    /// Read and written.
    InOut,
}

/// A buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufferData {
    /// Its name, unique among the function's buffers.
    pub name: String,
    /// Type of an element.
    pub dtype: DType,
    /// Extents over the function's index variables.
    pub shape: Vec<IntExpr>,
    /// Distance per axis in elements; `None` is row-major without gaps.
    pub strides: Option<Vec<IntExpr>>,
    /// Where it lives.
    pub scope: Scope,
    /// Byte offset for [`Scope::Workspace`].
    pub offset: Option<IntExpr>,
    /// For integer buffers whose elements lie in `lo..hi`.
    pub range: Option<(IntExpr, IntExpr)>,
}

impl BufferData {
    /// Bytes of its elements, if all extents are constants whose product is no larger than an `i64`.
    pub fn bytes(&self) -> Option<i64> {
        let element = self.dtype.size_bytes() as i64;
        self.shape.iter().try_fold(element, |bytes, extent| bytes.checked_mul(extent.as_const()?))
    }

    /// The symbols of its extents, its strides and the range of its elements.
    pub fn symbols(&self) -> BTreeSet<Sym> {
        let range = self.range.iter().flat_map(|(lo, hi)| [lo, hi]);
        let all = self.shape.iter().chain(self.strides.iter().flatten()).chain(range);
        all.flat_map(IntExpr::vars).collect()
    }
}

/// Whether an access needs a proof.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// The verifier can redo the proof.
    Proven,
    /// The user vouched for it (`get_unchecked`).
    Unchecked,
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// A literal of an element dtype.
    Const(Scalar),
    /// A literal index.
    Index(i64),
    /// A variable.
    Var(VarId),
    /// One operand.
    Unary(UnaryOp, ExprId),
    /// Two operands of one type. On indices: Add Sub Mul Div Rem DivEuclid RemEuclid Min Max Shl Shr And Or Xor.
    Binary(BinaryOp, ExprId, ExprId),
    /// Two operands of one type, giving bool.
    Compare(CmpOp, ExprId, ExprId),
    /// `cond ? a : b`; only the branch taken is evaluated. `and`, `or` of the language are this too.
    If(ExprId, ExprId, ExprId),
    /// Both evaluated, one chosen.
    Select(ExprId, ExprId, ExprId),
    /// Conversion as Rust's `as`; `Elem::Index` converts by value (as i64).
    Cast(Ty, ExprId),
    /// An element.
    Load {
        /// From here.
        buf: BufId,
        /// One index per axis (one flat index on flat tir).
        index: Vec<ExprId>,
        /// Proven or vouched for.
        access: Access,
    },
    /// Another function; the type is the result's.
    Call(Intrinsic, Vec<ExprId>, Ty),
    /// `base, base + stride, …`.
    Ramp(ExprId, ExprId, u16),
    /// One value in every lane.
    Broadcast(ExprId, u16),
    /// Lanes picked by number from the lanes of all operands behind one another: takes apart, puts together, reorders.
    Shuffle(Vec<ExprId>, Vec<u16>),
}

/// How a loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LoopKind {
    /// In order.
    Serial,
    /// In order, but what iterations accumulate by `buf[i] = buf[i] op e` may be taken in any order, floats included
    /// unless the function is strict: a reduction of the language, never a `fold` or a loop of the user.
    Reduction,
    /// Iterations are independent and may run on threads.
    Parallel,
    /// One vector operation.
    Vectorized,
    /// Copied out.
    Unrolled,
    /// Bound to a thread axis.
    ThreadBound(ThreadAxis),
    /// Virtual threads: run as one thread, their statements interleaved (`InjectVirtualThread`).
    VThread,
}

/// A thread axis of a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ThreadAxis {
    /// Thread block x, y, z.
    Block(u8),
    /// Thread x, y, z.
    Thread(u8),
}

/// What a block's iteration variable is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IterKind {
    /// Each value writes its own elements.
    Spatial,
    /// Values accumulate into the same elements; order does not matter.
    Reduce,
    /// Values must run in order.
    Ordered,
}

/// An iteration variable of a block, `0..extent`, bound to `value` of the surrounding loops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IterVar {
    /// The variable.
    pub var: VarId,
    /// Its extent.
    pub extent: ExprId,
    /// Its kind.
    pub kind: IterKind,
    /// What it is bound to.
    pub value: ExprId,
}

/// A rectangle of a buffer: `begin..begin + extent` per axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The buffer.
    pub buf: BufId,
    /// Begin and extent per axis.
    pub ranges: Vec<(ExprId, ExprId)>,
}

/// A view of a region for the life of a block: `match view = region`.
///
/// The view has the region's extents along its own axes; leading axes of the region that it lacks have extent 1. Its
/// distances are those of the region's buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchBuffer {
    /// The view, of [`Scope::View`].
    pub view: BufId,
    /// What it is a view of.
    pub region: Region,
}

/// TensorIR's block.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// Its name, unique in the function: after the user's `let`, or the function.
    pub name: String,
    /// Iteration variables.
    pub iters: Vec<IterVar>,
    /// What it reads. Empty regions are computed by analysis when needed.
    pub reads: Vec<Region>,
    /// What it writes.
    pub writes: Vec<Region>,
    /// Runs where every reduce variable is at 0, so whoever makes the block proves that no reduce extent is 0.
    pub init: Option<Stmt>,
    /// Only instances for which this holds run.
    pub predicate: Option<ExprId>,
    /// Buffers that live inside an instance.
    pub allocs: Vec<BufId>,
    /// Views that hold inside an instance.
    pub matches: Vec<MatchBuffer>,
    /// What passes are asked for.
    pub annotations: Vec<Annotation>,
    /// The body.
    pub body: Stmt,
}

impl Block {
    /// A block that has a body and nothing else.
    pub fn new(name: impl Into<String>, body: Stmt) -> Self {
        Block {
            name: name.into(),
            iters: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            init: None,
            predicate: None,
            allocs: Vec::new(),
            matches: Vec::new(),
            annotations: Vec::new(),
            body,
        }
    }
}

/// How a call runs a function more than once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launch {
    /// Copies of a device function.
    Grid {
        /// Thread blocks along x, y, z.
        grid: [ExprId; 3],
        /// Threads of a block along x, y, z.
        block: [ExprId; 3],
        /// Bytes of [`Scope::SharedDyn`] memory of a block.
        shared: ExprId,
    },
    /// Parts of a loop, on the threads of whoever called the entry. The function's last two parameters, of which the
    /// call gives no arguments, are a part's first turn and how many turns it has. The parts are all of `0..turns`,
    /// each turn in one of them, and nothing orders them.
    Threads {
        /// Turns of the loop.
        turns: ExprId,
        /// About how many cycles a turn takes.
        work: ExprId,
    },
}

impl Launch {
    /// The same over other expressions.
    pub fn map(self, f: &mut impl FnMut(ExprId) -> ExprId) -> Launch {
        match self {
            Launch::Grid { grid, block, shared } => {
                Launch::Grid { grid: grid.map(&mut *f), block: block.map(&mut *f), shared: f(shared) }
            }
            Launch::Threads { turns, work } => Launch::Threads { turns: f(turns), work: f(work) },
        }
    }

    /// How many of the function's parameters, the last ones, the call gives no arguments for.
    pub fn given(self) -> usize {
        match self {
            Launch::Grid { .. } => 0,
            Launch::Threads { .. } => 2,
        }
    }
}

/// An argument of [`Stmt::Call`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallArg {
    /// A whole buffer of the caller.
    Buffer(BufId),
    /// A scalar or an index.
    Value(ExprId),
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// In order. Empty does nothing.
    Seq(Vec<Stmt>),
    /// `for var in min..min + extent`.
    For {
        /// Loop variable: an index, or from [`Phase::Flat`] on an `i32`.
        var: VarId,
        /// First value.
        min: ExprId,
        /// Number of iterations; none if negative.
        extent: ExprId,
        /// How.
        kind: LoopKind,
        /// What passes are asked for.
        annotations: Vec<Annotation>,
        /// What.
        body: Box<Stmt>,
    },
    /// While the condition holds.
    While {
        /// Evaluated before each turn.
        cond: ExprId,
        /// What.
        body: Box<Stmt>,
    },
    /// One of two.
    If {
        /// The condition.
        cond: ExprId,
        /// If true.
        then: Box<Stmt>,
        /// If false.
        otherwise: Option<Box<Stmt>>,
    },
    /// Binds a variable for `body`.
    Let {
        /// The variable.
        var: VarId,
        /// Its value.
        value: ExprId,
        /// Where it holds.
        body: Box<Stmt>,
    },
    /// A buffer that lives for `body`.
    Alloc {
        /// The buffer.
        buf: BufId,
        /// Where it lives.
        body: Box<Stmt>,
    },
    /// Writes an element.
    Store {
        /// To here.
        buf: BufId,
        /// One index per axis (one flat index on flat tir).
        index: Vec<ExprId>,
        /// The value, of the buffer's dtype.
        value: ExprId,
        /// Proven or vouched for.
        access: Access,
    },
    /// A block; not on flat tir.
    Block(Box<Block>),
    /// Evaluates and drops.
    Evaluate(ExprId),
    /// Calls another prim-func of the module, arguments in the order of its parameters. What a function outside of the
    /// module ([`FuncKind::Extern`]) does beside filling its buffers is an effect: calls run in order, each once.
    Call {
        /// Its name.
        func: String,
        /// Its arguments.
        args: Vec<CallArg>,
        /// How often, if not once.
        launch: Option<Launch>,
    },
    /// Waits until the threads that share memory are all here; what they wrote is seen by all of them.
    Barrier(Barrier),
    /// If the condition does not hold, the function ends with the status of this check: its place, counted from 1,
    /// among the different texts of [`PrimFunc::checks`].
    Assert {
        /// The condition.
        cond: ExprId,
        /// What does not hold, for the user.
        text: String,
    },
    /// Asks for an element that will be read; does nothing else, and need not lie inside.
    Prefetch {
        /// From here.
        buf: BufId,
        /// One index per axis.
        index: Vec<ExprId>,
    },
    /// A place in the source for what follows inside `body`, for debug lines and reports.
    At(Loc, Box<Stmt>),
}

impl Stmt {
    /// A loop without annotations.
    pub fn loop_(var: VarId, min: ExprId, extent: ExprId, kind: LoopKind, body: Stmt) -> Self {
        Stmt::For { var, min, extent, kind, annotations: Vec::new(), body: Box::new(body) }
    }
}

/// How far a function has come. Moves forward only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// With blocks, as legalisation or the front end made it.
    Blocks,
    /// With blocks, scheduled.
    Scheduled,
    /// No blocks; every buffer one-dimensional or a `Local` scalar; accesses have one flat index.
    Flat,
    /// Math expanded, types legal for the target.
    Target,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Param {
    /// A buffer: a pointer (then its strides, if `strides` name variables).
    Buffer(BufId, BufUse),
    /// A scalar or index by value.
    Value(VarId),
    /// The workspace pointer (entry only).
    Workspace,
}

/// What a function does to its operands, from what fuses with everything to what fuses with nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OpPattern {
    /// Each element of the result is made of the elements at the same place.
    ElementWise,
    /// As [`OpPattern::ElementWise`], with operands stretched along axes.
    Broadcast,
    /// Each element of the result is made of one element of each operand, anywhere.
    Injective,
    /// A reduction in any order.
    CommReduce,
    /// Larger (a convolution, a product of matrices), but an elementwise function may follow inside of it.
    OutEWiseFusable,
    /// Puts values side by side.
    Tuple,
    /// Anything.
    Opaque,
}

/// Where a function runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FuncKind {
    /// On the processor that calls.
    Host,
    /// On a device, started by a call with a [`Launch`].
    Device,
    /// On the processor that calls, but outside of the module: a declaration without a body
    /// ([`PrimFunc::outside`]). It has the C convention: a buffer is a pointer, of which nothing but the dtype is known
    /// (no axes), and what else is passed is passed by value, indices as `ptrdiff_t`. Buffers of a call do not overlap.
    Extern,
}

/// A loop-level function.
#[derive(Clone, Debug)]
pub struct PrimFunc {
    /// Its name in the module; the symbol if exported.
    pub name: String,
    /// Parameters in calling order.
    pub params: Vec<Param>,
    /// Facts that hold at entry.
    pub facts: Vec<Fact>,
    /// Variables.
    pub vars: Vec<VarData>,
    /// Buffers.
    pub buffers: Vec<BufferData>,
    /// Bytes of each of several memories that are the workspace, one behind the other, each of which is a
    /// [`Param::Workspace`] of its own; none where there is one memory.
    pub pools: Vec<u64>,
    /// Expressions with their types, hash-consed.
    pub exprs: ExprArena,
    /// The body.
    pub body: Stmt,
    /// How far it has come.
    pub phase: Phase,
    /// Whether callers outside the module see it.
    pub exported: bool,
    /// Whether float reductions may be reassociated and products contracted (`numerics = "strict"` forbids both).
    pub strict: bool,
    /// What kind of operator it is, if somebody has found out.
    pub pattern: Option<OpPattern>,
    /// Where it runs.
    pub kind: FuncKind,
    /// Whether function passes that only optimise leave it alone.
    pub skip_optimization: bool,
    /// Where it comes from.
    pub loc: Loc,
}

/// What the name of a function outside the module begins with, so that it is no other function's; its symbol follows.
const OUTSIDE: &str = "extern$";

impl PrimFunc {
    /// A function outside the module, which a linker knows as `symbol`; without parameters yet.
    pub fn outside(symbol: &str) -> Self {
        let func = PrimFunc::new(format!("{OUTSIDE}{symbol}"));
        PrimFunc { phase: Phase::Target, kind: FuncKind::Extern, ..func }
    }

    /// What a linker knows a function outside the module as.
    pub fn link_name(&self) -> Option<&str> {
        match self.kind {
            FuncKind::Extern => Some(self.name.strip_prefix(OUTSIDE).unwrap_or(&self.name)),
            FuncKind::Host | FuncKind::Device => None,
        }
    }

    /// Which of its memories an offset of the workspace lies in, with the offset there.
    pub fn in_pool(&self, offset: &IntExpr) -> (usize, IntExpr) {
        let Some(at) = offset.as_const().filter(|_| !self.pools.is_empty()) else { return (0, offset.clone()) };
        let last = self.pools.len() - 1;
        let mut begin = 0_i64;
        for bytes in &self.pools[..last] {
            begin = begin.saturating_add_unsigned(*bytes);
        }
        // What has no bytes may lie behind all others.
        let mut pool = last;
        while pool > 0 && at < begin {
            pool -= 1;
            begin = begin.saturating_sub_unsigned(self.pools[pool]);
        }
        (pool, IntExpr::from(at.saturating_sub(begin)))
    }

    /// A function of phase [`Phase::Blocks`] that does nothing.
    pub fn new(name: impl Into<String>) -> Self {
        PrimFunc {
            name: name.into(),
            params: Vec::new(),
            facts: Vec::new(),
            vars: Vec::new(),
            buffers: Vec::new(),
            pools: Vec::new(),
            exprs: ExprArena::default(),
            body: Stmt::nop(),
            phase: Phase::Blocks,
            exported: false,
            strict: false,
            skip_optimization: false,
            pattern: None,
            kind: FuncKind::Host,
            loc: Loc::default(),
        }
    }
}

/// The expressions of a function.
#[derive(Clone, Debug, Default)]
pub struct ExprArena {
    nodes: Vec<(Expr, Ty)>,
    ids: std::collections::HashMap<Expr, ExprId>,
}

impl ExprArena {
    /// The id of `expr`, which has type `ty`; equal expressions have equal ids.
    pub fn intern(&mut self, expr: Expr, ty: Ty) -> ExprId {
        if let Some(id) = self.ids.get(&expr) {
            return *id;
        }
        let id = ExprId(self.nodes.len() as u32);
        self.nodes.push((expr.clone(), ty));
        self.ids.insert(expr, id);
        id
    }
    /// The expression `id` stands for.
    pub fn get(&self, id: ExprId) -> &Expr {
        &self.nodes[id.0 as usize].0
    }
    /// Its type.
    pub fn ty(&self, id: ExprId) -> Ty {
        self.nodes[id.0 as usize].1
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}
