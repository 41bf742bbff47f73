//! The body of one function: statements, loops and memory.

mod split;

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::{
    DType,
    arith::Sym,
    tir::{
        BufId, CallArg, Counters, Elem, Expr, ExprId, FuncKind, Launch, LoopKind, Param, PrimFunc, Scope, Stmt, Ty,
        VarId,
    },
};

use super::{
    Cx, Declared, high,
    ops::{Kind, Ops},
    pieces,
    place::Places,
    rows,
    streams::{self, Streamed},
};
use crate::ir::{Block, Int, Metadata, Type, Value};

/// What writing a function may fail with: a bug of ours, in words.
pub(super) type Result<T> = std::result::Result<T, String>;

/// The largest array that may lie on the stack.
const LARGEST_LOCAL: i64 = 1 << 16;

/// A function in the making.
pub(super) struct Body<'a, 'c, 'm> {
    pub(super) cx: &'a Cx<'a, 'c, 'm>,
    pub(super) ops: Ops<'a, 'c, 'm>,
    pub(super) prim: &'a PrimFunc,
    places: &'a Places<'a, 'c>,
    pub(super) function: Value<'c>,
    entry: Block<'c>,
    /// The workspace, or its memories.
    workspaces: Vec<Value<'c>>,
    context: Option<Value<'c>>,
    pub(super) buffers: Vec<Option<Value<'c>>>,
    pub(super) vars: Vec<Option<Value<'c>>>,
    /// What a variable stands for, where a statement says so.
    pub(super) lets: BTreeMap<VarId, ExprId>,
    syms: BTreeMap<&'a Sym, VarId>,
    /// What the statement's expressions have given so far, a layer per branch being written.
    pub(super) known: Vec<BTreeMap<ExprId, Value<'c>>>,
    /// Whether the loop around the statement is a reduction: a serial loop inside of one keeps its own order.
    pub(super) in_reduction: bool,
    /// Whether registers that are matrices have their sizes.
    pub(super) sized: bool,
    /// Buffers of sums of products of vectors, which are read element by element.
    pub(super) summed: BTreeSet<BufId>,
    /// Loops along long rows that the loops beside them read as well: they keep their turns.
    rows: BTreeSet<VarId>,
    /// Buffers that loops read in pieces.
    pieces: BTreeMap<VarId, BTreeSet<BufId>>,
    /// Those of the loop that is being written.
    pub(super) in_pieces: BTreeSet<BufId>,
    /// Buffers that are written past the caches.
    pub(super) streamed: Streamed,
    place: Option<Metadata<'c>>,
    pub(super) counters: Counters,
}

impl<'a, 'c, 'm> Body<'a, 'c, 'm> {
    /// Starts the body of a declared function.
    pub(super) fn new(cx: &'a Cx<'a, 'c, 'm>, declared: Declared<'a, 'c>, places: &'a Places<'a, 'c>) -> Self {
        let Declared { prim, value, context } = declared;
        let widens_pairs = cx.target.has("mve");
        let ops = Ops { ir: cx.ir, unit: cx.machine.float, strict: prim.strict, widens_pairs };
        let vars = prim.vars.iter().enumerate();
        Body {
            cx,
            ops,
            prim,
            places,
            function: value,
            entry: cx.ir.block(value),
            workspaces: Vec::new(),
            context: context.then(|| cx.ir.parameter(value, prim.params.len() as u32)),
            buffers: vec![None; prim.buffers.len()],
            vars: vec![None; prim.vars.len()],
            lets: BTreeMap::new(),
            syms: vars.map(|(id, data)| (&data.sym, VarId(id as u32))).collect(),
            known: vec![BTreeMap::new()],
            in_reduction: false,
            sized: false,
            summed: high::summed(prim, cx.target),
            rows: rows::read_again(prim, cx.target.vector_bytes()),
            pieces: pieces::in_pieces(prim, &cx.far, cx.target),
            in_pieces: BTreeSet::new(),
            streamed: Streamed::default(),
            place: None,
            counters: Counters::default(),
        }
    }

