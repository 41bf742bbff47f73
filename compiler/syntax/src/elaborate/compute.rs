//! Kernels: `compute`, and what reads elements outside of one.

use std::collections::BTreeSet;
use std::rc::Rc;

use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::ops::Literal;
use tenfold_ir::relax::{self, Op, SymKind, TensorType, Type, ValueId};
use tenfold_ir::tir::{self, BufId, BufUse, Elem, ExprId, IterKind, Param, Stmt, VarId};
use tenfold_ir::{DType, Function, Scalar};

use super::cx::Elaborator;
use super::kernel::Kernel;
use super::reduce::Root;
use super::show;
use super::value::{Closure, Value, VariableKind};
use crate::ast::{Call, Expr, ExprKind, NodeId, Pattern, PatternKind};
use crate::code::Code;
use crate::extent;

/// A loop of a block.
pub(super) type Iter = (VarId, ExprId, IterKind);

impl<'a> Elaborator<'a> {
    /// `compute([H, W], |i, j| e)`.
    pub(super) fn compute(&mut self, e: &'a Expr, call: &'a Call, hint: Option<&Type>) -> Value<'a> {
        if self.inside {
            return self.fail(
                e.node,
                Code::TensorInClosure,
                "a closure over elements holds scalars, and `compute` gives a tensor",
                "take it out of the closure: `let t = compute(…);`",
            );
        }
        let (extents, closure) = match call.args.as_slice() {
            [closure] => (None, closure),
            [extents, closure] => (Some(extents), closure),
            _ => {
                let message = format!("`compute` takes the extents and a closure, found {} operands", call.args.len());
                return self.fail(e.node, Code::ArgumentCount, message, "write `compute([H, W], |i, j| …)`");
            }
        };
        if let Some(named) = call.named.first() {
            let message = format!("`compute` has no attribute `{}`", named.name.text);
            return self.fail(named.node, Code::Attribute, message, "it has none");
        }
        let shape = match extents {
            Some(extents) => self.written_extents(extents),
            None => self.hinted_extents(e.node, hint),
        };
        let Some(closure) = self.closure(closure) else { return Value::Unknown };
        let Some(shape) = shape else {
            return self.check_only(&closure);
        };
        if closure.params.len() != shape.len() {
            let (axes, indices) = (show::count(shape.len(), "axis"), show::count(closure.params.len(), "index"));
            let message = format!("the tensor has {axes}, and the closure takes {indices}");
            return self.fail(closure.node, Code::ArgumentCount, message, "take one index per axis: `|i, j| …`");
        }
        self.build(e.node, &shape, &closure, hint)
    }

    /// Finds the errors in a closure whose extents are not known.
    fn check_only(&mut self, closure: &Rc<Closure<'a>>) -> Value<'a> {
        let mut names = BTreeSet::new();
        for param in closure.params {
            if let PatternKind::Name { name, .. } = &param.kind {
                names.insert(name.clone());
            }
        }
        let scope = std::mem::replace(&mut self.frame.names, closure.names.clone());
        for name in names {
            self.bind(&name, closure.node, VariableKind::Fixed, Value::Unknown);
        }
        let saved = std::mem::replace(&mut self.kernel, Kernel::new("check"));
        self.inside = true;
        self.expr(closure.body, None);
        self.inside = false;
        self.kernel = saved;
        self.frame.names = scope;
        Value::Unknown
    }

    /// `[H, pos + 1]`, each proven not to be negative.
    pub(super) fn written_extents(&mut self, e: &'a Expr) -> Option<Vec<IntExpr>> {
        let ExprKind::Array(items) = &e.kind else {
            let value = self.expr(e, None);
            if !value.is_unknown() {
                let message = format!("expected the extents, found {}", self.describe(&value));
                self.fail(e.node, Code::TypeMismatch, message, "write `[H, W]`");
            }
            return None;
        };
        let mut all = Vec::new();
        for item in items {
            let value = self.expr(item, None);
            let extent = self.index_of(item, &value);
            all.push(extent.and_then(|extent| self.extent_at(item, extent)));
        }
        if items.len() > crate::signature::MAX_RANK {
            let message = format!("a tensor has at most {} axes, found {}", crate::signature::MAX_RANK, items.len());
            self.fail(e.node, Code::Rank, message, "merge axes");
            return None;
        }
        all.into_iter().collect()
    }

    fn extent_at(&mut self, at: &Expr, extent: IntExpr) -> Option<IntExpr> {
        if extent::non_negative(self.prover(), &extent) {
            return Some(extent);
        }
        let message = format!("the extent `{extent}` is not proven to be 0 or more");
        self.fail(at.node, Code::NegativeExtent, message, "state a fact in `dims(…)` or `assert!`");
        None
    }

    fn hinted_extents(&mut self, node: NodeId, hint: Option<&Type>) -> Option<Vec<IntExpr>> {
        let first = match hint {
            Some(Type::Tuple(items)) => items.first(),
            other => other,
        };
        match first {
            Some(Type::Tensor(t)) => Some(t.shape.clone()),
            Some(Type::Tuple(_) | Type::Shape(_)) | None => {
                let message = "the extents of this `compute` are not written anywhere";
                self.fail(
                    node,
                    Code::ExtentsMissing,
                    message,
                    "write `compute([H, W], |i, j| …)`, or the type at the `let`",
                );
                None
            }
        }
    }

    /// A closure, written or named; anything else is reported.
    pub(super) fn closure(&mut self, e: &'a Expr) -> Option<Rc<Closure<'a>>> {
        match self.expr(e, None) {
            Value::Closure(closure) => Some(closure),
            Value::Unknown => None,
            other => {
                let message = format!("expected a closure, found {}", self.describe(&other));
                self.fail(e.node, Code::TypeMismatch, message, "write `|i| …`");
                None
            }
        }
    }

    /// Builds a kernel; `f` gives the values of its call and what they are components of.
    pub(super) fn in_kernel(
        &mut self,
        node: NodeId,
        f: impl FnOnce(&mut Self) -> Option<(Vec<ValueId>, Value<'a>)>,
    ) -> Value<'a> {
        let name = self.kernel_name();
        let around = self.prover().facts().len();
        let saved = std::mem::replace(&mut self.kernel, Kernel::new(&name));
        self.kernel.around = around;
        for sym in &self.syms {
            self.kernel.b.reserve(&Sym::new(sym));
        }
        let scope = self.frame.names.clone();
        self.enter();
        self.inside = true;
        let result = f(self);
        self.inside = false;
        self.leave();
        self.frame.names = scope;
        self.kernel = saved;
        match result {
            Some((values, like)) => self.like(node, &like, &mut values.into_iter()),
            None => Value::Unknown,
        }
    }

    /// A kernel of rank 0 for what reads elements at graph level.
    pub(super) fn rank_zero(
        &mut self,
        node: NodeId,
        hint: Option<&Type>,
        f: impl FnOnce(&mut Self) -> Value<'a>,
    ) -> Value<'a> {
        self.in_kernel(node, |me| {
            let (body, value) = me.capture(f);
            me.spatial_block(node, &[], &[], body, value, hint)
        })
    }

    /// A kernel of rank 0 that is one reduction.
    pub(super) fn rank_zero_root(&mut self, node: NodeId, hint: Option<&Type>, root: Root<'a>) -> Value<'a> {
        self.in_kernel(node, |me| me.root_reduction(node, &[], &[], root, hint))
    }

    /// The kernel of a `compute`.
    fn build(&mut self, node: NodeId, shape: &[IntExpr], closure: &Rc<Closure<'a>>, hint: Option<&Type>) -> Value<'a> {
        let hint = hint.map(element_type);
        let hint = hint.as_ref();
        self.in_kernel(node, |me| {
            me.frame.names.clone_from(&closure.names);
            me.reserve(shape);
            let iters = me.spatial(shape, closure.params);
            match me.root(closure.body) {
                Some(root) => me.root_reduction(node, shape, &iters, root, hint),
                None => {
                    let (body, value) = me.capture(|me| me.expr(closure.body, hint));
                    me.spatial_block(closure.body.node, shape, &iters, body, value, hint)
                }
            }
        })
    }

    /// Dims that the kernel uses become its parameters before a variable can take their names.
    fn reserve(&mut self, shape: &[IntExpr]) {
        for sym in shape.iter().flat_map(IntExpr::vars) {
            self.kernel.b.dim_param(&sym);
        }
    }

    /// One spatial variable per axis, bound to the closure's parameters.
    fn spatial(&mut self, shape: &[IntExpr], params: &'a [Pattern]) -> Vec<Iter> {
        let mut iters = Vec::new();
        for (axis, (extent, param)) in shape.iter().zip(params).enumerate() {
            let base = match &param.kind {
                PatternKind::Name { name, .. } => name.clone(),
                PatternKind::Ignore | PatternKind::Tuple(_) | PatternKind::Error => format!("i{axis}"),
            };
            let var = self.index_var(&base);
            let sym = self.kernel.b.sym(var).clone();
            self.graph.prover.assume_range(&sym, &IntExpr::from(0), extent);
            let extent = self.lower(extent);
            iters.push((var, extent, IterKind::Spatial));
            self.bind_pattern(param, Value::Index(IntExpr::var(sym)));
        }
        iters
    }

    /// A variable of the kernel that no symbol of the graph is called.
    pub(super) fn index_var(&mut self, base: &str) -> VarId {
        let mut name = base.to_string();
        let mut n = 1;
        while self.syms.contains(&name) {
            name = format!("{base}_{n}");
            n += 1;
        }
        self.kernel.b.index_var(&name)
    }

    fn kernel_name(&mut self) -> String {
        let entry = self.module.entry.clone();
        let base = if self.block == entry { format!("{entry}_kernel") } else { format!("{entry}_{}", self.block) };
        self.module.unique_name(&base)
    }

    fn spatial_block(
        &mut self,
        node: NodeId,
        shape: &[IntExpr],
        iters: &[Iter],
        body: Stmt,
        value: Value<'a>,
        hint: Option<&Type>,
    ) -> Option<(Vec<ValueId>, Value<'a>)> {
        let outs = self.outputs(node, &value, shape, hint)?;
        let index: Vec<ExprId> = iters.iter().map(|(var, ..)| self.kernel.b.read(*var)).collect();
        let mut all = vec![body];
        all.extend(outs.iter().map(|out| self.store_of(out, &index)));
        let block = self.block.clone();
        self.kernel.b.nest(&block, iters, None, flat(all));
        let values = self.finish(node, &outs)?;
        Some((values, value))
    }

    /// The output buffers for a value: one per component, each with the element to store.
    pub(super) fn outputs(
        &mut self,
        node: NodeId,
        value: &Value<'a>,
        shape: &[IntExpr],
        hint: Option<&Type>,
    ) -> Option<Vec<Out>> {
        let mut leaves = Vec::new();
        self.leaves(node, value, shape.is_empty(), hint, &mut leaves)?;
        let mut outs = Vec::new();
        for Leaf { element, dtype } in leaves {
            let range = self.range_of(element);
            let buf = self.kernel.b.buffer("out", dtype, shape.to_vec(), tir::Scope::Param);
            outs.push(Out { buf, element, ty: TensorType { dtype, shape: shape.to_vec() }, range });
        }
        Some(outs)
    }

    /// The scalars of a value. An index value is none, unless it leaves alone, as an `i64`.
    pub(super) fn leaves(
        &mut self,
        node: NodeId,
        value: &Value<'a>,
        alone: bool,
        hint: Option<&Type>,
        leaves: &mut Vec<Leaf>,
    ) -> Option<()> {
        if let Value::Tuple(items) = value {
            let hints: &[Type] = match hint {
                Some(Type::Tuple(hints)) => hints,
                Some(Type::Tensor(_) | Type::Shape(_)) | None => &[],
            };
            for (i, item) in items.iter().enumerate() {
                self.leaves(node, item, alone, hints.get(i), leaves)?;
            }
            return Some(());
        }
        let element = match (value, hint) {
            (Value::Literal(literal), Some(Type::Tensor(t))) => {
                let fixed = self.literal_as(node, *literal, t.dtype);
                self.scalar(node, &fixed)?
            }
            (Value::Index(e), None) if alone => {
                let e = self.lower(e);
                self.kernel.b.cast(DType::I64, e)
            }
            (Value::Literal(Literal::Int(n)), None) if alone => {
                let n = self.kernel.b.index(i64::try_from(*n).ok()?);
                self.kernel.b.cast(DType::I64, n)
            }
            (value, _) => self.scalar(node, value)?,
        };
        let dtype = self.kernel.dtype(element)?;
        leaves.push(Leaf { element, dtype });
        Some(())
    }

    /// The store of an output's element.
    pub(super) fn store_of(&mut self, out: &Out, index: &[ExprId]) -> Stmt {
        Stmt::Store { buf: out.buf, index: index.to_vec(), value: out.element, access: tir::Access::Proven }
    }

    /// Ends the kernel, adds it to the module and calls it; one value per output.
    pub(super) fn finish(&mut self, node: NodeId, outs: &[Out]) -> Option<Vec<ValueId>> {
        let kernel = std::mem::replace(&mut self.kernel, Kernel::new("done"));
        let Kernel { mut b, inputs, updated, around, .. } = kernel;
        self.close_over(&mut b, around);
        let func = b.func_mut();
        let values: Vec<Param> = func.params.iter().filter(|p| matches!(p, Param::Value(_))).cloned().collect();
        let syms: Vec<Sym> = values.iter().filter_map(|p| value_sym(func, p)).collect();
        func.params = values;
        let usage = |buf: &BufId| if updated.contains(buf) { BufUse::InOut } else { BufUse::In };
        func.params.extend(inputs.iter().map(|(_, buf)| Param::Buffer(*buf, usage(buf))));
        let own = outs.iter().filter(|out| !updated.contains(&out.buf));
        func.params.extend(own.map(|out| Param::Buffer(out.buf, BufUse::Out)));
        func.loc = self.loc(node);
        func.strict = self.strict();
        let mut prim = b.finish();
        prim.state_dims(&relax::dims(self.graph.function()));
        let name = prim.name.clone();
        let op = Op::CallTir {
            func: name.clone(),
            syms: syms.into_iter().map(IntExpr::var).collect(),
            results: outs.iter().map(|out| out.ty.clone()).collect(),
            in_place: outs.iter().map(|out| inputs.iter().position(|(_, buf)| *buf == out.buf)).collect(),
        };
        self.module.functions.insert(name, Function::Prim(prim));
        let args: Vec<ValueId> = inputs.iter().map(|(v, _)| *v).collect();
        let result = self.emit(node, op, &args, &[])?;
        let block = self.block.clone();
        self.graph.name_value(result, &block);
        let mut values = Vec::new();
        if let [out] = outs {
            self.give_range(result, out);
            values.push(result);
        } else {
            for (i, out) in outs.iter().enumerate() {
                let v = self.emit(node, Op::TupleGet(i), &[result], &[])?;
                self.give_range(v, out);
                values.push(v);
            }
        }
        Some(values)
    }

    /// Values of the graph in the structure of a value of the kernel.
    fn like(&mut self, node: NodeId, like: &Value<'a>, values: &mut dyn Iterator<Item = ValueId>) -> Value<'a> {
        match like {
            Value::Tuple(items) => Value::Tuple(items.iter().map(|item| self.like(node, item, values)).collect()),
            Value::Index(_) => match values.next() {
                Some(v) if self.graph.tensor(v).shape.is_empty() && self.graph.tensor(v).dtype == DType::I64 => {
                    let at = Expr { node, kind: ExprKind::Name("index".to_string()) };
                    self.index_of(&at, &Value::Tensor(v)).map_or(Value::Unknown, Value::Index)
                }
                Some(v) => Value::Tensor(v),
                None => Value::Unknown,
            },
            _ => values.next().map_or(Value::Unknown, Value::Tensor),
        }
    }

    /// A range over dims holds outside of the kernel too.
    fn give_range(&mut self, v: ValueId, out: &Out) {
        let (Some(lo), Some(hi)) = &out.range else { return };
        let known = |e: &IntExpr| e.vars().iter().all(|sym| self.syms.contains(sym.as_str()));
        let (least, greatest) = (Scalar::least(out.ty.dtype).to_i128(), Scalar::greatest(out.ty.dtype).to_i128());
        let whole = |e: &IntExpr, n: i128| e.as_const().is_some_and(|c| i128::from(c) == n);
        if whole(lo, least) && whole(hi, greatest) {
            return;
        }
        if out.ty.dtype.is_int() && known(lo) && known(hi) {
            self.graph.set_range(v, lo.clone(), hi + 1);
        }
    }

    /// Whether floats are computed in the order of the source.
    pub(super) fn strict(&self) -> bool {
        self.frame.function.attributes.numerics.as_ref().is_some_and(|text| text.value == "strict")
    }

    /// The dims of buffers and of facts about them become parameters, so that proofs can be redone inside.
    fn close_over(&mut self, b: &mut tir::Builder, around: usize) {
        let graph = self.graph.function();
        let mut syms: BTreeSet<Sym> =
            b.func().buffers.iter().flat_map(|buf| &buf.shape).flat_map(IntExpr::vars).collect();
        for range in b.func().buffers.iter().filter_map(|buf| buf.range.as_ref()) {
            syms.extend(range.0.vars());
            syms.extend(range.1.vars());
        }
        syms.extend(b.func().params.iter().filter_map(|p| value_sym(b.func(), p)));
        let computed = self.computed_extents();
        let facts: Vec<Fact> = graph.facts.iter().map(|f| f.fact.clone()).chain(computed).collect();
        // What holds around the call, which stands in a branch or in a loop; a turn of the kernel's own loops says more.
        let around: Vec<Fact> = self.prover().facts().iter().take(around).skip(self.given).cloned().collect();
        tie(graph, facts.iter().chain(&around), &mut syms);
        for sym in &syms {
            b.dim_param(sym);
        }
        // Ranges name variables of loops, too, of which nothing holds outside of them.
        let syms: BTreeSet<Sym> = b.func().params.iter().filter_map(|p| value_sym(b.func(), p)).collect();
        let natural = graph.syms.iter().filter(|decl| match decl.kind {
            SymKind::Dim { .. } => true,
            SymKind::Stride { .. } => false,
            SymKind::IndexParam { unsigned, .. } => unsigned,
            SymKind::Bound(_) | SymKind::Loop(_) => false,
        });
        let mut known: Vec<Fact> = natural
            .filter(|decl| syms.contains(&decl.sym))
            .map(|decl| extent::at_least_zero(IntExpr::var(decl.sym.clone())))
            .collect();
        for fact in facts.into_iter().chain(around) {
            if fact.vars().is_subset(&syms) && !known.contains(&fact) {
                known.push(fact);
            }
        }
        b.func_mut().facts = known;
    }

    /// Extents of parameters that are computed are not negative.
    fn computed_extents(&self) -> Vec<Fact> {
        let graph = self.graph.function();
        let dims = graph.params.iter().flat_map(|p| match &graph.values[p.value.0 as usize].ty {
            relax::Type::Tensor(t) => t.shape.as_slice(),
            relax::Type::Tuple(_) | relax::Type::Shape(_) => &[],
        });
        let computed = dims.filter(|d| d.as_const().is_none() && d.as_var().is_none());
        computed.map(|d| extent::at_least_zero(d.clone())).collect()
    }

    // Roots.

    /// A reduction that is the whole body becomes a block of its own kind.
    fn root_reduction(
        &mut self,
        node: NodeId,
        shape: &[IntExpr],
        spatial: &[Iter],
        root: Root<'a>,
        hint: Option<&Type>,
    ) -> Option<(Vec<ValueId>, Value<'a>)> {
        let (spans, closure) = (self.spans(root.ranges), self.closure(root.closure));
        let (spans, closure) = (spans?, closure?);
        let own: BTreeSet<Sym> = spatial.iter().map(|(var, ..)| self.kernel.b.sym(*var).clone()).collect();
        self.frame.names.clone_from(&closure.names);
        // A block starts at its first turn, so over what may be empty the start is a statement of its own. This is asked
        // before the ranges are bound, which says that there is a turn.
        let filled = spans.iter().all(|span| self.graph.prover.prove_ge0(&(&span.count - 1)));
        let mut iters = None;
        let (body, value) = self.capture(|me| {
            iters = me.bind_spans(&spans, &closure);
            me.expr(closure.body, hint)
        });
        let iters = iters?;
        if value.is_unknown() {
            return None;
        }
        let outs = self.outputs(closure.body.node, &value, shape, hint)?;
        let dtypes: Vec<DType> = outs.iter().map(|out| out.ty.dtype).collect();
        if !self.reducible(node, root.op, &dtypes) {
            return None;
        }
        let index: Vec<ExprId> = spatial.iter().map(|(var, ..)| self.kernel.b.read(*var)).collect();
        let depends = |e: &IntExpr| self.kernel.uses_atoms(e) || e.vars().iter().any(|v| own.contains(v));
        // A block's loops have fixed counts; one that may be negative is a loop within.
        let rectangular = !spans.iter().any(|span| span.raw != span.count || depends(&span.raw));
        let halves = dtypes.iter().any(|dtype| matches!(dtype, DType::F16 | DType::BF16));
        let block = self.block.clone();
        if rectangular && !halves && filled {
            let init = self.init_stores(root.op, &outs, &index);
            let mut stmts = vec![body];
            stmts.extend(self.update_stores(root.op, &outs, &index));
            let all: Vec<Iter> = spatial.iter().copied().chain(iters).collect();
            self.kernel.b.nest(&block, &all, Some(flat(init)), flat(stmts));
        } else {
            let stmt = self.local_reduction(root.op, &outs, &index, &iters, body);
            self.kernel.b.nest(&block, spatial, None, stmt);
        }
        // What the elements lie between says nothing of their sum.
        let unranged: Vec<Out> = outs.into_iter().map(|out| Out { range: (None, None), ..out }).collect();
        let values = self.finish(node, &unranged)?;
        Some((values, value))
    }

    /// The name for block and value, from a `let`.
    pub(super) fn named<R>(&mut self, name: Option<&str>, f: impl FnOnce(&mut Self) -> R) -> R {
        let Some(name) = name else { return f(self) };
        let before = std::mem::replace(&mut self.block, name.to_string());
        let result = f(self);
        self.block = before;
        result
    }
}

/// Adds the symbols of the graph that facts tie to those already there.
fn tie<'f>(graph: &relax::Function, facts: impl Iterator<Item = &'f Fact>, syms: &mut BTreeSet<Sym>) {
    let declared: BTreeSet<Sym> = graph.syms.iter().map(|decl| decl.sym.clone()).collect();
    let tying: Vec<BTreeSet<Sym>> = facts.map(Fact::vars).filter(|vars| vars.is_subset(&declared)).collect();
    loop {
        let before = syms.len();
        for vars in tying.iter().filter(|vars| !vars.is_disjoint(syms)).collect::<Vec<_>>() {
            syms.extend(vars.iter().cloned());
        }
        if syms.len() == before {
            return;
        }
    }
}

/// A scalar of a value.
pub(super) struct Leaf {
    /// The scalar.
    pub(super) element: ExprId,
    /// Its dtype.
    pub(super) dtype: DType,
}

/// An output of a kernel.
pub(super) struct Out {
    /// Its buffer.
    pub(super) buf: BufId,
    /// The element to store.
    pub(super) element: ExprId,
    /// Its type.
    pub(super) ty: TensorType,
    /// What an integer's elements lie between, both inclusive.
    pub(super) range: super::ranges::Range,
}

/// Statements in order. What follows a `let` or an allocation stands in its scope.
pub(super) fn flat(stmts: Vec<Stmt>) -> Stmt {
    stmts.into_iter().fold(Stmt::Seq(Vec::new()), append)
}

fn append(first: Stmt, then: Stmt) -> Stmt {
    match first {
        Stmt::Let { var, value, body } => Stmt::Let { var, value, body: Box::new(append(*body, then)) },
        Stmt::Alloc { buf, body } => Stmt::Alloc { buf, body: Box::new(append(*body, then)) },
        Stmt::Seq(mut items) => {
            match (items.pop(), then) {
                (Some(open @ (Stmt::Let { .. } | Stmt::Alloc { .. })), then) => items.push(append(open, then)),
                (last, Stmt::Seq(more)) => {
                    items.extend(last);
                    items.extend(more);
                }
                (last, one) => {
                    items.extend(last);
                    items.push(one);
                }
            }
            if items.len() == 1 { items.remove(0) } else { Stmt::Seq(items) }
        }
        first => append(Stmt::Seq(vec![first]), then),
    }
}

fn value_sym(func: &tir::PrimFunc, param: &Param) -> Option<Sym> {
    match param {
        Param::Value(var) => {
            let data = &func.vars[var.0 as usize];
            (data.ty.elem == Elem::Index).then(|| data.sym.clone())
        }
        Param::Buffer(..) | Param::Workspace => None,
    }
}

/// The type of an element of a tensor type.
fn element_type(ty: &Type) -> Type {
    match ty {
        Type::Tensor(t) => Type::Tensor(TensorType { dtype: t.dtype, shape: Vec::new() }),
        Type::Tuple(items) => Type::Tuple(items.iter().map(element_type).collect()),
        Type::Shape(rank) => Type::Shape(*rank),
    }
}
