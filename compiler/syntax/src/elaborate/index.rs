//! Elements and slices, with the proofs that they lie inside.

use tenfold_ir::arith::{IntExpr, Sym, View};
use tenfold_ir::ops::show_tensor;
use tenfold_ir::relax::{Op, SliceAxis, TensorType, Type, ValueId};
use tenfold_ir::tir::{Access, BufId, ExprId};

use super::cx::Elaborator;
use super::show;
use super::value::Value;
use crate::ast::{BinaryOp, Expr, ExprKind, GetMode, NodeId, Range, RangeStep};
use crate::code::Code;
use crate::diagnostic::Diagnostic;
use crate::extent;

/// One index of an element or slice.
pub(super) enum Axis {
    /// One element: the axis goes.
    At(IntExpr),
    /// A part: the axis stays.
    Part(SliceAxis),
}

/// What is indexed, for texts.
pub(super) struct Indexed<'t> {
    /// `x`.
    pub(super) text: &'t str,
    /// Its type.
    pub(super) ty: &'t TensorType,
    /// Whether it is stored to.
    pub(super) store: bool,
}

impl<'a> Elaborator<'a> {
    /// `x[[i, ..]]`.
    pub(super) fn element_access(&mut self, e: &'a Expr, tensor: &'a Expr, indices: &'a [Expr]) -> Value<'a> {
        let value = self.expr(tensor, None);
        let text = show::expr(tensor);
        let Some(v) = self.indexed(tensor.node, &text, &value) else {
            self.indices_of_unknown(indices);
            return Value::Unknown;
        };
        let ty = self.graph.tensor(v).clone();
        let of = Indexed { text: &text, ty: &ty, store: false };
        let Some(axes) = self.axes(e.node, &of, indices) else { return Value::Unknown };
        if self.inside {
            return self.load(e.node, v, &axes);
        }
        self.slice(e.node, v, &axes)
    }

    /// A part of a tensor of the graph.
    pub(super) fn slice(&mut self, node: NodeId, v: ValueId, axes: &[Axis]) -> Value<'a> {
        let (axes, drop) = slice_axes(axes);
        if whole_tensor(&axes, &drop, &self.graph.tensor(v).shape) {
            return Value::Tensor(v);
        }
        match self.emit(node, Op::Slice { axes, drop }, &[v], &[]) {
            Some(v) => Value::Tensor(v),
            None => Value::Unknown,
        }
    }

    /// The tensor that is indexed; anything else is reported.
    pub(super) fn indexed(&mut self, node: NodeId, text: &str, value: &Value<'a>) -> Option<ValueId> {
        match value {
            Value::Tensor(v) => Some(*v),
            Value::Unknown => None,
            _ => {
                let message = format!("expected a tensor, found {}", self.describe(value));
                self.fail(node, Code::TypeMismatch, message, format!("`{text}` has no elements to index"));
                None
            }
        }
    }

    /// Errors inside of the indices are found even if the tensor is unknown.
    pub(super) fn indices_of_unknown(&mut self, indices: &'a [Expr]) {
        for index in indices {
            match &index.kind {
                ExprKind::Range(range) => {
                    for end in [&range.start, &range.end].into_iter().flatten() {
                        self.expr(end, None);
                    }
                }
                _ => {
                    self.expr(index, None);
                }
            }
        }
    }

