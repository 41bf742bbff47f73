//! Reductions over ranges.

use std::rc::Rc;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{CmpOp, ReduceOp, UnaryOp};
use tenfold_ir::ops::Literal;
use tenfold_ir::relax::Type;
use tenfold_ir::tir::{Access, BufId, ExprId, IterKind, LoopKind, Stmt, VarId};
use tenfold_ir::{DType, Scalar};

use super::compute::{Iter, Leaf, Out, flat};
use super::cx::Elaborator;
use super::show::count;
use super::value::{Closure, Value};
use crate::ast::{Call, Expr, ExprKind, NodeId, Range, RangeStep};
use crate::code::Code;

/// The names of reductions over ranges.
pub(super) const REDUCTIONS: [&str; 9] = ["sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin"];

/// A reduction that is the whole body of a closure.
pub(super) struct Root<'a> {
    pub(super) op: ReduceOp,
    pub(super) ranges: &'a [Expr],
    pub(super) closure: &'a Expr,
}

/// A range: `first, first + stride, …`, `count` of them.
pub(super) struct Span {
    pub(super) first: IntExpr,
    pub(super) stride: i64,
    /// As many as there are, never negative.
    pub(super) count: IntExpr,
    /// The same, negative where the end lies before the beginning: inside of the range it is at least 1. Loops count
    /// to it, since a loop to a negative number has no turns.
    pub(super) raw: IntExpr,
    pub(super) node: NodeId,
}

fn reduce_op(name: &str) -> Option<ReduceOp> {
    match name {
        "sum" => Some(ReduceOp::Sum),
        "prod" => Some(ReduceOp::Prod),
        "max" => Some(ReduceOp::Max),
        "min" => Some(ReduceOp::Min),
        "mean" => Some(ReduceOp::Mean),
        "any" => Some(ReduceOp::Any),
        "all" => Some(ReduceOp::All),
        _ => None,
    }
}

/// Whether a call reduces over ranges.
pub(super) fn over_ranges(call: &Call) -> bool {
    matches!(call.args.first().map(|arg| &arg.kind), Some(ExprKind::Range(_)))
}

impl<'a> Elaborator<'a> {
    /// The reduction that a closure's body is, if it is one.
    pub(super) fn root(&self, body: &'a Expr) -> Option<Root<'a>> {
        match &body.kind {
            ExprKind::Block(block) if block.stmts.is_empty() => self.root(block.value.as_deref()?),
            ExprKind::Call(call) if over_ranges(call) && call.named.is_empty() => {
                let name = call.callee.name()?;
                if self.find(name).is_some() {
                    return None;
                }
                let op = reduce_op(name).filter(|op| *op != ReduceOp::Mean)?;
                let (closure, ranges) = call.args.split_last()?;
                Some(Root { op, ranges, closure })
            }
            _ => None,
        }
    }

    /// `sum(0..H, 0..W, |i, j| e)`.
    pub(super) fn reduction(&mut self, e: &'a Expr, call: &'a Call, name: &str, hint: Option<&Type>) -> Value<'a> {
        if !self.inside {
            return match self.root(e) {
                Some(root) => self.rank_zero_root(e.node, hint, root),
                None => self.rank_zero(e.node, hint, |me| me.reduction(e, call, name, hint)),
            };
        }
        if let Some(named) = call.named.first() {
            let message = format!("over ranges, `{name}` has no attribute `{}`", named.name.text);
            return self.fail(
                named.node,
                Code::Attribute,
                message,
                "give one range per index: `sum(0..H, 0..W, |i, j| …)`",
            );
        }
        let Some((closure, ranges)) = call.args.split_last() else { return Value::Unknown };
        let (spans, closure) = (self.spans(ranges), self.closure(closure));
        let (Some(spans), Some(closure)) = (spans, closure) else { return Value::Unknown };
        match reduce_op(name) {
            Some(op) => self.inner_reduction(e.node, op, &spans, &closure, hint),
            None => self.arg_reduction(e.node, name == "argmax", &spans, &closure),
        }
    }

