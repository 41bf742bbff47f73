//! Loops over elements: a `for` or `while` that touches tensors by element alone becomes one prim-func.
//!
//! In it a variable that is assigned to lives in a local of the kernel, its [`Cell`], and a tensor that is stored to is
//! updated in place. What is read of either is bound at once, since an expression is evaluated where a statement uses
//! it, and by then the memory may hold another value.

use std::collections::BTreeSet;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::{self, Literal, OpKind};
use tenfold_ir::relax::{Op, SliceAxis, TensorType, ValueId};
use tenfold_ir::tir::{Access, LoopKind, Scope, Stmt};
use tenfold_ir::{DType, Scalar};

use super::compute::{Out, flat};
use super::cx::Elaborator;
use super::index::{Axis, Indexed};
use super::number::Truth;
use super::reduce::{Span, over_ranges};
use super::value::{Value, VariableKind};
use crate::ast::{Block, Call, Expr, ExprKind, NodeId, Pattern, Target, TargetKind};
use crate::search;

impl<'a> Elaborator<'a> {
    // Which loops are nests.

    /// Whether a loop touches tensors by element alone.
    pub(super) fn only_elements(&self, condition: Option<&Expr>, body: &Block) -> bool {
        let inner = search::bound_in(body);
        let whole = |name: &String| !inner.contains(name) && self.is_whole_tensor(name);
        let mut fine = true;
        search::each_target(body, &mut |target| match &target.kind {
            TargetKind::Name(name) => fine &= !whole(name),
            TargetKind::Element { indices, .. } => fine &= !indices.iter().any(is_range),
            TargetKind::Tuple(_) | TargetKind::Ignore | TargetKind::Error => {}
        });
        // Tensors that are indexed where they stand; outer expressions are seen first.
        let mut indexed: BTreeSet<NodeId> = BTreeSet::new();
        let mut see = |e: &Expr| match &e.kind {
            ExprKind::Name(name) => fine &= indexed.contains(&e.node) || !whole(name),
            ExprKind::Call(call) => fine &= self.is_element_call(call),
            ExprKind::Element { tensor, indices } => {
                indexed.insert(tensor.node);
                fine &= !indices.iter().any(is_range);
            }
            ExprKind::Get { tensor, .. } => {
                indexed.insert(tensor.node);
            }
            ExprKind::MutRef(_) | ExprKind::MatchShape { .. } | ExprKind::ExternCall { .. } => fine = false,
            _ => {}
        };
        condition.into_iter().for_each(|e| search::each_expr(e, &mut see));
        search::each_in_block(body, &mut see);
        fine
    }

    fn is_whole_tensor(&self, name: &str) -> bool {
        self.find(name).is_some_and(|var| self.holds_tensors(&self.vars[var].value))
    }

    fn is_element_call(&self, call: &Call) -> bool {
        let Some(name) = call.callee.name() else { return true };
        if self.find(name).is_some() || over_ranges(call) || matches!(name, "reduce" | "fold") {
            return true;
        }
        match ops::lookup(name).map(|def| def.kind) {
            Some(OpKind::Element(_)) => true,
            Some(OpKind::Graph(_)) => false,
            None => !matches!(name, "compute" | "scan"),
        }
    }

    // The kernel.

    /// A loop over elements, as one kernel. `walk` pushes it.
    pub(super) fn nest(&mut self, node: NodeId, body: &'a Block, walk: impl Fn(&mut Self)) {
        let vars = self.assigned_vars(body);
        for var in &vars {
            self.own_value(node, *var);
        }
        let result = self.in_kernel(node, |me| me.nest_kernel(node, &vars, body, &walk));
        let Value::Tuple(values) = result else { return };
        for (var, value) in vars.into_iter().zip(values) {
            let name = self.vars[var].name.clone();
            self.vars[var].value = self.named_value(&name, value);
        }
    }

