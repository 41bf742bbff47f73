//! Kernels of operators: a prim-func written with Rust's own operators, and the call of it.
//!
//! An operator whose entry is a kernel says its semantics here once: the type rule, the interpreter, fusion, memory,
//! schedules and back ends work on what it makes. An [`Ex`] is an expression, evaluated where a statement uses it; what
//! is read from memory that the kernel goes on to write is bound first ([`Ex::bound`], [`Cell::get`]).
//!
//! Indices that depend on data are the kernel's business: [`Kernel::wrapped`] and [`Kernel::clamped`] make provable
//! ones, where the axis has an element.

mod ex;

use std::cell::RefCell;
use std::collections::BTreeSet;

pub(super) use ex::{Buf, Cell, Ex};

use super::error::OpError;
use crate::arith::{Fact, IntExpr, Prover, Sym};
use crate::relax::{self, Builder as Graph, Op, TensorType, ValueId};
use crate::tir::{self, BufId, BufUse, Builder, IterKind, LoopKind, Param, Scope, Stmt, VarId};
use crate::{DType, Scalar};

/// A kernel in the making.
pub(super) struct Kernel {
    b: RefCell<Builder>,
    inputs: RefCell<Vec<(ValueId, BufId)>>,
    /// Results: the buffer, its type, and whether it is the memory of an operand.
    outputs: RefCell<Vec<(BufId, TensorType)>>,
}

impl Kernel {
    /// Starts a kernel called `name`.
    pub(super) fn new(graph: &Graph, name: &str) -> Self {
        let mut b = Builder::new(name);
        for decl in &graph.function().syms {
            b.reserve(&decl.sym);
        }
        Kernel { b: RefCell::new(b), inputs: RefCell::default(), outputs: RefCell::default() }
    }

    // Buffers.