    fn inner_reduction(
        &mut self,
        node: NodeId,
        op: ReduceOp,
        spans: &[Span],
        closure: &Rc<Closure<'a>>,
        hint: Option<&Type>,
    ) -> Value<'a> {
        self.enter();
        let outer = std::mem::replace(&mut self.frame.names, closure.names.clone());
        let mut leaves = Vec::new();
        let mut iters = None;
        let (body, value) = self.capture(|me| {
            iters = me.bind_spans(spans, closure);
            let value = me.in_closure(|me| me.expr(closure.body, hint));
            let found = me.leaves(closure.body.node, &value, true, hint, &mut leaves);
            if found.is_some() { value } else { Value::Unknown }
        });
        self.frame.names = outer;
        self.leave();
        let Some(iters) = iters else { return Value::Unknown };
        let dtypes: Vec<DType> = leaves.iter().map(|leaf| leaf.dtype).collect();
        if value.is_unknown() || !self.reducible(node, op, &dtypes) {
            return Value::Unknown;
        }
        let accs = self.accumulate(op, &leaves, &iters, body);
        let mut results = Vec::new();
        for (dtype, acc) in dtypes.iter().zip(&accs) {
            let sum = self.kernel.b.read_local(*acc);
            let whole = if op == ReduceOp::Mean { self.divided(sum, spans) } else { sum };
            results.push(self.kernel.b.cast(*dtype, whole));
        }
        self.shaped(&value, &mut results.into_iter())
    }

    /// Scalars in the structure of a value; what was an index value is one again.
    fn shaped(&mut self, like: &Value<'a>, scalars: &mut dyn Iterator<Item = ExprId>) -> Value<'a> {
        match like {
            Value::Tuple(items) => Value::Tuple(items.iter().map(|item| self.shaped(item, scalars)).collect()),
            Value::Index(_) | Value::Literal(Literal::Int(_)) => match scalars.next() {
                Some(e) if self.kernel.dtype(e) == Some(DType::I64) => Value::Index(self.atom(e, "index")),
                Some(e) => Value::Scalar(e),
                None => Value::Unknown,
            },
            _ => scalars.next().map_or(Value::Unknown, Value::Scalar),
        }
    }

    fn divided(&mut self, sum: ExprId, spans: &[Span]) -> ExprId {
        let count = spans.iter().fold(IntExpr::from(1), |all, span| &all * &span.count);
        let count = self.lower(&count);
        let dtype = self.kernel.dtype(sum).unwrap_or(DType::F32);
        let count = self.kernel.b.cast(dtype, count);
        self.kernel.b.div(sum, count)
    }

    /// Whether the elements have a dtype that the reduction takes; if not, that is reported.
    pub(super) fn reducible(&mut self, node: NodeId, op: ReduceOp, dtypes: &[DType]) -> bool {
        let expected = |dtype: DType| match op {
            ReduceOp::Any | ReduceOp::All => (!dtype.is_bool()).then_some(("bools", "compare first: `x != 0`")),
            ReduceOp::Mean => (!dtype.is_float()).then_some(("floats", "convert first: `x as f32`")),
            ReduceOp::Sum | ReduceOp::Prod => dtype.is_bool().then_some(("numbers", "convert first: `x as i32`")),
            ReduceOp::Max | ReduceOp::Min => {
                dtype.is_bool().then_some(("numbers", "of bools, `any` and `all` are the extremes"))
            }
        };
        for dtype in dtypes {
            let stored = dtype.is_stored().then_some(("a dtype to compute with", "convert first: `x as f32`"));
            if let Some((expected, help)) = stored.or_else(|| expected(*dtype)) {
                let message = format!("expected {expected}, found `{dtype}`");
                self.fail(node, Code::DtypeMismatch, message, help);
                return false;
            }
        }
        true
    }

    // Accumulation.

    /// Loops that accumulate into locals, which hold the results behind them.
    fn accumulate(&mut self, op: ReduceOp, leaves: &[Leaf], iters: &[Iter], body: Stmt) -> Vec<BufId> {
        let mut accs = Vec::new();
        let mut stmts = vec![body];
        for leaf in leaves {
            let dtype = op.accumulator(leaf.dtype);
            let start = self.kernel.scalar(op.unit(dtype));
            let acc = self.kernel.b.local("acc", start);
            let before = self.kernel.b.read_local(acc);
            let element = self.kernel.b.cast(dtype, leaf.element);
            let value = self.kernel.b.binary(op.combiner(), before, element);
            stmts.push(Stmt::Store { buf: acc, index: Vec::new(), value, access: Access::Proven });
            accs.push(acc);
        }
        let nest = self.loops(iters, flat(stmts));
        self.push(nest);
        accs
    }

    /// Nested loops whose iterations may be taken in any order.
    fn loops(&mut self, iters: &[Iter], body: Stmt) -> Stmt {
        let min = self.kernel.b.index(0);
        iters
            .iter()
            .rev()
            .fold(body, |body, (var, extent, _)| Stmt::loop_(*var, min, *extent, LoopKind::Reduction, body))
    }

    /// A reduction within each spatial element, by locals.
    pub(super) fn local_reduction(
        &mut self,
        op: ReduceOp,
        outs: &[Out],
        index: &[ExprId],
        iters: &[Iter],
        body: Stmt,
    ) -> Stmt {
        let (stmt, ()) = self.capture(|me| {
            let leaves: Vec<Leaf> = outs.iter().map(|out| Leaf { element: out.element, dtype: out.ty.dtype }).collect();
            let accs = me.accumulate(op, &leaves, iters, body);
            for (out, acc) in outs.iter().zip(accs) {
                let whole = me.kernel.b.read_local(acc);
                let value = me.kernel.b.cast(out.ty.dtype, whole);
                me.kernel.b.store(out.buf, index.to_vec(), value);
            }
        });
        stmt
    }

    /// What a reduction block stores at first.
    pub(super) fn init_stores(&mut self, op: ReduceOp, outs: &[Out], index: &[ExprId]) -> Vec<Stmt> {
        let mut stores = Vec::new();
        for out in outs {
            let value = self.kernel.scalar(op.unit(out.ty.dtype));
            stores.push(Stmt::Store { buf: out.buf, index: index.to_vec(), value, access: Access::Proven });
        }
        stores
    }

    /// What a reduction block stores then.
    pub(super) fn update_stores(&mut self, op: ReduceOp, outs: &[Out], index: &[ExprId]) -> Vec<Stmt> {
        let mut stores = Vec::new();
        for out in outs {
            let before = self.kernel.b.load(out.buf, index.to_vec(), Access::Proven);
            let value = self.kernel.b.binary(op.combiner(), before, out.element);
            stores.push(Stmt::Store { buf: out.buf, index: index.to_vec(), value, access: Access::Proven });
        }
        stores
    }

    // argmax and argmin.

    fn arg_reduction(&mut self, node: NodeId, largest: bool, spans: &[Span], closure: &Rc<Closure<'a>>) -> Value<'a> {
        let name = if largest { "argmax" } else { "argmin" };
        let [span] = spans else {
            let message = format!("`{name}` takes one range, found {}", spans.len());
            return self.fail(node, Code::ArgumentCount, message, "reduce over one index at a time");
        };
        if !self.surely(|prover| crate::extent::positive(prover, &span.raw)) {
            let message =
                format!("`{name}` needs an element, and its range is not proven to have one: it has `{}`", span.raw);
            return self.fail(span.node, Code::MaybeEmpty, message, "state a fact: `dims(N >= 1)`");
        }
        self.enter();
        let outer = std::mem::replace(&mut self.frame.names, closure.names.clone());
        let (body, (iters, element)) = self.capture(|me| {
            let iters = me.bind_spans(spans, closure);
            let value = me.in_closure(|me| me.expr(closure.body, None));
            let element = me.scalar(closure.body.node, &value).map(|e| {
                let var = me.kernel.b.let_("element", e);
                me.kernel.b.read(var)
            });
            (iters, element)
        });
        self.frame.names = outer;
        self.leave();
        let (Some(iters), Some(element)) = (iters, element) else { return Value::Unknown };
        let Some(dtype) = self.kernel.dtype(element) else { return Value::Unknown };
        let start = self.lower(&span.first);
        let at = self.kernel.b.local("at", start);
        let last = &span.first + &((&span.count - 1) * span.stride);
        let range = if span.stride > 0 { (span.first.clone(), &last + 1) } else { (last, &span.first + 1) };
        self.kernel.b.buf_mut(at).range = self.without_data(range);
        let worst = if largest { Scalar::least(dtype) } else { Scalar::greatest(dtype) };
        let worst = self.kernel.scalar(worst);
        let best = self.kernel.b.local("best", worst);
        let better = self.better(largest, dtype, element, best);
        let r = self.kernel.b.read(iters[0].0);
        let place = self.place(span, r);
        let place = self.kernel.b.cast(DType::I64, place);
        let store = |buf, value| Stmt::Store { buf, index: Vec::new(), value, access: Access::Proven };
        let then = Box::new(Stmt::Seq(vec![store(at, place), store(best, element)]));
        let update = Stmt::If { cond: better, then, otherwise: None };
        let nest = self.loops(&iters, flat(vec![body, update]));
        self.push(nest);
        let at = self.kernel.b.read_local(at);
        Value::Index(self.atom(at, name))
    }

    /// A range of what no name of data stands for, which is none of the kernel's variables: up to an axis that is no
    /// shorter, or what bounds it.
    fn without_data(&self, (lo, hi): (IntExpr, IntExpr)) -> Option<(IntExpr, IntExpr)> {
        let plain = |e: &IntExpr| !self.kernel.uses_atoms(e);
        if plain(&lo) && plain(&hi) {
            return Some((lo, hi));
        }
        // What a buffer holds is believed, so no bound may hang on arithmetic that may have wrapped.
        if self.is_in_doubt() {
            return None;
        }
        let bounds = |e: &IntExpr| self.prover().bounds(e);
        let mut axes = self.kernel.b.func().buffers.iter().flat_map(|buf| &buf.shape);
        let axis = axes.find(|extent| plain(extent) && self.prover().prove_le(&hi, extent)).cloned();
        let first = if plain(&lo) { lo } else { bounds(&lo).0.filter(plain)? };
        let end = if plain(&hi) { hi } else { axis.or_else(|| bounds(&hi).1.filter(plain))? };
        Some((first, end))
    }

    /// Whether an element comes before the best so far: larger, or the first NaN.
    fn better(&mut self, largest: bool, dtype: DType, element: ExprId, best: BufId) -> ExprId {
        let b = &mut self.kernel.b;
        let best = b.read_local(best);
        let op = if largest { CmpOp::Gt } else { CmpOp::Lt };
        let beyond = b.compare(op, element, best);
        if !dtype.is_float() {
            return beyond;
        }
        let (is_nan, was_nan) = (b.unary(UnaryOp::IsNan, element), b.unary(UnaryOp::IsNan, best));
        let not_yet = b.unary(UnaryOp::Not, was_nan);
        let first_nan = b.and(is_nan, not_yet);
        b.or(beyond, first_nan)
    }

    /// The index of iteration `r`.
    fn place(&mut self, span: &Span, r: ExprId) -> ExprId {
        let stride = self.kernel.b.index(span.stride);
        let offset = if span.stride == 1 { r } else { self.kernel.b.mul(r, stride) };
        if span.first.as_const() == Some(0) {
            return offset;
        }
        let first = self.lower(&span.first);
        self.kernel.b.add(first, offset)
    }

    // Ranges.

    /// The ranges of a reduction; `None` if one is unknown.
    pub(super) fn spans(&mut self, ranges: &'a [Expr]) -> Option<Vec<Span>> {
        let spans: Vec<Option<Span>> = ranges
            .iter()
            .map(|e| match &e.kind {
                ExprKind::Range(range) => self.span(range),
                _ => {
                    let value = self.expr(e, None);
                    if !value.is_unknown() {
                        let message = format!("expected a range, found {}", self.describe(&value));
                        self.fail(e.node, Code::TypeMismatch, message, "write `0..N`");
                    }
                    None
                }
            })
            .collect();
        spans.into_iter().collect()
    }

    /// `a..b` with its steps.
    pub(super) fn span(&mut self, range: &'a Range) -> Option<Span> {
        let (Some(start), Some(end)) = (&range.start, &range.end) else {
            self.unknown = true; // the parser says that it needs both
            return None;
        };
        let (a, b) = (self.expr(start, None), self.expr(end, None));
        let (a, b) = (self.index_of(start, &a), self.index_of(end, &b));
        let (a, b) = (a?, b?);
        let raw = &b - &a;
        let mut span = Span { first: a, stride: 1, count: raw.clone(), raw, node: range.node };
        if !crate::extent::non_negative(self.prover(), &span.count) {
            span.count = IntExpr::max(&span.count, &IntExpr::from(0));
        }
        for step in &range.steps {
            match step {
                RangeStep::Rev => {
                    span.first = &span.first + &((&span.raw - 1) * span.stride);
                    span.stride = span.stride.checked_neg()?;
                }
                RangeStep::StepBy(by) => {
                    let n = self.step_of(by)?;
                    span.count = (&span.count + (n - 1)).floor_div(&IntExpr::from(n));
                    span.raw = (&span.raw + (n - 1)).floor_div(&IntExpr::from(n));
                    span.stride = span.stride.checked_mul(n)?;
                }
            }
        }
        Some(span)
    }

    /// A variable per range, bound to the closure's parameters.
    pub(super) fn bind_spans(&mut self, spans: &[Span], closure: &Rc<Closure<'a>>) -> Option<Vec<Iter>> {
        if closure.params.len() != spans.len() {
            let (ranges, found) = (count(spans.len(), "range"), count(closure.params.len(), "index"));
            let message = format!("there is 1 index per range: {ranges}, and the closure takes {found}");
            self.fail(closure.node, Code::ArgumentCount, message, "write `sum(0..H, 0..W, |i, j| …)`");
            for param in closure.params {
                self.bind_unknown_names(&param.kind);
            }
            return None;
        }
        let mut iters = Vec::new();
        for (span, param) in spans.iter().zip(closure.params) {
            let mut names = Vec::new();
            crate::search::bound_names(&param.kind, &mut names);
            let (var, index) = self.bind_span(span, names.first().map_or("r", String::as_str));
            let extent = self.lower(&span.raw);
            iters.push((var, extent, IterKind::Reduce));
            self.bind_pattern(param, Value::Index(index));
        }
        Some(iters)
    }

    /// The variable of a range and the index that it stands for.
    fn bind_span(&mut self, span: &Span, name: &str) -> (VarId, IntExpr) {
        let var = self.index_var(name);
        let r = self.kernel.b.sym(var).clone();
        let index = self.know_span(span, &r);
        (var, index)
    }

    /// The index that counter `r` of a range stands for, and what is known of it.
    pub(super) fn know_span(&mut self, span: &Span, r: &tenfold_ir::arith::Sym) -> IntExpr {
        let counter = IntExpr::var(r.clone());
        self.graph.prover.assume_ge(&counter, &IntExpr::from(0));
        // Inside of the range it is not empty, so its count is what it is without the bound at 0.
        self.graph.prover.assume_lt(&counter, &span.raw);
        &span.first + &(&counter * span.stride)
    }
}