    pub(super) fn load(&mut self, node: NodeId, v: ValueId, axes: &[Axis]) -> Value<'a> {
        let mut index = Vec::new();
        for axis in axes {
            match axis {
                Axis::At(e) => index.push(self.lower(e)),
                Axis::Part(_) => {
                    let message = "a closure over elements holds scalars, found a slice";
                    return self.fail(
                        node,
                        Code::TensorInClosure,
                        message,
                        "give one index per axis, or slice outside of the closure",
                    );
                }
            }
        }
        let buf = self.kernel.input(&self.graph, v);
        let e = self.kernel.b.load(buf, index, Access::Proven);
        Value::Scalar(self.settled(buf, e))
    }

    /// The indices of an element or slice, proven to lie inside; `None` if one is not, which is reported.
    pub(super) fn axes(&mut self, node: NodeId, of: &Indexed<'_>, indices: &'a [Expr]) -> Option<Vec<Axis>> {
        let shape = &of.ty.shape;
        if indices.len() != shape.len() {
            self.indices_of_unknown(indices);
            self.wrong_count(node, of, indices.len());
            return None;
        }
        let mut all = Some(Vec::new());
        for (axis, (index, dim)) in indices.iter().zip(shape).enumerate() {
            let found = match &index.kind {
                ExprKind::Range(range) => self.part(index.node, range, of, axis, dim).map(Axis::Part),
                _ => self.at(index, of, axis, dim).map(Axis::At),
            };
            match (found, &mut all) {
                (Some(found), Some(list)) => list.push(found),
                (Some(_), None) => {}
                (None, _) => all = None,
            }
        }
        all
    }

    pub(super) fn wrong_count(&mut self, node: NodeId, of: &Indexed<'_>, found: usize) {
        let rank = of.ty.shape.len();
        let message = format!(
            "`{}` is a `{}`: expected {}, found {found}",
            of.text,
            show_tensor(of.ty),
            show::count(rank, "index")
        );
        let help = match rank {
            0 => format!("a scalar is used as it is: `{}`", of.text),
            _ => "give one index per axis; `..` keeps an axis".to_string(),
        };
        self.fail(node, Code::Rank, message, help);
    }

    fn at(&mut self, index: &'a Expr, of: &Indexed<'_>, axis: usize, dim: &IntExpr) -> Option<IntExpr> {
        let value = self.expr(index, None);
        let i = self.index_of(index, &value)?;
        if self.inside_axis(&i, dim) {
            return Some(i);
        }
        // Integers of a dtype may wrap, so nothing is known of their sum; for the text it is what it would be.
        let wraps = !matches!(value, Value::Index(_)) && matches!(index.kind, ExprKind::Binary(..));
        let i = if wraps { self.unwrapped(index).unwrap_or(i) } else { i };
        if wraps && self.inside_axis(&i, dim) {
            let found = self.describe(&value);
            let message =
                format!("`{}` is arithmetic of {found}, which may wrap, and nothing is known of it", show::expr(index));
            self.fail(index.node, Code::IndexNotProven, message, "compute with index values: `(x as isize) + 1`");
            return None;
        }
        self.not_inside(index, &i, of, axis, dim);
        None
    }

    /// What integer arithmetic would be as index values.
    fn unwrapped(&mut self, e: &'a Expr) -> Option<IntExpr> {
        if let ExprKind::Binary(op, a, b) = &e.kind {
            let (x, y) = (self.unwrapped(a)?, self.unwrapped(b)?);
            return extent::binary(*op, &x, &y, self.prover());
        }
        let value = self.expr(e, None);
        self.index_of(e, &value)
    }

    fn inside_axis(&self, i: &IntExpr, dim: &IntExpr) -> bool {
        self.prover().prove_ge0(i) && self.prover().prove_lt(i, dim)
    }

    fn not_inside(&mut self, index: &Expr, i: &IntExpr, of: &Indexed<'_>, axis: usize, dim: &IntExpr) {
        let text = show::expr(index);
        let has = match dim.as_const() {
            Some(1) => "1 element".to_string(),
            _ => format!("{dim} elements"),
        };
        let message =
            format!("{}, and axis {axis} of `{}` has {has}: indices 0..{dim}", self.lies_in(&text, i), of.text);
        let mut error = Diagnostic::new(index.node, Code::IndexNotProven, message);
        error = self.with_doubts(self.with_origins(error, &format!("{dim} {i}")), i);
        let help = if of.store {
            "put an `if` with the condition around it, or state a fact in `dims(…)` or `assert!`".to_string()
        } else if self.inside {
            format!(
                "say what lies outside with `{x}.get_or([…], 0.0)` or `{x}.get_clamped([…])`, put an `if` around it, or state a fact in `dims(…)` or `assert!`",
                x = of.text
            )
        } else {
            "state a fact in `dims(…)` or `assert!`".to_string()
        };
        self.report(error.help(self.fact_for(i, dim).unwrap_or(help)));
    }

    /// The fact that would prove an index that is a number or a parameter, or that none can.
    fn fact_for(&self, i: &IntExpr, dim: &IntExpr) -> Option<String> {
        match (i.as_const(), dim.as_const(), i.as_var(), dim.as_var()) {
            (Some(i), ..) if i < 0 => Some(format!("indices count from 0; the last is `{}`", dim - 1)),
            (Some(_), Some(0), ..) => Some("the axis has no elements".to_string()),
            (Some(_), Some(n), ..) => Some(format!("the last index is {}", n - 1)),
            (Some(i), None, _, Some(dim)) => Some(format!("state a fact: `dims({dim} >= {})`", i + 1)),
            (None, _, Some(i), _) if self.is_index_param(i) => {
                Some(format!("state a fact as the first statement: `assert!({i} < {dim});`"))
            }
            _ => None,
        }
    }

    fn is_index_param(&self, sym: &Sym) -> bool {
        self.origins.get(sym).is_some_and(|(_, text)| text.ends_with("is a parameter"))
    }

    /// "`i + u` lies in 0..=H".
    fn lies_in(&self, text: &str, i: &IntExpr) -> String {
        let (lo, hi) = self.prover().bounds(i);
        // A bound that is the index itself says nothing.
        let lo = lo.filter(|lo| lo != i || i.as_const().is_some());
        let hi = hi.filter(|hi| hi != i || i.as_const().is_some());
        match (lo, hi) {
            (Some(lo), Some(hi)) if lo == hi && lo.to_string() == text => format!("the index is {lo}"),
            (Some(lo), Some(hi)) if lo == hi => format!("`{text}` is {}", show::index(&lo)),
            (Some(lo), Some(hi)) => format!("`{text}` lies in {}..={}", show::index(&lo), show::index(&hi)),
            (Some(lo), None) => format!("`{text}` is {} or more, without a known end", show::index(&lo)),
            (None, Some(hi)) => format!("`{text}` is at most {}, without a known beginning", show::index(&hi)),
            (None, None) => format!("`{text}` has no known range"),
        }
    }

    /// `a..b` of a slice.
    fn part(
        &mut self,
        node: NodeId,
        range: &'a Range,
        of: &Indexed<'_>,
        axis: usize,
        dim: &IntExpr,
    ) -> Option<SliceAxis> {
        let start = match &range.start {
            Some(e) => self.slice_end(e),
            None => Some(IntExpr::from(0)),
        };
        let end = match &range.end {
            Some(e) => self.slice_end(e),
            None => Some(dim.clone()),
        };
        let (start, end) = (start?, end?);
        let p = self.prover();
        let (low, order, high) = (p.prove_ge0(&start), p.prove_le(&start, &end), p.prove_le(&end, dim));
        if !(low && order && high) {
            self.part_not_inside(node, range, of, axis, dim, (&start, &end), (low, order));
            return None;
        }
        let mut part = SliceAxis { begin: start.clone(), extent: &end - &start, step: 1 };
        for step in &range.steps {
            self.range_step(step, &mut part)?;
        }
        part.begin = self.prover().simplify(&part.begin);
        Some(part)
    }

    fn slice_end(&mut self, e: &'a Expr) -> Option<IntExpr> {
        let value = self.expr(e, None);
        self.index_of(e, &value)
    }

    #[allow(clippy::too_many_arguments, reason = "one error text needs all of them")]
    fn part_not_inside(
        &mut self,
        node: NodeId,
        range: &Range,
        of: &Indexed<'_>,
        axis: usize,
        dim: &IntExpr,
        (start, end): (&IntExpr, &IntExpr),
        (low, order): (bool, bool),
    ) {
        let (at, message) = match (&range.start, &range.end) {
            (Some(e), _) if !low => {
                (e.node, format!("{}, and a slice begins at 0 or later", self.lies_in(&show::expr(e), start)))
            }
            (_, _) if !order => {
                (node, format!("the slice begins at `{start}`, which is not proven to lie before its end `{end}`"))
            }
            (_, Some(e)) => (
                e.node,
                format!(
                    "{}, and axis {axis} of `{}` has {dim} elements: a slice ends at {dim} or earlier",
                    self.lies_in(&show::expr(e), end).replace("the index is", "the end is"),
                    of.text
                ),
            ),
            (_, None) => (
                node,
                format!("the slice is not proven to lie inside axis {axis} of `{}`, which has {dim} elements", of.text),
            ),
        };
        let error = Diagnostic::new(at, Code::SliceNotProven, message);
        let error = self.with_origins(error, &format!("{dim} {start} {end}"));
        let error = self.with_doubts(error, &(start + end));
        self.report(error.help("state a fact in `dims(…)` or `assert!`"));
    }

    /// `.rev()` and `.step_by(2)` of a part.
    fn range_step(&mut self, step: &'a RangeStep, part: &mut SliceAxis) -> Option<()> {
        match step {
            RangeStep::Rev => {
                part.begin = &part.begin + &((&part.extent - 1) * part.step);
                part.step = part.step.checked_neg()?;
            }
            RangeStep::StepBy(by) => {
                let n = self.step_of(by)?;
                let whole = &part.extent + (n - 1);
                part.extent = whole.floor_div(&IntExpr::from(n));
                part.step = part.step.checked_mul(n)?;
            }
        }
        Some(())
    }

    /// The number of `.step_by(n)`.
    pub(super) fn step_of(&mut self, by: &'a Expr) -> Option<i64> {
        let value = self.expr(by, None);
        let n = self.index_of(by, &value)?;
        match n.as_const() {
            Some(n) if (1..1 << 32).contains(&n) => Some(n),
            Some(_) | None => {
                let message = format!("a step is a constant of 1 or more, found `{n}`");
                self.fail(by.node, Code::TypeMismatch, message, "write a number, or fix the dim: `dims(K = 2)`");
                None
            }
        }
    }

    // Total forms.

    /// `x.get_or([i, j], 0.0)` and the like.
    pub(super) fn get(
        &mut self,
        e: &'a Expr,
        mode: GetMode,
        tensor: &'a Expr,
        indices: &'a [Expr],
        default: Option<&'a Expr>,
        hint: Option<&Type>,
    ) -> Value<'a> {
        let value = self.expr(tensor, None);
        if !self.inside {
            return self.rank_zero(e.node, hint, |me| me.get_of(e, mode, (tensor, value), indices, default));
        }
        self.get_of(e, mode, (tensor, value), indices, default)
    }

    fn get_of(
        &mut self,
        e: &'a Expr,
        mode: GetMode,
        (tensor, value): (&'a Expr, Value<'a>),
        indices: &'a [Expr],
        default: Option<&'a Expr>,
    ) -> Value<'a> {
        let text = show::expr(tensor);
        let Some(v) = self.indexed(tensor.node, &text, &value) else {
            self.indices_of_unknown(indices);
            return Value::Unknown;
        };
        let ty = self.graph.tensor(v).clone();
        let of = Indexed { text: &text, ty: &ty, store: false };
        if indices.len() != ty.shape.len() {
            self.indices_of_unknown(indices);
            self.wrong_count(e.node, &of, indices.len());
            return Value::Unknown;
        }
        let mut at = Vec::new();
        for index in indices {
            let value = self.expr(index, None);
            at.push(self.index_of(index, &value));
        }
        let Some(at) = at.into_iter().collect::<Option<Vec<IntExpr>>>() else { return Value::Unknown };
        match mode {
            GetMode::Or => self.get_or(v, &ty, &at, default),
            GetMode::Clamped | GetMode::Wrapped | GetMode::Reflected => self.get_moved(e.node, mode, v, &of, &at),
            GetMode::Unchecked if self.vouched => self.element_at(v, &at, Access::Unchecked),
            GetMode::Unchecked => {
                let message = "`get_unchecked` is not proven and needs `unsafe`";
                self.fail(e.node, Code::IndexNotProven, message, "write `unsafe { x.get_unchecked([…]) }`")
            }
        }
    }

    fn element_at(&mut self, v: ValueId, at: &[IntExpr], access: Access) -> Value<'a> {
        let (buf, e) = self.load_at(v, at, access);
        Value::Scalar(self.settled(buf, e))
    }

    /// The load alone, which must not be bound before it is known to lie inside.
    fn load_at(&mut self, v: ValueId, at: &[IntExpr], access: Access) -> (BufId, ExprId) {
        let index: Vec<ExprId> = at.iter().map(|e| self.lower(e)).collect();
        let buf = self.kernel.input(&self.graph, v);
        (buf, self.kernel.b.load(buf, index, access))
    }

    fn get_or(&mut self, v: ValueId, ty: &TensorType, at: &[IntExpr], default: Option<&'a Expr>) -> Value<'a> {
        let Some(default) = default else { return Value::Unknown };
        let fallback = self.expr(default, None);
        let fallback = self.coerce(default.node, fallback, ty.dtype);
        let Some(fallback) = self.scalar_of(default.node, &fallback, ty.dtype) else { return Value::Unknown };
        let mut cond = None;
        for (i, dim) in at.iter().zip(&ty.shape) {
            // Arithmetic on a value that may be anything may wrap, so that half a proof is none.
            let sure = !self.may_wrap(i) || self.surely_inside(i, dim);
            if !(sure && self.surely_of([i, dim], |prover| prover.prove_ge0(i))) {
                cond = Some(self.and_index(cond, BinaryOp::Ge, i, &IntExpr::from(0)));
            }
            if !(sure && self.surely_of([i, dim], |prover| prover.prove_lt(i, dim))) {
                cond = Some(self.and_index(cond, BinaryOp::Lt, i, dim));
            }
        }
        let (buf, element) = self.load_at(v, at, Access::Proven);
        let chosen = match cond {
            Some(cond) => self.kernel.b.if_(cond, element, fallback),
            None => element,
        };
        Value::Scalar(self.settled(buf, chosen))
    }

    /// Whether an index is made of data or of a parameter, or is a product that no memory need bound.
    fn may_wrap(&self, i: &IntExpr) -> bool {
        multiplies(i) || self.kernel.uses_atoms(i) || i.vars().iter().any(|sym| self.is_index_param(sym))
    }

    /// Whether an access need not say what lies outside.
    fn surely_inside(&self, i: &IntExpr, dim: &IntExpr) -> bool {
        self.surely_of([i, dim], |prover| prover.prove_ge0(i) && prover.prove_lt(i, dim))
    }

    fn and_index(&mut self, all: Option<ExprId>, op: BinaryOp, a: &IntExpr, b: &IntExpr) -> ExprId {
        let (x, y) = (self.lower(a), self.lower(b));
        let op = if op == BinaryOp::Ge { tenfold_ir::op::CmpOp::Ge } else { tenfold_ir::op::CmpOp::Lt };
        let one = self.kernel.b.compare(op, x, y);
        match all {
            Some(all) => self.kernel.b.and(all, one),
            None => one,
        }
    }

    fn get_moved(&mut self, node: NodeId, mode: GetMode, v: ValueId, of: &Indexed<'_>, at: &[IntExpr]) -> Value<'a> {
        let mut moved = Vec::new();
        for (axis, (i, dim)) in at.iter().zip(&of.ty.shape).enumerate() {
            if self.surely_inside(i, dim) {
                moved.push(i.clone());
                continue;
            }
            if !self.surely(|prover| extent::positive(prover, dim)) {
                let message = format!(
                    "`{}` needs an element, and axis {axis} of `{}` is not proven to have one: `{dim}` may be 0",
                    mode.name(),
                    of.text
                );
                return self.fail(node, Code::MaybeEmpty, message, format!("state a fact: `dims({dim} >= 1)`"));
            }
            moved.push(moved_index(mode, i, dim));
        }
        self.element_at(v, &moved, Access::Proven)
    }
}

/// Whether values are multiplied in an index, constants apart.
fn multiplies(e: &IntExpr) -> bool {
    match e.view() {
        View::Const(_) | View::Var(_) => false,
        View::Add(all) => all.iter().any(multiplies),
        View::Mul(all) => all.iter().filter(|it| it.as_const().is_none()).count() > 1 || all.iter().any(multiplies),
        View::FloorDiv(a, b)
        | View::FloorMod(a, b)
        | View::TruncDiv(a, b)
        | View::TruncRem(a, b)
        | View::Min(a, b)
        | View::Max(a, b) => multiplies(&a) || multiplies(&b),
    }
}

/// The index that a mode reads in place of one that may lie outside.
fn moved_index(mode: GetMode, i: &IntExpr, dim: &IntExpr) -> IntExpr {
    let (zero, last) = (IntExpr::from(0), dim - 1);
    match mode {
        GetMode::Clamped => IntExpr::max(&i.min(&last), &zero),
        GetMode::Wrapped => i.floor_mod(dim),
        GetMode::Reflected => {
            // Mirrored at both ends, any number of times; with one element the period is 1.
            let period = IntExpr::max(&(&last * 2), &IntExpr::from(1));
            let m = i.floor_mod(&period);
            let near = IntExpr::min(&m, &(&period - &m));
            IntExpr::max(&IntExpr::min(&near, &last), &zero)
        }
        GetMode::Or | GetMode::Unchecked => i.clone(),
    }
}

/// Whether a part is the whole tensor in order.
pub(super) fn whole_tensor(axes: &[SliceAxis], drop: &[usize], shape: &[IntExpr]) -> bool {
    let all =
        |axis: &SliceAxis, dim: &IntExpr| axis.step == 1 && axis.begin.as_const() == Some(0) && axis.extent == *dim;
    drop.is_empty() && axes.iter().zip(shape).all(|(axis, dim)| all(axis, dim))
}

/// As a slice takes them: every axis, and those that go.
pub(super) fn slice_axes(axes: &[Axis]) -> (Vec<SliceAxis>, Vec<usize>) {
    let mut drop = Vec::new();
    let mut all = Vec::new();
    for (i, axis) in axes.iter().enumerate() {
        all.push(match axis {
            Axis::At(e) => {
                drop.push(i);
                SliceAxis { begin: e.clone(), extent: IntExpr::from(1), step: 1 }
            }
            Axis::Part(part) => part.clone(),
        });
    }
    (all, drop)
}