    /// Writes it.
    pub(super) fn write(mut self) -> Result<()> {
        let ir = self.cx.ir;
        ir.place(None);
        self.places.enter(ir, &self.prim.name, self.prim.loc, self.function);
        let start = ir.block(self.function);
        ir.at_end(start);
        self.place = self.places.at(ir, self.prim.loc);
        ir.place(self.place);
        if self.is_kernel() {
            self.kernel_parameters()?
        } else {
            self.parameters()
        }
        self.body()?;
        ir.ret(self.prim.exported.then(|| ir.const_int(ir.int(32), 0)));
        // Memory of the stack stands alone in the first block, so that none is taken in a loop.
        ir.at_end(self.entry);
        ir.jump(start);
        ir.place(None);
        Ok(())
    }

    /// What the function does. Where results are written past the caches it stands once for each alignment that makes
    /// other stores of that, and once without: such a store is a word by itself unless it begins at a multiple of its
    /// size, which memory of an allocator does.
    fn body(&mut self) -> Result<()> {
        let (ir, prim) = (self.cx.ir, self.prim);
        let ways = streams::streamed(prim, self.cx.target);
        let Some(Streamed { of, .. }) = ways.first() else { return self.stmt(&prim.body) };
        let word = ir.int(self.cx.target.pointer_bits);
        let mut address = ir.const_int(word, 0);
        for buf in of {
            address = ir.or(address, ir.address(self.base(*buf)?, word));
        }
        let after = ir.block(self.function);
        for streamed in ways {
            let rest = ir.and(address, ir.const_int(word, i64::from(streamed.align) - 1));
            let (fits, other) = (ir.block(self.function), ir.block(self.function));
            ir.branch(ir.icmp(Int::LLVMIntEQ, rest, ir.const_int(word, 0)), fits, other);
            ir.at_end(fits);
            self.streamed = streamed;
            self.stmt(&prim.body)?;
            ir.store_fence();
            ir.jump(after);
            ir.at_end(other);
        }
        self.streamed = Streamed::default();
        self.stmt(&prim.body)?;
        ir.jump(after);
        ir.at_end(after);
        Ok(())
    }

    fn parameters(&mut self) {
        let ir = self.cx.ir;
        for (number, param) in (0..).zip(&self.prim.params) {
            let value = ir.parameter(self.function, number);
            match param {
                Param::Workspace => self.workspaces.push(value),
                Param::Buffer(buf, _) => self.buffers[buf.0 as usize] = Some(value),
                Param::Value(var) => self.bind_value(*var, value),
            }
        }
    }

    /// The variable is what was passed.
    pub(super) fn bind_value(&mut self, var: VarId, passed: Value<'c>) {
        let elem = self.var_type(var).elem;
        let value = match Kind::of(elem) {
            Kind::Bool => self.byte_to_bool(passed),
            Kind::Int { .. } => self.cx.ir.resize(true, passed, self.ops.ty(Kind::of(elem), 1)),
            Kind::Half { .. } | Kind::Float { .. } => passed,
        };
        self.vars[var.0 as usize] = Some(value);
    }

    /// Whether the function runs on a device.
    pub(super) fn is_kernel(&self) -> bool {
        self.prim.kind == FuncKind::Device
    }

    pub(super) fn byte_to_bool(&self, byte: Value<'c>) -> Value<'c> {
        let ir = self.cx.ir;
        ir.icmp(Int::LLVMIntNE, byte, ir.const_int(byte.ty(), 0))
    }

    fn var_type(&self, var: VarId) -> Ty {
        self.prim.vars[var.0 as usize].ty
    }

    /// The value of a variable.
    pub(super) fn var(&self, var: VarId) -> Result<Value<'c>> {
        self.vars[var.0 as usize]
            .ok_or_else(|| format!("`{}` is used where it is not bound", self.prim.vars[var.0 as usize].sym))
    }

