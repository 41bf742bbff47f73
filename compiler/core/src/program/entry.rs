//! From a module whose kernels are device functions to a program: the entry is walked as the host would run it, and each
//! launch becomes a step.

use std::collections::BTreeMap;

use tenfold_abi::program::{
    Access, Arg, Buffer, MAX_AXES, Map, MapAxis, Node, Operation, Place, Step, WORKSPACE_ALIGN,
};
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{
    BufId, BufUse, Builder, CallArg, Elem, Expr, ExprId, FuncKind, Launch, Param, PrimFunc, Scope, Stmt, VarId,
};
use tenfold_ir::{ConstBytes, DType, Module};

use super::{Code, Constant, Program};
use crate::{CompileError, ErrorKind};

/// A device function as a back end has compiled it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Its code.
    pub code: Code,
    /// The hashes of the constants that it reads beside its parameters: they are bound behind these, in this order.
    pub constants: Vec<String>,
    /// The tensors of which it copies boxes, which the launch describes behind all else.
    pub maps: Vec<KernelMap>,
}

/// A tensor of which a kernel copies boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelMap {
    /// The number of its buffer among those of a launch.
    pub buffer: usize,
    /// What its elements are.
    pub dtype: DType,
    /// Its axes, the innermost one first: elements of a box, elements of the tensor, and elements from one to the next.
    pub axes: Vec<[i64; 3]>,
}

/// The program of a module: of an exported entry that calls functions of the host, which launch device functions.
///
/// # Errors
/// What the host cannot decide before it submits: loops and branches of the graph, calls outside, kernels that have no
/// threads.
pub fn of_entry(module: &Module, kernels: &BTreeMap<String, Kernel>) -> Result<Program, CompileError> {
    let entry = module.prim(&module.entry).filter(|f| f.exported);
    let entry =
        entry.ok_or_else(|| CompileError::internal(<_>::default(), "a program is made of an exported entry"))?;
    let mut walk =
        Walk { module, kernels, program: Program::default(), known: BTreeMap::new(), since: Vec::new(), guard: None };
    let mut host = Host::new(entry);
    walk.params(&mut host)?;
    walk.workspace(&mut host)?;
    walk.statement(&mut host, &entry.body.clone())?;
    Ok(walk.program)
}

/// What is known while the entry is walked.
struct Walk<'a> {
    module: &'a Module,
    kernels: &'a BTreeMap<String, Kernel>,
    program: Program,
    /// Kernels that the program has, by name.
    known: BTreeMap<String, u32>,
    /// Buffers that were used since the last barrier, and whether they were written.
    since: Vec<(Buffer, bool)>,
    /// What must hold where the walk is, of branches over what the host knows.
    guard: Option<u32>,
}

/// A function of the host in a call.
struct Host {
    b: Builder,
    checks: Vec<String>,
    values: BTreeMap<VarId, u32>,
    scalars: BTreeMap<VarId, (u32, DType)>,
    buffers: BTreeMap<BufId, Held>,
}

/// The buffers of a launch with whether the kernel writes them, and its values.
type Arguments = (Vec<(Buffer, bool)>, Vec<Arg>);

/// Memory that a function of the host knows.
#[derive(Clone, Copy)]
struct Held {
    place: Place,
    dtype: DType,
    bytes: u32,
}

impl Host {
    fn new(func: &PrimFunc) -> Self {
        let (values, scalars, buffers) = <_>::default();
        Host { b: Builder::resume(func.clone()), checks: func.checks(), values, scalars, buffers }
    }

    fn refuse(&self, what: impl Into<String>, help: &str) -> CompileError {
        let message = format!("`{}`: {}", self.b.func().name, what.into());
        CompileError { kind: ErrorKind::Target, loc: self.b.func().loc, message, help: Some(help.into()) }
    }
}

const DEVICES_TAKE: &str = "devices take functions whose graph has no branches or loops over data and no calls outside";

/// Steps from which on no loop of the graph is written out further.
const STEPS: usize = 1 << 12;