    /// The variables from outside that a block assigns to, each once.
    pub(super) fn assigned_vars(&self, body: &Block) -> Vec<usize> {
        let mut vars: Vec<usize> = search::assigned(body).iter().filter_map(|name| self.find(name)).collect();
        vars.sort_unstable();
        vars.dedup();
        vars.retain(|var| !matches!(self.vars[*var].kind, VariableKind::Fixed));
        vars
    }

    /// A tensor that another name also means is copied, so that the other keeps it.
    fn own_value(&mut self, node: NodeId, var: usize) {
        let Value::Tensor(v) = self.vars[var].value else { return };
        let others = self.vars.iter().enumerate().filter(|(other, _)| *other != var);
        if !others.into_iter().any(|(_, other)| holds(&other.value, v)) {
            return;
        }
        let shape = self.graph.tensor(v).shape.clone();
        let whole = |extent| SliceAxis { begin: IntExpr::from(0), extent, step: 1 };
        let axes = shape.into_iter().map(whole).collect();
        if let Some(copy) = self.emit(node, Op::Slice { axes, drop: Vec::new() }, &[v], &[]) {
            self.vars[var].value = Value::Tensor(copy);
        }
    }

    fn nest_kernel(
        &mut self,
        node: NodeId,
        vars: &[usize],
        body: &'a Block,
        walk: &impl Fn(&mut Self),
    ) -> Option<(Vec<ValueId>, Value<'a>)> {
        let outer = std::mem::replace(&mut self.statements, true);
        if search::binds_mutable(body) || vars.iter().any(|var| matches!(self.vars[*var].value, Value::Literal(_))) {
            self.rehearse(walk);
        }
        let values: Vec<Value<'a>> = vars.iter().map(|var| self.vars[*var].value.clone()).collect();
        let (start, ()) = self.capture(|me| vars.iter().for_each(|var| me.enter_nest(*var)));
        let (stmt, ()) = self.capture(walk);
        let finished = self.finish_nest(node, vars, vec![start, stmt]);
        for (var, value) in vars.iter().zip(values) {
            self.vars[*var].cell = None;
            self.vars[*var].value = value;
        }
        self.statements = outer;
        finished
    }

    /// A variable as the loop sees it: a tensor in its own memory, a scalar in a local.
    fn enter_nest(&mut self, var: usize) {
        if let Value::Tensor(v) = self.vars[var].value
            && self.is_memory(var)
        {
            let buf = self.kernel.input(&self.graph, v);
            self.kernel.b.buf_mut(buf).range = None;
            self.kernel.updated.insert(buf);
            return;
        }
        self.make_cell(var);
    }

    /// Whether a variable is memory of its own: a tensor with axes, or state.
    fn is_memory(&self, var: usize) -> bool {
        self.holds_tensors(&self.vars[var].value) || matches!(self.vars[var].kind, VariableKind::State)
    }

    /// The values after the loop are what the kernel gives.
    fn finish_nest(&mut self, node: NodeId, vars: &[usize], mut stmts: Vec<Stmt>) -> Option<(Vec<ValueId>, Value<'a>)> {
        let mut outs = Vec::new();
        let mut like = Vec::new();
        let (reads, all) = self.capture(|me| {
            for var in vars {
                let (value, mut more) = me.left(node, *var)?;
                outs.append(&mut more);
                like.push(value);
            }
            Some(())
        });
        all?;
        stmts.push(reads);
        stmts.extend(outs.iter().filter(|out| !self.kernel.updated.contains(&out.buf)).map(store_scalar));
        let block = self.block.clone();
        self.kernel.b.nest(&block, &[], None, flat(stmts));
        let values = if outs.is_empty() { Vec::new() } else { self.finish(node, &outs)? };
        Some((values, Value::Tuple(like)))
    }