    /// The variable that a symbol stands for.
    pub(super) fn sym(&self, sym: &Sym) -> Result<Value<'c>> {
        match self.syms.get(sym) {
            Some(var) => self.var(*var),
            None => Err(format!("`{sym}` is no variable of the function")),
        }
    }

    /// Where a buffer begins.
    pub(super) fn base(&mut self, buf: BufId) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        if let Some(base) = self.buffers[buf.0 as usize] {
            return Ok(base);
        }
        let data = &self.prim.buffers[buf.0 as usize];
        match data.scope {
            Scope::Const(id) => {
                let constant = self.cx.module.constant(id);
                let bytes: u64 = constant.shape.iter().product::<u64>() * constant.dtype.size_bytes() as u64;
                let symbol = tenfold_core::constant_symbol(&constant.hash);
                let ty = ir.array(ir.int(8), bytes);
                let base = ir.external(&symbol, ty, constant.dtype.align() as u32);
                self.buffers[buf.0 as usize] = Some(base);
                Ok(base)
            }
            Scope::Workspace => {
                let Some(offset) = &data.offset else {
                    return Err(format!("`{}` has no place in the workspace", data.name));
                };
                let (pool, offset) = self.prim.in_pool(offset);
                let Some(workspace) = self.workspaces.get(pool).copied() else {
                    return Err(format!("`{}` is in a workspace that is no parameter", data.name));
                };
                let offset = self.int_expr(&offset)?;
                Ok(ir.element(ir.int(8), workspace, offset))
            }
            Scope::Param
            | Scope::Global
            | Scope::Local
            | Scope::Shared
            | Scope::SharedDyn
            | Scope::Warp
            | Scope::View => Err(format!("the memory of `{}` is not there", data.name)),
        }
    }

    // Statements.

    pub(super) fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        match stmt {
            Stmt::Seq(all) => all.iter().try_for_each(|stmt| self.stmt(stmt)),
            Stmt::For { .. } => self.product_or_loop(stmt),
            Stmt::While { cond, body } => self.while_loop(*cond, body),
            Stmt::If { cond, then, otherwise } => self.if_else(*cond, then, otherwise.as_deref()),
            Stmt::Let { var, value, body } => {
                self.lets.insert(*var, *value);
                let value = self.fresh(*value)?;
                self.vars[var.0 as usize] = Some(value);
                self.stmt(body)
            }
            Stmt::Alloc { buf, body } => {
                self.alloc(*buf)?;
                self.stmt(body)
            }
            Stmt::Store { buf, index, value, access: _ } => self.store(*buf, index, *value),
            Stmt::Evaluate(value) => self.fresh(*value).map(drop),
            Stmt::Call { func, args, launch: None } => self.call(func, args),
            Stmt::Call { func, args, launch: Some(Launch::Threads { turns, work }) } => {
                self.split(func, args, *turns, *work)
            }
            Stmt::Call { func, launch: Some(Launch::Grid { .. }), .. } => {
                Err(format!("`{func}` is launched on a device"))
            }
            Stmt::Barrier(barrier) => self.barrier(*barrier),
            Stmt::Assert { text, .. } if self.is_kernel() => Err(format!("the check `{text}` in a kernel")),
            Stmt::Assert { cond, text } => self.check(*cond, text),
            Stmt::Prefetch { .. } if self.is_kernel() => Ok(()),
            Stmt::Prefetch { buf, index } => self.prefetch(*buf, index),
            Stmt::At(loc, body) => {
                let outer = self.place;
                self.place = self.places.at(self.cx.ir, *loc).or(outer);
                self.cx.ir.place(self.place);
                let done = self.stmt(body);
                self.place = outer;
                self.cx.ir.place(outer);
                done
            }
            Stmt::Block(block) => Err(format!("the block `{}` was not lowered", block.name)),
        }
    }

    fn alloc(&mut self, buf: BufId) -> Result<()> {
        let ir = self.cx.ir;
        let data = &self.prim.buffers[buf.0 as usize];
        // What threads share was made at the head of the kernel.
        if self.is_kernel() && matches!(data.scope, Scope::Shared | Scope::SharedDyn) {
            return Ok(());
        }
        if data.scope != Scope::Local {
            return Err(format!("`{}` was not placed in the workspace", data.name));
        }
        let mut extents = data.shape.iter().map(|extent| extent.as_const());
        let length = extents.try_fold(1_i64, |size, extent| size.checked_mul(extent?));
        let Some(length) = length.filter(|n| (0..=LARGEST_LOCAL).contains(n)) else {
            return Err(format!("`{}` is too large for the stack, or of unknown size", data.name));
        };
        if self.buffers[buf.0 as usize].is_some() {
            return Ok(());
        }
        let cell = self.memory_type(Ty::scalar(data.dtype));
        let align = self.stack_align(data.dtype, length);
        let memory = self.on_stack(ir.array(cell, length.max(1) as u64), align);
        self.buffers[buf.0 as usize] = Some(memory);
        Ok(())
    }

    /// Where a buffer of the stack begins: one that has room for vectors where none of them is in two cache lines.
    fn stack_align(&self, dtype: DType, length: i64) -> u32 {
        let (own, vector) = (dtype.align() as u32, self.cx.target.vector_bytes());
        let bytes = length.saturating_mul(dtype.size_bytes() as i64);
        if bytes >= i64::from(vector) { own.max(vector) } else { own }
    }

    /// Memory for the time of the call.
    pub(super) fn on_stack(&self, ty: Type<'c>, align: u32) -> Value<'c> {
        let ir = self.cx.ir;
        let here = ir.here();
        ir.place(None);
        ir.at_end(self.entry);
        let memory = ir.alloca(ty, align);
        ir.at_end(here);
        ir.place(self.place);
        memory
    }

    fn store(&mut self, buf: BufId, index: &[ExprId], value: ExprId) -> Result<()> {
        self.known = vec![BTreeMap::new()];
        if let Some(done) = self.of_tensors(buf, index, value) {
            return done;
        }
        if let Some(from) = self.copied(value) {
            return self.copy_async(buf, index, from);
        }
        self.ask_for_operands(buf, index, value)?;
        let any_order = self.in_reduction;
        let written = match self.accumulated(buf, index, value) {
            Some((op, old, new)) if any_order => self.accumulate(op, old, new)?,
            Some(_) | None => self.expr(value)?,
        };
        self.write_element(buf, index, written, self.prim.exprs.ty(value))
    }

    /// Nothing is read, so the place need not be one.
    fn prefetch(&mut self, buf: BufId, index: &[ExprId]) -> Result<()> {
        self.known = vec![BTreeMap::new()];
        let [index] = index else { return Ok(()) };
        // What is read in pieces the core asks for itself.
        if self.in_pieces.contains(&buf) {
            return Ok(());
        }
        let (base, at) = (self.base(buf)?, self.as_index(*index)?);
        let dtype = self.prim.buffers[buf.0 as usize].dtype;
        let memory = self.memory_type(Ty::scalar(dtype));
        self.cx.ir.prefetch(memory, base, at);
        Ok(())
    }

    fn if_else(&mut self, cond: ExprId, then: &Stmt, otherwise: Option<&Stmt>) -> Result<()> {
        let ir = self.cx.ir;
        let cond = self.fresh(cond)?;
        let (yes, after) = (ir.block(self.function), ir.block(self.function));
        let no = otherwise.map(|_| ir.block(self.function));
        ir.branch(cond, yes, no.unwrap_or(after));
        ir.at_end(yes);
        self.stmt(then)?;
        ir.jump(after);
        if let (Some(no), Some(otherwise)) = (no, otherwise) {
            ir.at_end(no);
            self.stmt(otherwise)?;
            ir.jump(after);
        }
        ir.at_end(after);
        Ok(())
    }

    fn while_loop(&mut self, cond: ExprId, body: &Stmt) -> Result<()> {
        let ir = self.cx.ir;
        let head = ir.block(self.function);
        ir.jump(head);
        ir.at_end(head);
        let cond = self.fresh(cond)?;
        let (inside, after) = (ir.block(self.function), ir.block(self.function));
        ir.branch(cond, inside, after);
        ir.at_end(inside);
        self.stmt(body)?;
        ir.jump(head);
        ir.at_end(after);
        Ok(())
    }

    pub(super) fn for_loop(
        &mut self,
        var: VarId,
        min: ExprId,
        extent: ExprId,
        kind: LoopKind,
        body: &Stmt,
    ) -> Result<()> {
        let ir = self.cx.ir;
        self.known = vec![BTreeMap::new()];
        let first = self.expr(min)?;
        let turns = self.expr(extent)?;
        self.counters.enter(self.prim, var, min, extent);
        if let (LoopKind::ThreadBound(axis), true) = (kind, self.is_kernel()) {
            return self.thread_loop(var, (min, turns), axis, body);
        }
        let around = std::mem::replace(&mut self.in_reduction, is_reduction(kind));
        match turns.as_const() {
            Some(..=0) => {}
            Some(1) => {
                self.vars[var.0 as usize] = Some(first);
                self.stmt(body)?;
            }
            Some(_) | None => self.turns(var, first, turns, kind, body)?,
        }
        self.in_reduction = around;
        ir.place(self.place);
        Ok(())
    }

    /// Two turns or more, or an unknown number: the test stands at the end, behind a guard.
    fn turns(&mut self, var: VarId, first: Value<'c>, turns: Value<'c>, kind: LoopKind, body: &Stmt) -> Result<()> {
        let ir = self.cx.ir;
        let own = self.ops.ty(Kind::of(self.var_type(var).elem), 1);
        let bits = self.counter_bits(first, turns);
        let counter = ir.int(bits);
        let narrow = |value| ir.resize(true, value, counter);
        let (start, count) = (narrow(first), narrow(turns));
        let end = ir.add_exact(start, count);
        let (inside, after) = (ir.block(self.function), ir.block(self.function));
        let before = ir.here();
        if turns.as_const().is_some() {
            ir.jump(inside);
        } else {
            let any = ir.icmp(Int::LLVMIntSGT, count, ir.const_int(counter, 0));
            ir.branch(any, inside, after);
        }
        ir.at_end(inside);
        let at = ir.phi(counter);
        ir.incoming(at, start, before);
        self.vars[var.0 as usize] = Some(ir.resize(true, at, own));
        self.streamed.asked.clear();
        let around = std::mem::replace(&mut self.in_pieces, self.pieces.get(&var).cloned().unwrap_or_default());
        self.stmt(body)?;
        self.in_pieces = around;
        let next = ir.add_exact(at, ir.const_int(counter, 1));
        let more = ir.icmp(Int::LLVMIntSLT, next, end);
        let last = ir.here();
        let back = ir.branch(more, inside, after);
        ir.incoming(at, next, last);
        let few = turns.as_const().is_some_and(|turns| turns <= super::device::WRITTEN_OUT);
        match kind {
            _ if few && self.walks_own_array(var, body) => ir.loop_property(back, "llvm.loop.unroll.full", false),
            LoopKind::Unrolled => ir.loop_property(back, "llvm.loop.unroll.full", false),
            LoopKind::Vectorized => ir.loop_property(back, "llvm.loop.vectorize.enable", true),
            LoopKind::Serial
            | LoopKind::Reduction
            | LoopKind::Parallel
            | LoopKind::ThreadBound(_)
            | LoopKind::VThread => {
                // Written out, a loop whose threads wait in it would begin several turns at once, and spill what they take.
                let waits = || body.any(&mut |s| matches!(s, Stmt::Barrier(_)));
                if self.rows.contains(&var) || around_turns(body) || waits() {
                    ir.loop_property(back, "llvm.loop.unroll.disable", false);
                }
            }
        }
        ir.at_end(after);
        Ok(())
    }

    /// A check that does not hold ends the function with its number.
    fn check(&mut self, cond: ExprId, text: &str) -> Result<()> {
        let ir = self.cx.ir;
        let number = self.prim.checks().iter().position(|t| t == text).map_or(0, |i| i as i64 + 1);
        let holds = self.fresh(cond)?;
        let (fails, after) = (ir.block(self.function), ir.block(self.function));
        ir.branch(holds, after, fails);
        ir.at_end(fails);
        ir.ret(Some(ir.const_int(ir.int(32), number)));
        ir.at_end(after);
        Ok(())
    }

    fn call(&mut self, func: &str, args: &[CallArg]) -> Result<()> {
        let callee = self.callee(func)?;
        let mut values = self.arguments(callee, args)?;
        if values.len() != callee.prim.params.len() {
            return Err(format!("`{func}` is called with {} arguments", values.len()));
        }
        if callee.context {
            values.push(self.context.unwrap_or(self.cx.ir.null()));
        }
        self.cx.ir.call(callee.value, &values);
        Ok(())
    }

    fn callee(&self, func: &str) -> Result<Declared<'a, 'c>> {
        self.cx.functions.get(func).copied().ok_or_else(|| format!("`{func}` is called but not defined"))
    }

    /// The arguments for a function's first parameters.
    fn arguments(&mut self, callee: Declared<'a, 'c>, args: &[CallArg]) -> Result<Vec<Value<'c>>> {
        let ir = self.cx.ir;
        self.known = vec![BTreeMap::new()];
        let mut values = Vec::new();
        for (param, arg) in callee.prim.params.iter().zip(args) {
            let value = match (param, arg) {
                (Param::Buffer(..) | Param::Workspace, CallArg::Buffer(buf)) => self.base(*buf)?,
                (Param::Value(var), CallArg::Value(value)) => {
                    let elem = callee.prim.vars[var.0 as usize].ty.elem;
                    let ty = self.cx.value_type(callee.prim, *var);
                    let signed = !matches!(Kind::of(elem), Kind::Bool);
                    let value = self.expr(*value)?;
                    if ty.is_float() { value } else { ir.resize(signed, value, ty) }
                }
                (Param::Buffer(..) | Param::Workspace, CallArg::Value(_)) | (Param::Value(_), CallArg::Buffer(_)) => {
                    return Err(format!("the arguments of `{}` are not its parameters", callee.prim.name));
                }
            };
            values.push(value);
        }
        Ok(values)
    }

    /// An expression of a new statement: nothing that an earlier one read holds any more.
    pub(super) fn fresh(&mut self, id: ExprId) -> Result<Value<'c>> {
        self.known = vec![BTreeMap::new()];
        self.expr(id)
    }

    /// A block of this function.
    pub(super) fn block(&self) -> Block<'c> {
        self.cx.ir.block(self.function)
    }

    /// The kind of an expression's lanes.
    pub(super) fn kind(&self, id: ExprId) -> Kind {
        Kind::of(self.prim.exprs.ty(id).elem)
    }

    /// Whether an expression is an index.
    pub(super) fn is_index(&self, id: ExprId) -> bool {
        self.prim.exprs.ty(id).elem == Elem::Index
    }

    /// The expression behind an id.
    pub(super) fn node(&self, id: ExprId) -> &'a Expr {
        self.prim.exprs.get(id)
    }
}

/// Whether loops that keep their turns stand in a statement. A loop around them is written out where a schedule says so,
/// never by LLVM: it would sink the sums of one turn's tile into the next, and hold two tiles where one fills the registers.
fn around_turns(body: &Stmt) -> bool {
    let mut found = false;
    body.walk(&mut |stmt| {
        found |= match stmt {
            Stmt::For { kind, .. } => !matches!(kind, LoopKind::Unrolled | LoopKind::Vectorized),
            _ => false,
        }
    });
    found
}

/// Whether sums inside may be taken in any order.
fn is_reduction(kind: LoopKind) -> bool {
    match kind {
        LoopKind::Reduction => true,
        LoopKind::Serial
        | LoopKind::Parallel
        | LoopKind::Vectorized
        | LoopKind::Unrolled
        | LoopKind::VThread
        | LoopKind::ThreadBound(_) => false,
    }
}