impl Walk<'_> {
    /// What the entry is called with: dims count its index values, in the order of its arguments.
    fn params(&mut self, host: &mut Host) -> Result<(), CompileError> {
        for param in host.b.func().params.clone() {
            match param {
                Param::Value(var) => match host.b.func().vars[var.0 as usize].ty.elem {
                    Elem::Index => {
                        let node = self.program.node(Node::Dim(self.program.dims));
                        self.program.dims += 1;
                        host.values.insert(var, node);
                    }
                    Elem::Scalar(dtype) => {
                        host.scalars.insert(var, (self.program.scalars, dtype));
                        self.program.scalars += 1;
                    }
                },
                Param::Buffer(..) | Param::Workspace => {}
            }
        }
        for param in host.b.func().params.clone() {
            let Param::Buffer(buf, usage) = param else { continue };
            let count = if usage == BufUse::Out { &mut self.program.results } else { &mut self.program.params };
            let at = *count;
            *count += 1;
            let place = if usage == BufUse::Out { Place::Result(at) } else { Place::Param(at) };
            self.hold(host, buf, place)?;
        }
        Ok(())
    }

    /// The parts of the workspace that the entry has planned.
    fn workspace(&mut self, host: &mut Host) -> Result<(), CompileError> {
        let mut end = self.program.node(Node::Const(0));
        for at in 0..host.b.func().buffers.len() {
            let buf = BufId(at as u32);
            let data = host.b.buf(buf).clone();
            if data.scope != Scope::Workspace {
                continue;
            }
            let offset = self.int_expr(host, &data.offset.unwrap_or(IntExpr::from(0)))?;
            let held = self.hold(host, buf, Place::Workspace(offset))?;
            let this = self.of(Operation::Add, offset, held.bytes);
            end = self.of(Operation::Max, end, this);
        }
        self.program.workspace = self.aligned(end);
        Ok(())
    }

    /// Up to a multiple of what parts of a workspace begin at.
    fn aligned(&mut self, bytes: u32) -> u32 {
        let align = self.program.node(Node::Const(WORKSPACE_ALIGN as i64));
        let most = self.program.node(Node::Const(WORKSPACE_ALIGN as i64 - 1));
        let above = self.of(Operation::Add, bytes, most);
        let lines = self.of(Operation::FloorDiv, above, align);
        self.of(Operation::Mul, lines, align)
    }

    /// Remembers where a buffer lies.
    fn hold(&mut self, host: &mut Host, buf: BufId, place: Place) -> Result<Held, CompileError> {
        let data = host.b.buf(buf).clone();
        let mut bytes = self.program.node(Node::Const(data.dtype.size_bytes() as i64));
        for extent in &data.shape {
            let extent = self.int_expr(host, extent)?;
            bytes = self.of(Operation::Mul, bytes, extent);
        }
        let held = Held { place, dtype: data.dtype, bytes };
        host.buffers.insert(buf, held);
        Ok(held)
    }

    fn statement(&mut self, host: &mut Host, stmt: &Stmt) -> Result<(), CompileError> {
        match stmt {
            Stmt::Seq(all) => all.iter().try_for_each(|stmt| self.statement(host, stmt)),
            Stmt::At(_, body) => self.statement(host, body),
            Stmt::Let { var, value, body } => {
                // What is no number of the host's is an error where it is used.
                if let Some(node) = self.expr(host, *value) {
                    host.values.insert(*var, node);
                }
                self.statement(host, body)
            }
            Stmt::Alloc { buf, body } => {
                if host.b.buf(*buf).scope == Scope::Global {
                    let offset = self.program.workspace;
                    let held = self.hold(host, *buf, Place::Workspace(offset))?;
                    let end = self.of(Operation::Add, offset, held.bytes);
                    self.program.workspace = self.aligned(end);
                }
                self.statement(host, body)
            }
            Stmt::Store { buf, value, .. } => self.scalar(host, *buf, *value),
            Stmt::Evaluate(_) | Stmt::Prefetch { .. } => Ok(()),
            Stmt::Assert { cond, text } => {
                let refused = host.refuse(format!("`{text}` needs what the device computes"), DEVICES_TAKE);
                let holds = self.expr(host, *cond).ok_or(refused)?;
                let holds = self.where_guarded(holds, 1);
                let check = host.checks.iter().position(|it| it == text).unwrap_or(0) as u32 + 1;
                self.program.steps.push(Step::Check { holds, check });
                Ok(())
            }
            Stmt::Call { func, args, launch } => self.call(host, func, args, *launch),
            Stmt::If { cond, then, otherwise } => self.branch(host, *cond, then, otherwise.as_deref()),
            Stmt::For { var, min, extent, body, .. } => self.turns(host, *var, (*min, *extent), body),
            Stmt::While { .. } | Stmt::Block(_) | Stmt::Barrier(_) => {
                Err(host.refuse("the host would have to run a loop of the graph", DEVICES_TAKE))
            }
        }
    }

    /// The turns of a loop one after the other, where their number is a constant. Each has the same memory.
    fn turns(
        &mut self,
        host: &mut Host,
        var: VarId,
        (min, extent): (ExprId, ExprId),
        body: &Stmt,
    ) -> Result<(), CompileError> {
        let refused = host.refuse("a loop of the graph has a number of turns that is not constant", DEVICES_TAKE);
        let bounds = (self.constant_of(host, min), self.constant_of(host, extent));
        let (Some(min), Some(turns)) = bounds else { return Err(refused) };
        let from = self.program.workspace;
        let mut end = from;
        for turn in 0..turns {
            if self.program.steps.len() > STEPS {
                return Err(host.refuse(format!("loops of the graph make more than {STEPS} steps"), DEVICES_TAKE));
            }
            self.program.workspace = from;
            let value = self.program.node(Node::Const(min.saturating_add(turn)));
            host.values.insert(var, value);
            self.statement(host, body)?;
            end = self.of(Operation::Max, end, self.program.workspace);
        }
        self.program.workspace = end;
        Ok(())
    }

    fn constant_of(&mut self, host: &Host, e: ExprId) -> Option<i64> {
        let node = self.expr(host, e)?;
        match self.program.nodes.get(node as usize) {
            Some(Node::Const(value)) => Some(*value),
            _ => None,
        }
    }

    /// A branch over what the host knows: each side's launches have no groups where the other is taken.
    fn branch(
        &mut self,
        host: &mut Host,
        cond: ExprId,
        then: &Stmt,
        otherwise: Option<&Stmt>,
    ) -> Result<(), CompileError> {
        let refused = host.refuse("a branch needs what the device computes", DEVICES_TAKE);
        let cond = self.expr(host, cond).ok_or(refused)?;
        let outer = self.guard;
        let zero = self.program.node(Node::Const(0));
        let not = self.of(Operation::Eq, cond, zero);
        for (side, stmt) in [(cond, Some(then)), (not, otherwise)] {
            let Some(stmt) = stmt else { continue };
            self.guard = Some(outer.map_or(side, |outer| self.of(Operation::And, outer, side)));
            let walked = self.statement(host, stmt);
            self.guard = outer;
            walked?;
        }
        Ok(())
    }

    /// A value where the walk's branch is taken, else another.
    fn where_guarded(&mut self, value: u32, otherwise: i64) -> u32 {
        let Some(guard) = self.guard else { return value };
        let otherwise = self.program.node(Node::Const(otherwise));
        self.program.node(Node::Select(guard, value, otherwise))
    }

    /// A scalar parameter that lies in memory, so that kernels read it there.
    fn scalar(&mut self, host: &mut Host, buf: BufId, value: ExprId) -> Result<(), CompileError> {
        match scalar_of(host, value) {
            Some((at, _)) => self.hold(host, buf, Place::Scalar(at)).map(|_| ()),
            None => Err(host.refuse("the host would have to compute a value of the graph", DEVICES_TAKE)),
        }
    }

    fn call(
        &mut self,
        host: &mut Host,
        func: &str,
        args: &[CallArg],
        launch: Option<Launch>,
    ) -> Result<(), CompileError> {
        let Some(callee) = self.module.prim(func) else {
            return Err(host.refuse(format!("there is no `{func}`"), DEVICES_TAKE));
        };
        match (callee.kind, launch) {
            (FuncKind::Host, None) => {
                let mut inner = Host::new(callee);
                for (param, arg) in callee.params.iter().zip(args) {
                    match (param, arg) {
                        (Param::Value(var), CallArg::Value(value)) => {
                            if let Some(scalar) = scalar_of(host, *value) {
                                inner.scalars.insert(*var, scalar);
                            } else if let Some(node) = self.expr(host, *value) {
                                inner.values.insert(*var, node);
                            }
                        }
                        (Param::Buffer(to, _), CallArg::Buffer(from)) => {
                            let held = self.held(host, *from)?;
                            inner.buffers.insert(*to, held);
                        }
                        _ => return Err(host.refuse(format!("`{func}` has other parameters"), DEVICES_TAKE)),
                    }
                }
                self.statement(&mut inner, &callee.body)
            }
            (FuncKind::Device, Some(Launch::Grid { grid, block, shared })) => {
                self.launch(host, callee, args, grid, block, shared)
            }
            _ => Err(host.refuse(format!("it calls `{func}`, which is none of the device's"), DEVICES_TAKE)),
        }
    }

    /// Where a buffer of the host lies; constants are found here.
    fn held(&mut self, host: &Host, buf: BufId) -> Result<Held, CompileError> {
        if let Some(held) = host.buffers.get(&buf) {
            return Ok(*held);
        }
        let data = host.b.buf(buf);
        match data.scope {
            Scope::Const(id) => Ok(self.constant(&self.module.constant(id).hash.clone())),
            _ => Err(host.refuse(format!("`{}` is memory of the host", data.name), DEVICES_TAKE)),
        }
    }

    fn constant(&mut self, hash: &str) -> Held {
        let data = self.module.constants.iter().find(|data| data.hash == hash);
        let (bytes, dtype) = data.map_or((0, DType::U8), |data| (length(&data.bytes), data.dtype));
        let found = self.program.constants.iter().position(|it| it.hash == hash);
        let at = found.unwrap_or_else(|| {
            self.program.constants.push(Constant { hash: hash.to_string(), bytes });
            self.program.constants.len() - 1
        });
        let bytes = self.program.node(Node::Const(bytes as i64));
        Held { place: Place::Constant(at as u32), dtype, bytes }
    }

    fn launch(
        &mut self,
        host: &mut Host,
        func: &PrimFunc,
        args: &[CallArg],
        grid: [ExprId; 3],
        block: [ExprId; 3],
        shared: ExprId,
    ) -> Result<(), CompileError> {
        let Some(kernel) = self.kernels.get(&func.name) else {
            return Err(CompileError::internal(func.loc, format!("no back end compiled `{}`", func.name)));
        };
        let number = |it: &mut Self, host: &mut Host, e| {
            let refused = host.refuse(format!("the host cannot compute a size of `{}`", func.name), DEVICES_TAKE);
            it.expr(host, e).ok_or(refused)
        };
        for (extent, local) in block.into_iter().zip(kernel.code.local) {
            let extent = number(self, host, extent)?;
            if self.program.nodes[extent as usize] != Node::Const(i64::from(local)) {
                let help = "let the number of threads of a group be a constant";
                return Err(host.refuse(format!("a group of `{}` has no fixed number of threads", func.name), help));
            }
        }
        let mut sizes = [0; 4];
        for (to, e) in sizes.iter_mut().zip([grid[0], grid[1], grid[2], shared]) {
            *to = number(self, host, e)?;
        }
        let (buffers, values) = self.arguments(host, func, args, kernel)?;
        self.wait_for(&buffers);
        let first = self.program.args.len() as u32;
        let bound: Vec<u32> = buffers.into_iter().map(|(buffer, _)| self.buffer(buffer)).collect();
        let maps = kernel.maps.iter().map(|map| self.map(map, &bound)).collect::<Option<Vec<_>>>();
        let maps = maps.ok_or_else(|| CompileError::internal(func.loc, "a box of what a launch does not pass"))?;
        let given = bound.into_iter().map(Arg::Buffer).chain(values).chain(maps);
        self.program.args.extend(given);
        let args = (first, self.program.args.len() as u32);
        let next = self.known.len() as u32;
        let at = *self.known.entry(func.name.clone()).or_insert(next);
        if at == next {
            self.program.kernels.push(kernel.code.clone());
        }
        let [x, y, z, shared] = sizes;
        let x = self.where_guarded(x, 0);
        self.program.steps.push(Step::Launch { kernel: at, grid: [x, y, z], shared, args });
        Ok(())
    }

    /// The buffers of a launch with whether the kernel writes them, and its values.
    fn arguments(
        &mut self,
        host: &mut Host,
        func: &PrimFunc,
        args: &[CallArg],
        kernel: &Kernel,
    ) -> Result<Arguments, CompileError> {
        let (mut buffers, mut values) = (Vec::new(), Vec::new());
        for (param, arg) in func.params.iter().zip(args) {
            match (param, arg) {
                (Param::Buffer(_, usage), CallArg::Buffer(buf)) => {
                    let Held { place, dtype, bytes } = self.held(host, *buf)?;
                    let access = match usage {
                        BufUse::In => Access::In,
                        BufUse::Out => Access::Out,
                        BufUse::InOut => Access::InOut,
                    };
                    buffers.push((Buffer { place, dtype, access, bytes }, *usage != BufUse::In));
                }
                (Param::Value(var), CallArg::Value(value)) => {
                    let ty = func.vars[var.0 as usize].ty.elem;
                    let refused =
                        host.refuse(format!("the host cannot compute a value of `{}`", func.name), DEVICES_TAKE);
                    values.push(self.value(host, ty, *value).ok_or(refused)?);
                }
                _ => return Err(host.refuse(format!("`{}` has other parameters", func.name), DEVICES_TAKE)),
            }
        }
        for hash in &kernel.constants {
            let Held { place, dtype, bytes } = self.constant(hash);
            buffers.push((Buffer { place, dtype, access: Access::In, bytes }, false));
        }
        Ok((buffers, values))
    }

    /// A value that a kernel is given.
    fn value(&mut self, host: &mut Host, ty: Elem, value: ExprId) -> Option<Arg> {
        match (scalar_of(host, value), ty) {
            (Some((at, dtype)), _) => Some(Arg::Scalar(at, dtype)),
            (None, Elem::Index | Elem::Scalar(DType::I64)) => self.expr(host, value).map(Arg::I64),
            (None, Elem::Scalar(DType::I32)) => self.expr(host, value).map(Arg::I32),
            (None, Elem::Scalar(_)) => None,
        }
    }

    /// The map of a tensor in one of the buffers of a launch, which is written once.
    fn map(&mut self, map: &KernelMap, bound: &[u32]) -> Option<Arg> {
        let element = map.dtype.size_bytes() as i64;
        let mut axes = [MapAxis::default(); MAX_AXES];
        for (n, (to, [width, extent, stride])) in axes.iter_mut().zip(&map.axes).enumerate() {
            let stride = if n == 0 { 0 } else { self.program.node(Node::Const(stride * element)) };
            let extent = self.program.node(Node::Const(*extent));
            *to = MapAxis { width: u32::try_from(*width).ok()?, extent, stride };
        }
        let rank = u8::try_from(map.axes.len()).ok().filter(|rank| usize::from(*rank) <= MAX_AXES)?;
        let map = Map { buffer: *bound.get(map.buffer)?, dtype: map.dtype, rank, axes };
        let found = self.program.maps.iter().position(|it| *it == map);
        let at = found.unwrap_or_else(|| {
            self.program.maps.push(map);
            self.program.maps.len() - 1
        });
        Some(Arg::Map(at as u32))
    }

    /// The number of a buffer, which is written once.
    fn buffer(&mut self, buffer: Buffer) -> u32 {
        let found = self.program.buffers.iter().position(|it| *it == buffer);
        found.unwrap_or_else(|| {
            self.program.buffers.push(buffer);
            self.program.buffers.len() - 1
        }) as u32
    }

    /// A barrier, if a launch touches what one since the last barrier has written, or writes what one has touched.
    fn wait_for(&mut self, buffers: &[(Buffer, bool)]) {
        let conflict = buffers.iter().any(|(buffer, writes)| {
            self.since.iter().any(|(before, wrote)| (*writes || *wrote) && self.overlap(buffer, before))
        });
        if conflict {
            self.program.steps.push(Step::Barrier);
            self.since.clear();
        }
        self.since.extend(buffers.iter().copied());
    }

    /// Whether two buffers may share a byte.
    fn overlap(&self, a: &Buffer, b: &Buffer) -> bool {
        let (Place::Workspace(x), Place::Workspace(y)) = (a.place, b.place) else { return a.place == b.place };
        let known = |node: u32| match self.program.nodes.get(node as usize) {
            Some(Node::Const(value)) => Some(*value),
            _ => None,
        };
        match (known(x), known(a.bytes), known(y), known(b.bytes)) {
            (Some(x), Some(a), Some(y), Some(b)) => x < y.saturating_add(b) && y < x.saturating_add(a),
            _ => true,
        }
    }

    fn int_expr(&mut self, host: &mut Host, e: &IntExpr) -> Result<u32, CompileError> {
        let of = host.b.int_expr(e);
        let refused = host.refuse(format!("the host cannot compute `{e}`"), DEVICES_TAKE);
        self.expr(host, of).ok_or(refused)
    }

    /// The node of an expression over what the host knows; none if it reads memory, or is no whole number.
    fn expr(&mut self, host: &Host, e: ExprId) -> Option<u32> {
        let node = match host.b.func().exprs.get(e).clone() {
            Expr::Index(value) => Node::Const(value),
            Expr::Const(value) if !value.dtype.is_float() => Node::Const(i64::try_from(value.to_i128()).ok()?),
            Expr::Var(var) => return host.values.get(&var).copied(),
            Expr::Cast(_, of) => return self.expr(host, of),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(host, a)?, self.expr(host, b)?);
                return self.binary(op, a, b);
            }
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.expr(host, a)?, self.expr(host, b)?);
                return Some(match op {
                    CmpOp::Eq => self.of(Operation::Eq, a, b),
                    CmpOp::Ne => self.of(Operation::Ne, a, b),
                    CmpOp::Lt => self.of(Operation::Lt, a, b),
                    CmpOp::Le => self.of(Operation::Le, a, b),
                    CmpOp::Gt => self.of(Operation::Lt, b, a),
                    CmpOp::Ge => self.of(Operation::Le, b, a),
                });
            }
            Expr::If(c, a, b) | Expr::Select(c, a, b) => {
                Node::Select(self.expr(host, c)?, self.expr(host, a)?, self.expr(host, b)?)
            }
            _ => return None,
        };
        Some(self.program.node(node))
    }

    fn binary(&mut self, op: BinaryOp, a: u32, b: u32) -> Option<u32> {
        let operation = match op {
            BinaryOp::Add => Operation::Add,
            BinaryOp::Sub => Operation::Sub,
            BinaryOp::Mul => Operation::Mul,
            BinaryOp::Div => Operation::Div,
            BinaryOp::Rem => Operation::Rem,
            BinaryOp::Min => Operation::Min,
            BinaryOp::Max => Operation::Max,
            BinaryOp::DivEuclid | BinaryOp::RemEuclid => return Some(self.euclidean(op, a, b)),
            _ => return None,
        };
        Some(self.of(operation, a, b))
    }

    /// By the divisor's magnitude both divisions are those that round down; the quotient takes its sign.
    fn euclidean(&mut self, op: BinaryOp, a: u32, b: u32) -> u32 {
        let zero = self.program.node(Node::Const(0));
        let minus = self.of(Operation::Sub, zero, b);
        let magnitude = self.of(Operation::Max, b, minus);
        if op == BinaryOp::RemEuclid {
            return self.of(Operation::FloorMod, a, magnitude);
        }
        let quotient = self.of(Operation::FloorDiv, a, magnitude);
        let opposite = self.of(Operation::Sub, zero, quotient);
        let negative = self.of(Operation::Lt, b, zero);
        self.program.node(Node::Select(negative, opposite, quotient))
    }

    /// The node of two others; a constant of two constants.
    fn of(&mut self, operation: Operation, a: u32, b: u32) -> u32 {
        let known = |node: u32| match self.program.nodes.get(node as usize) {
            Some(Node::Const(value)) => Some(*value),
            _ => None,
        };
        let folded = known(a).zip(known(b)).and_then(|(a, b)| operation.of(a, b));
        self.program.node(folded.map_or(Node::Of(operation, a, b), Node::Const))
    }
}

/// The scalar parameter that an expression is, by value or from where it lies in memory.
fn scalar_of(host: &Host, value: ExprId) -> Option<(u32, DType)> {
    match host.b.func().exprs.get(value) {
        Expr::Var(var) => host.scalars.get(var).copied(),
        Expr::Load { buf, .. } => match host.buffers.get(buf) {
            Some(Held { place: Place::Scalar(at), dtype, .. }) => Some((*at, *dtype)),
            _ => None,
        },
        _ => None,
    }
}

/// How many bytes a constant has, wherever they are.
fn length(bytes: &ConstBytes) -> u64 {
    match bytes {
        ConstBytes::Inline(bytes) => bytes.len() as u64,
        ConstBytes::File { len, .. } => *len,
    }
}

#[cfg(test)]
mod tests;