    /// What a variable leaves: the outputs of the kernel, and the value that they make up.
    fn left(&mut self, node: NodeId, var: usize) -> Option<(Value<'a>, Vec<Out>)> {
        if let Value::Tensor(v) = self.vars[var].value
            && self.is_memory(var)
        {
            let ty = self.graph.tensor(v).clone();
            let buf = self.kernel.input(&self.graph, v);
            let element = self.kernel.scalar(Scalar::zero(ty.dtype));
            return Some((Value::Unit, vec![Out { buf, element, ty, range: (None, None) }]));
        }
        let last = self.variable(var);
        let outs = match &last {
            Value::Unknown => return None,
            last => self.last_outputs(node, last)?,
        };
        Some((last, outs))
    }

    fn last_outputs(&mut self, node: NodeId, last: &Value<'a>) -> Option<Vec<Out>> {
        let mut leaves = Vec::new();
        self.leaves(node, last, true, None, &mut leaves)?;
        let mut outs = Vec::new();
        for leaf in leaves {
            let ty = TensorType { dtype: leaf.dtype, shape: Vec::new() };
            let buf = self.kernel.b.buffer("out", leaf.dtype, Vec::new(), Scope::Param);
            outs.push(Out { buf, element: leaf.element, ty, range: (None, None) });
        }
        Some(outs)
    }

    /// Walks statements once to learn what dtypes their literals meet; nothing else of it stays.
    pub(super) fn rehearse(&mut self, walk: impl FnOnce(&mut Self)) {
        if self.rehearsing {
            return;
        }
        let (kernel, vars, names) = (self.kernel.clone(), self.vars.clone(), self.frame.names.clone());
        let (diagnostics, unknown) = (self.diagnostics.clone(), self.unknown);
        self.rehearsing = true;
        self.enter();
        self.capture(walk);
        self.leave();
        self.rehearsing = false;
        (self.kernel, self.vars, self.frame.names) = (kernel, vars, names);
        (self.diagnostics, self.unknown) = (diagnostics, unknown);
    }

    // Loops within a kernel.

    /// `for` in a kernel.
    pub(super) fn kernel_for(&mut self, variable: &'a Pattern, span: &Span, body: &'a Block) {
        let mut names = Vec::new();
        search::bound_names(&variable.kind, &mut names);
        let var = self.index_var(names.first().map_or("i", String::as_str));
        let counter = self.kernel.b.sym(var).clone();
        self.enter();
        self.forget_assigned(body);
        let scope = self.frame.names.len();
        let (stmt, ()) = self.capture(|me| {
            let index = me.know_span(span, &counter);
            me.bind_pattern(variable, Value::Index(index));
            me.block(body, None);
        });
        self.frame.names.truncate(scope);
        self.leave();
        let (min, extent) = (self.kernel.b.index(0), self.lower(&span.raw));
        self.push(Stmt::loop_(var, min, extent, LoopKind::Serial, stmt));
    }

    /// `while` in a kernel. The condition is a statement of the turn, so that what it reads is known in the body.
    pub(super) fn kernel_while(&mut self, condition: &'a Expr, body: &'a Block) {
        let yes = self.kernel.scalar(Scalar::bool(true));
        let go = self.kernel.b.local("go", yes);
        self.enter();
        self.forget_assigned(body);
        let (turn, ()) = self.capture(|me| me.while_turn(condition, body, go));
        self.leave();
        let cond = self.kernel.b.read_local(go);
        self.push(Stmt::While { cond, body: Box::new(turn) });
    }