    /// The buffer of an operand.
    pub(super) fn input(&self, graph: &Graph, v: ValueId) -> Buf<'_> {
        if let Some((_, buf)) = self.inputs.borrow().iter().find(|(known, _)| *known == v) {
            return Buf { k: self, id: *buf };
        }
        self.operand(graph, v, graph.range(v).cloned())
    }

    fn operand(&self, graph: &Graph, v: ValueId, range: Option<(IntExpr, IntExpr)>) -> Buf<'_> {
        let ty = graph.tensor(v).clone();
        let name = &graph.function().values[v.0 as usize].name;
        let mut b = self.b.borrow_mut();
        let id = b.buffer(if name.is_empty() { "x" } else { name }, ty.dtype, ty.shape, Scope::Param);
        b.buf_mut(id).range = range;
        self.inputs.borrow_mut().push((v, id));
        Buf { k: self, id }
    }

    /// A result; the kernel writes all of it.
    pub(super) fn output(&self, ty: TensorType) -> Buf<'_> {
        let id = self.b.borrow_mut().buffer("out", ty.dtype, ty.shape.clone(), Scope::Param);
        self.outputs.borrow_mut().push((id, ty));
        Buf { k: self, id }
    }

    /// A result that begins as an operand and takes its memory.
    pub(super) fn updated(&self, graph: &Graph, v: ValueId) -> Buf<'_> {
        let buf = self.operand(graph, v, None);
        self.outputs.borrow_mut().push((buf.id, graph.tensor(v).clone()));
        buf
    }

    /// Memory for the rest of the scope.
    pub(super) fn temp(&self, name: &str, dtype: DType, shape: &[IntExpr]) -> Buf<'_> {
        Buf { k: self, id: self.b.borrow_mut().alloc(name, dtype, shape.to_vec(), Scope::Global) }
    }

    /// A variable: a scalar in memory that begins as `value`.
    pub(super) fn cell<'k>(&'k self, name: &str, value: Ex<'k>) -> Cell<'k> {
        let index = value.dtype().is_none();
        Cell { k: self, id: self.b.borrow_mut().local(name, value.id), index }
    }

    // Expressions.

    fn ex(&self, id: tir::ExprId) -> Ex<'_> {
        Ex { k: self, id }
    }

    /// An index.
    pub(super) fn int(&self, value: i64) -> Ex<'_> {
        let id = self.b.borrow_mut().index(value);
        self.ex(id)
    }

    /// An extent or index value of the graph.
    pub(super) fn dim(&self, e: &IntExpr) -> Ex<'_> {
        let id = self.b.borrow_mut().int_expr(e);
        self.ex(id)
    }

    /// A literal.
    pub(super) fn scalar(&self, value: Scalar) -> Ex<'_> {
        let id = self.b.borrow_mut().scalar(value);
        self.ex(id)
    }

    /// A number as a literal of a dtype.
    pub(super) fn lit(&self, dtype: DType, value: f64) -> Ex<'_> {
        self.scalar(Scalar::float(dtype, value))
    }

    /// `true` or `false`.
    pub(super) fn bool(&self, value: bool) -> Ex<'_> {
        self.scalar(Scalar::bool(value))
    }

    /// An index into an axis of `extent` elements: below 0 it counts from the end, and what is outside then is the
    /// nearest that is inside.
    pub(super) fn wrapped<'k>(&'k self, i: Ex<'k>, extent: Ex<'k>) -> Ex<'k> {
        let i = i.index();
        self.clamped(i.lt(0).select(i + extent, i), extent)
    }

    /// The nearest index into an axis of `extent` elements, 0 if it has none.
    pub(super) fn clamped<'k>(&'k self, i: Ex<'k>, extent: Ex<'k>) -> Ex<'k> {
        i.min(extent - 1).max(0)
    }

    // Statements.

    fn push(&self, stmt: Stmt) {
        self.b.borrow_mut().push(stmt);
    }

    /// What `f` pushes.
    fn captured(&self, f: impl FnOnce()) -> Stmt {
        self.b.borrow_mut().open_scope();
        f();
        self.b.borrow_mut().close_scope()
    }

    fn variable(&self, name: &str) -> VarId {
        self.b.borrow_mut().index_var(name)
    }

    fn value(&self, var: VarId) -> Ex<'_> {
        let id = self.b.borrow_mut().read(var);
        self.ex(id)
    }

    fn looped<'k>(&'k self, kind: LoopKind, name: &str, (from, to): (Ex<'k>, Ex<'k>), f: impl FnOnce(Ex<'k>)) {
        let var = self.variable(name);
        let extent = if from.is_int(0) { to } else { to - from };
        let body = self.captured(|| f(self.value(var)));
        self.push(Stmt::loop_(var, from.id, extent.id, kind, body));
    }

    /// `for name in 0..extent`, in order.
    pub(super) fn for_<'k>(&'k self, name: &str, extent: Ex<'k>, f: impl FnOnce(Ex<'k>)) {
        self.looped(LoopKind::Serial, name, (self.int(0), extent), f);
    }

    /// `for name in from..to`, in order.
    pub(super) fn for_in<'k>(&'k self, name: &str, from: Ex<'k>, to: Ex<'k>, f: impl FnOnce(Ex<'k>)) {
        self.looped(LoopKind::Serial, name, (from, to), f);
    }

    /// Loops in order over all of `extents`, the last one innermost.
    pub(super) fn for_all<'k>(&'k self, name: &str, extents: &[Ex<'k>], f: impl FnOnce(&[Ex<'k>])) {
        let vars: Vec<VarId> = (0..extents.len()).map(|i| self.variable(&format!("{name}{i}"))).collect();
        let values: Vec<Ex<'k>> = vars.iter().map(|var| self.value(*var)).collect();
        let mut stmt = self.captured(|| f(&values));
        for (var, extent) in vars.iter().zip(extents).rev() {
            stmt = Stmt::loop_(*var, self.int(0).id, extent.id, LoopKind::Serial, stmt);
        }
        self.push(stmt);
    }

    /// While the condition holds, which is asked before each turn.
    pub(super) fn while_<'k>(&'k self, cond: Ex<'k>, f: impl FnOnce()) {
        let body = Box::new(self.captured(f));
        self.push(Stmt::While { cond: cond.id, body });
    }

    /// If the condition holds.
    pub(super) fn if_<'k>(&'k self, cond: Ex<'k>, f: impl FnOnce()) {
        let then = Box::new(self.captured(f));
        self.push(Stmt::If { cond: cond.id, then, otherwise: None });
    }

    /// One of two.
    pub(super) fn if_else<'k>(&'k self, cond: Ex<'k>, f: impl FnOnce(), g: impl FnOnce()) {
        let (then, otherwise) = (Box::new(self.captured(f)), Box::new(self.captured(g)));
        self.push(Stmt::If { cond: cond.id, then, otherwise: Some(otherwise) });
    }

    // Blocks.

    fn iterators(&self, base: &str, extents: &[IntExpr], kind: IterKind) -> Vec<(VarId, tir::ExprId, IterKind)> {
        let iter = |(i, extent): (usize, &IntExpr)| (self.variable(&format!("{base}{i}")), self.dim(extent).id, kind);
        extents.iter().enumerate().map(iter).collect()
    }

    fn values(&self, iters: &[(VarId, tir::ExprId, IterKind)]) -> Vec<Ex<'_>> {
        iters.iter().map(|(var, ..)| self.value(*var)).collect()
    }

    /// A block for every point of `extents`; points are independent. `f` pushes what is done at one.
    pub(super) fn block<'k>(&'k self, name: &str, extents: &[IntExpr], f: impl FnOnce(&[Ex<'k>])) {
        let iters = self.iterators("i", extents, IterKind::Spatial);
        let values = self.values(&iters);
        let body = self.captured(|| f(&values));
        self.b.borrow_mut().nest(name, &iters, None, body);
    }

    /// A block that gives every element of `to` its value.
    pub(super) fn each<'k>(&'k self, name: &str, to: Buf<'k>, f: impl FnOnce(&[Ex<'k>]) -> Ex<'k>) {
        self.block(name, &to.shape(), |i| to.put(i, f(i)));
    }

    /// A block that runs once: what is pushed in it is done in order.
    pub(super) fn once(&self, name: &str, f: impl FnOnce()) {
        self.block(name, &[], |_| f());
    }

    // The end.

    /// Ends the kernel and calls it: one result is a tensor, several are a tuple.
    pub(super) fn finish(self, graph: &mut Graph) -> Result<ValueId, OpError> {
        let (inputs, outputs) = (self.inputs.into_inner(), self.outputs.into_inner());
        let mut b = self.b.into_inner();
        let mut syms = symbols(b.func());
        let mut facts = relax::known_facts(graph.function(), &mut syms, &[]);
        facts.extend(not_empty_here(&graph.prover, b.func(), &facts));
        for sym in &syms {
            b.dim_param(sym);
        }
        let func = b.func_mut();
        func.facts = facts;
        let out = |buf: &BufId| outputs.iter().any(|(id, _)| id == buf);
        let usage = |buf: &BufId| if out(buf) { BufUse::InOut } else { BufUse::In };
        func.params.extend(inputs.iter().map(|(_, buf)| Param::Buffer(*buf, usage(buf))));
        let own = outputs.iter().filter(|(buf, _)| inputs.iter().all(|(_, id)| id != buf));
        func.params.extend(own.map(|(buf, _)| Param::Buffer(*buf, BufUse::Out)));
        let syms = arguments(func);
        let mut prim = b.finish();
        prim.state_dims(&relax::dims(graph.function()));
        let func = graph.add_kernel(prim);
        let op = Op::CallTir {
            func,
            syms,
            results: outputs.iter().map(|(_, ty)| ty.clone()).collect(),
            in_place: outputs.iter().map(|(buf, _)| inputs.iter().position(|(_, id)| id == buf)).collect(),
        };
        let args: Vec<ValueId> = inputs.iter().map(|(v, _)| *v).collect();
        graph.emit(op, &args)
    }
}

/// That extents have an element, where the call alone says so: it stands in a loop over them, for instance. An operator
/// that asks for elements has concluded it, and whoever proves the kernel again knows nothing else of the call.
fn not_empty_here(here: &Prover, func: &tir::PrimFunc, facts: &[Fact]) -> Vec<Fact> {
    let one = IntExpr::from(1);
    let extents: BTreeSet<&IntExpr> = func.buffers.iter().flat_map(|buf| &buf.shape).collect();
    let open: Vec<&IntExpr> =
        extents.into_iter().filter(|e| e.as_const().is_none() && here.prove_le(&one, e)).collect();
    let mut anywhere = Prover::new();
    if !open.is_empty() {
        facts.iter().for_each(|fact| anywhere.assume(fact.clone()));
    }
    open.into_iter().filter(|e| !anywhere.prove_le(&one, e)).map(|e| Fact::ge(e, &one)).collect()
}

/// The symbols of buffers and of what is computed with.
fn symbols(func: &tir::PrimFunc) -> BTreeSet<Sym> {
    let shapes = func.buffers.iter().flat_map(|buf| &buf.shape);
    let ranges = func.buffers.iter().filter_map(|buf| buf.range.as_ref()).flat_map(|(lo, hi)| [lo, hi]);
    let mut syms: BTreeSet<Sym> = shapes.chain(ranges).flat_map(IntExpr::vars).collect();
    syms.extend(arguments(func).iter().flat_map(IntExpr::vars));
    syms
}

/// The index parameters, by the symbols of the graph that they are called after.
fn arguments(func: &tir::PrimFunc) -> Vec<IntExpr> {
    let sym = |param: &Param| match param {
        Param::Value(var) => Some(IntExpr::var(func.vars[var.0 as usize].sym.clone())),
        Param::Buffer(..) | Param::Workspace => None,
    };
    func.params.iter().filter_map(sym).collect()
}