    fn while_turn(&mut self, condition: &'a Expr, body: &'a Block, go: tenfold_ir::tir::BufId) {
        let value = self.expr(condition, None);
        let known = self.cond_of(&value);
        let truth = self.truth(condition.node, &self.decided(value));
        let never = matches!(truth, Some(Truth::Known(false))) && !self.rehearsing;
        let cond = match truth {
            Some(Truth::Known(t)) => self.kernel.scalar(Scalar::bool(t)),
            Some(Truth::Element(e)) => e,
            Some(Truth::Graph(_)) | None => self.kernel.scalar(Scalar::bool(false)),
        };
        self.enter();
        known.yes.into_iter().for_each(|fact| self.assume(fact));
        let (then, ()) = self.capture(|me| {
            if !never {
                me.block(body, None);
            }
        });
        self.leave();
        let no = self.kernel.scalar(Scalar::bool(false));
        let stop = Stmt::Store { buf: go, index: Vec::new(), value: no, access: Access::Proven };
        self.push(Stmt::If { cond, then: Box::new(then), otherwise: Some(Box::new(stop)) });
    }

    // Stores.

    /// `x[[i]] = e` in a kernel.
    pub(super) fn store_element(
        &mut self,
        target: &'a Target,
        (tensor, indices): (&str, &'a [Expr]),
        v: ValueId,
        value: Value<'a>,
        value_node: NodeId,
    ) {
        let ty = self.graph.tensor(v).clone();
        let of = Indexed { text: tensor, ty: &ty, store: true };
        let axes = self.axes(target.node, &of, indices);
        let value = self.coerce(value_node, value, ty.dtype);
        let (Some(axes), false) = (axes, value.is_unknown()) else { return };
        let Some(value) = self.scalar_of(value_node, &value, ty.dtype) else { return };
        let mut index = Vec::new();
        for axis in axes {
            let Axis::At(e) = axis else { return };
            index.push(self.lower(&e));
        }
        let buf = self.kernel.input(&self.graph, v);
        self.kernel.b.store(buf, index, value);
    }

    /// `x = e` in a kernel, `x` being bound in it or carried by it.
    pub(super) fn assign_in_kernel(&mut self, var: usize, value: Value<'a>, node: NodeId) {
        let before = self.vars[var].value.clone();
        let value = self.kept(node, &before, value, var);
        match self.vars[var].cell.clone() {
            Some(cell) => self.set_cell(node, &cell, value, &before),
            None => {
                self.note_literal(var, &value);
                self.vars[var].value = value;
            }
        }
    }

    /// In a rehearsal: the dtype that a literal meets.
    fn note_literal(&mut self, var: usize, value: &Value<'a>) {
        let literal = matches!(self.vars[var].value, Value::Literal(_));
        let dtype = self.type_of(value).and_then(|ty| match ty {
            tenfold_ir::relax::Type::Tensor(t) => Some(t.dtype),
            tenfold_ir::relax::Type::Tuple(_) | tenfold_ir::relax::Type::Shape(_) => None,
        });
        if let (true, Some(dtype)) = (literal, dtype) {
            let key = (self.frame.source, self.vars[var].node);
            self.literals.insert(key, dtype);
        }
    }

    /// The dtype of a literal that a variable begins with: of what it meets, else that of a literal alone.
    pub(super) fn literal_dtype(&self, var: usize, literal: Literal) -> Option<DType> {
        let met = self.literals.get(&(self.frame.source, self.vars[var].node)).copied();
        met.or(match literal {
            Literal::Float(_) => Some(DType::F32),
            Literal::Int(_) => None,
        })
    }
}

fn store_scalar(out: &Out) -> Stmt {
    Stmt::Store { buf: out.buf, index: Vec::new(), value: out.element, access: Access::Proven }
}

fn is_range(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Range(_))
}

/// Whether a value is or holds a tensor of the graph.
fn holds(value: &Value<'_>, v: ValueId) -> bool {
    match value {
        Value::Tensor(other) => *other == v,
        Value::Tuple(items) | Value::Array(items) => items.iter().any(|item| holds(item, v)),
        Value::Unknown
        | Value::Unit
        | Value::Index(_)
        | Value::Literal(_)
        | Value::Fixed(_)
        | Value::Text(_)
        | Value::Scalar(_)
        | Value::Closure(_) => false,
    }
}
